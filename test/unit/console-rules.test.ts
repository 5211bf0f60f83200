/**
 * Small rules of the console: who may guess how often, what differs between two documents, where a sign-in leads.
 */
import { describe, expect, test } from 'vitest';
import { SignInAttempts } from '../../src/console/attempts.ts';
import { customerPath, ownPath } from '../../src/console/context.ts';
import { allFields, changedFields, shownValue } from '../../src/console/readings/changes.ts';

const MINUTE_MS = 60_000;

describe('attempts to sign in', () => {
  function failing(times: number, address = 'a', atMs = 0): SignInAttempts {
    const attempts = new SignInAttempts();
    for (let time = 0; time < times; time += 1) attempts.count(address, atMs);
    return attempts;
  }

  test('are free up to the tenth, and then wait until ten minutes after the first', () => {
    expect(failing(9).waitMs('a', 0)).toBe(0);
    const attempts = failing(10);
    expect(attempts.waitMs('a', 0)).toBe(10 * MINUTE_MS);
    expect(attempts.waitMs('a', 9 * MINUTE_MS)).toBe(MINUTE_MS);
    expect(attempts.waitMs('a', 10 * MINUTE_MS)).toBe(0);
    expect(attempts.waitMs('b', 0)).toBe(0);
  });

  test('count anew after the wait, and after a success', () => {
    const attempts = failing(10);
    attempts.count('a', 11 * MINUTE_MS);
    expect(attempts.waitMs('a', 11 * MINUTE_MS)).toBe(0);
    const other = failing(10);
    other.forget('a');
    expect(other.waitMs('a', 0)).toBe(0);
  });

  test('of many addresses are remembered in bounded space, the newest first', () => {
    const attempts = failing(10, 'first');
    for (let address = 0; address < 10_000; address += 1) attempts.count(`address ${address}`, 1);
    expect(attempts.waitMs('first', 1)).toBe(0);
    for (let time = 1; time < 10; time += 1) attempts.count('address 9999', 1);
    expect(attempts.waitMs('address 9999', 1)).toBeGreaterThan(0);
  });
});

describe('changes', () => {
  test('are named by their path, whatever the order of members', () => {
    const before = { a: 1, deep: { x: [1, 2], y: null }, gone: true };
    const after = { deep: { y: null, x: [1, 3] }, a: 1, added: 'new' };
    expect(changedFields(before, after)).toEqual([
      { field: 'deep.x', before: [1, 2], after: [1, 3] },
      { field: 'gone', before: true, after: undefined },
      { field: 'added', before: undefined, after: 'new' },
    ]);
    expect(changedFields(after, { ...after })).toEqual([]);
    expect(allFields(before, after).map(({ field, changed }) => [field, changed])).toEqual([
      ['a', false],
      ['deep.x', true],
      ['deep.y', false],
      ['gone', true],
      ['added', true],
    ]);
  });

  test('of something that was nothing before are everything', () => {
    expect(changedFields(null, { a: { b: 1 } })).toEqual([{ field: 'a.b', before: undefined, after: 1 }]);
    expect(changedFields(null, null)).toEqual([]);
    expect(changedFields({ a: 1 }, { a: { b: 1 } })).toEqual([{ field: 'a', before: 1, after: { b: 1 } }]);
  });

  test('are shown in a line', () => {
    expect([1_234.5, true, null, '', 'text', [1, 'a'], { a: 1 }].map(shownValue)).toEqual([
      '1,234.5',
      'yes',
      '–',
      '–',
      'text',
      '[1,"a"]',
      '{"a":1}',
    ]);
  });
});

test('a path in a query leads into the console alone', () => {
  expect(ownPath('/console/events?cursor=1')).toBe('/console/events?cursor=1');
  for (const foreign of [
    undefined,
    '',
    '//evil.test',
    '/console\\evil',
    '/consoles',
    'https://evil.test/console',
    '/console/\\evil.test',
  ]) {
    expect(ownPath(foreign)).toBe('/console');
  }
});

test('an id with any character is one step of a path', () => {
  expect(customerPath('org', 'a/b?c#d ü', 'plan')).toBe('/console/organizations/org/customers/a%2Fb%3Fc%23d%20%C3%BC/plan');
});
