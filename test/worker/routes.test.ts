/**
 * Promise: every operation of the contract has a route.
 */
import { expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';
import { honoPath } from '../../src/http/routes/mount.ts';

test('every operation of the contract is mounted, at its method and its path', () => {
  const mounted = new Set(createApp().routes.map(({ method, path }) => `${method} ${path}`));
  const missing = Object.values<Operation>(operations).filter(
    (operation) => !mounted.has(`${operation.method} ${honoPath(operation)}`),
  );
  expect(missing.map(({ operationId }) => operationId)).toEqual([]);
});
