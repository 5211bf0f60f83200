/**
 * What pages give operations. Names that an operation does not have do not compile: a `@ts-expect-error` that compiles
 * is an error of the type check.
 */
import { expect, test } from 'vitest';
import type { ConsoleContext } from '../../src/console/context.ts';
import { bodyIn } from '../../src/console/schema-form.tsx';
import { load, send } from '../../src/console/send.ts';
import { listEvents } from '../../src/operator/events.ts';
import { createKey, readKey } from '../../src/operator/keys.ts';

/** Compiled, and never run. */
function misspelt(c: ConsoleContext, isNarrowed: boolean): unknown[] {
  const filter = { kind: 'key', subject: 'key_1' } as const;
  const wrong = { kindd: 'key' };
  const any: Record<string, string> = {};
  return [
    load(c, listEvents, { query: { organizationId: 'acme', ...filter } }),
    // @ts-expect-error a filter that is written in place
    load(c, listEvents, { query: { organizationId2: 'acme' } }),
    // @ts-expect-error a filter beside a spread object
    load(c, listEvents, { query: { organizationId2: 'acme', ...filter } }),
    // @ts-expect-error a filter of a spread object
    load(c, listEvents, { query: { organizationId: 'acme', ...wrong } }),
    // @ts-expect-error a filter that is spread under a condition
    load(c, listEvents, { query: { ...filter, ...(isNarrowed && wrong) } }),
    // @ts-expect-error a filter of a variable
    load(c, listEvents, { query: wrong }),
    // @ts-expect-error the whole query of a browser
    load(c, listEvents, { query: any }),
    // @ts-expect-error a query for an operation that has none
    load(c, readKey, { query: { keyId: 'key_1' } }),
    // @ts-expect-error a parameter of the path
    load(c, readKey, { params: { key: 'key_1' } }),
    // @ts-expect-error a value that is no text
    load(c, listEvents, { query: { organizationId: 5 } }),
    // @ts-expect-error a part of the input
    load(c, listEvents, { query: filter, querry: filter }),
    // @ts-expect-error a field of a body
    send(c, createKey, { body: { ...bodyIn(createKey, {}), scope: [] } }),
    // @ts-expect-error fields with any names
    send(c, createKey, { body: any }),
  ];
}

test('names that an operation does not have do not compile', () => {
  expect(misspelt).toBeTypeOf('function');
});

const context = {
  get: () => ({ operator: { name: 'ada', role: 'admin' }, by: 'token' }),
  req: { param: () => ({}) },
} as unknown as ConsoleContext;

test('a parameter that the operation does not have is a bug, and no wider answer', async () => {
  const misspeltQuery = { query: { organizationId2: 'acme' } } as object;
  await expect(load(context, listEvents, misspeltQuery)).rejects.toThrow(
    'listEvents has no "organizationId2" in its query',
  );
  const misspeltParameter = { params: { key: 'key_1' } } as object;
  await expect(send(context, createKey, misspeltParameter)).rejects.toThrow('createKey has no "key" in its params');
});

test('a form field that the body does not have is a bug, and is not left out', () => {
  expect(() => bodyIn(createKey, {}, ['name', 'scope'])).toThrow('the body has no field "scope"');
});
