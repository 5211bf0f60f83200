/**
 * The client has a method for every operation that takes an API key, as the contract describes it.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../src/client/index.ts';
import { METHODS, type Method } from '../../src/client/methods.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';

/** Operations that OpenAI's own SDK calls, with the gateway as its base address. */
const PASSED_THROUGH: string[] = [];

/** Asks and answers without changing anything, though it is a POST. */
const READING_POSTS = ['decideSampling', 'authorizeCompression'];

const keyed = Object.values<Operation>(operations).filter(({ security, operationId }) => {
  return security.kind === 'apiKey' && !PASSED_THROUGH.includes(operationId);
});
const table: [string, Method][] = Object.entries(METHODS);

test('every operation with an API key has a method, and there are no other methods', () => {
  expect(table.map(([name]) => name).toSorted()).toEqual(keyed.map(({ operationId }) => operationId).toSorted());
});

test.each(keyed.filter(({ operationId }) => operationId in METHODS))(
  '$operationId has the method, path and shape of the contract',
  (operation) => {
    const { method, path, write, has, takes = [] } = METHODS[operation.operationId as keyof typeof METHODS] as Method;
    expect({ method, path }).toEqual({ method: operation.method, path: operation.path });
    expect(write).toBe(method !== 'GET' && !READING_POSTS.includes(operation.operationId));
    expect(has.length).toBeGreaterThan(0);
    expect(alwaysIn(z.toJSONSchema(operation.data, { unrepresentable: 'any' }))).toEqual(
      expect.arrayContaining([...has]),
    );
    const body = operation.body && z.toJSONSchema(operation.body, { io: 'input', unrepresentable: 'any' });
    expect(Object.keys(body?.properties ?? {})).toEqual(expect.arrayContaining([...takes]));
  },
);

/** The members that data of every variant has. */
function alwaysIn({ anyOf, oneOf, required = [] }: z.core.JSONSchema.BaseSchema): string[] {
  const variants = (anyOf ?? oneOf)?.map((variant) => alwaysIn(variant as z.core.JSONSchema.BaseSchema));
  return variants ? (variants[0] ?? []).filter((name) => variants.every((names) => names.includes(name))) : required;
}

test('a client has every method, the model lookup, withCall and startCall, and nothing else', () => {
  const client = createClient({ apiKey: 'utk-test', baseUrl: 'http://127.0.0.1:9' });
  expect(Object.keys(client).toSorted()).toEqual(
    [...table.map(([name]) => name), 'discoverModels', 'lookUpModel', 'startCall', 'withCall'].toSorted(),
  );
});
