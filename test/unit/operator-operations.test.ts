/**
 * What an operator can put can be read and taken away again.
 */
import { describe, expect, test } from 'vitest';
import { type Operation, operations } from '../../src/contract/operations.ts';

/** Puts without a DELETE, each with what stands in its place. */
const KEPT: Readonly<Record<string, string>> = {
  '/operator/organizations/{org}/plans/{planId}': 'customers have its versions, and calls refer to them',
  '/v1/compression/profile': 'a profile that compresses nothing is put instead',
  '/operator/organizations/{org}/compression/profile': 'a profile that compresses nothing is put instead',
};

const all: Operation[] = Object.values(operations);
const paths = all.filter(({ method }) => method === 'PUT').map(({ path }) => path);
const has = (method: string, path: string) => all.some((one) => one.method === method && one.path === path);

describe('every path that can be put', () => {
  test.each(paths)('%s can be read', (path) => {
    expect(has('GET', path)).toBe(true);
  });

  test.each(paths)('%s can be deleted, or is an exception with a reason', (path) => {
    expect(has('DELETE', path)).toBe(!(path in KEPT));
  });

  test('an exception is a path that can be put', () => {
    expect(paths).toEqual(expect.arrayContaining(Object.keys(KEPT)));
  });
});
