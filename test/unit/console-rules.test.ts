/**
 * Small rules of the console: what differs between two documents, where a sign-in leads.
 */
import { describe, expect, test } from 'vitest';
import { allFields, changedFields, shownValue } from '../../src/console/changed-fields.ts';
import { customerPath, ownPath } from '../../src/console/context.ts';

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

  test('of a new object list every field', () => {
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

test('a path in a query leads only into the console', () => {
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

test('an id with any character is one segment of a path', () => {
  expect(customerPath('org', 'a/b?c#d ü', 'plan')).toBe(
    '/console/organizations/org/customers/a%2Fb%3Fc%23d%20%C3%BC/plan',
  );
});
