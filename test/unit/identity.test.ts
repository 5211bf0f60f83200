/**
 * A customer is the same customer in every spelling that clients send; if spellings disagree, the first of camelCase,
 * snake_case and the nested legacy object wins, field by field.
 */
import { describe, expect, test } from 'vitest';
import { resolveIdentity } from '../../src/contract/identity.ts';

/** Field, its snake_case, and its names inside the legacy object by precedence. */
const FIELDS: [string, string, string[]][] = [
  ['customerId', 'customer_id', ['id', 'customerId', 'customer_id']],
  ['customerName', 'customer_name', ['name', 'customerName', 'customer_name']],
  ['customerEmail', 'customer_email', ['email', 'customerEmail', 'customer_email']],
  [
    'customerFriendlyName',
    'customer_friendly_name',
    ['friendlyName', 'friendly_name', 'customerFriendlyName', 'customer_friendly_name'],
  ],
  ['stripeCustomerId', 'stripe_customer_id', ['stripeCustomerId', 'stripe_customer_id']],
  ['customerUserId', 'customer_user_id', ['userId', 'user_id', 'customerUserId', 'customer_user_id']],
  ['customerUserName', 'customer_user_name', ['userName', 'user_name', 'customerUserName', 'customer_user_name']],
  ['customerUserEmail', 'customer_user_email', ['userEmail', 'user_email', 'customerUserEmail', 'customer_user_email']],
];

function resolved(body: object): Record<string, unknown> {
  return resolveIdentity(body) as Record<string, unknown>;
}

describe.each(FIELDS)('%s', (field, snake, nested) => {
  test('is found in camelCase and in snake_case', () => {
    expect(resolved({ [field]: 'a' })[field]).toBe('a');
    expect(resolved({ [snake]: 'a' })[field]).toBe('a');
  });

  test.each(nested)('is found as customer.%s', (name) => {
    expect(resolved({ customer: { [name]: 'a' } })[field]).toBe('a');
  });

  test('is taken from the top level in camelCase, then snake_case, then from nested objects', () => {
    const inside = { customer: { [nested[0] ?? '']: 'nested' } };
    expect(resolved({ ...inside, [snake]: 'snake', [field]: 'camel' })[field]).toBe('camel');
    expect(resolved({ ...inside, [snake]: 'snake' })[field]).toBe('snake');
    expect(resolved({ ...inside, [snake]: undefined, [field]: null })[field]).toBe('nested');
  });

  test('is taken from nested objects in the order of their names', () => {
    for (let first = 0; first < nested.length; first += 1) {
      const customer = Object.fromEntries(nested.slice(first).map((name) => [name, name]));
      expect(resolved({ customer })[field]).toBe(nested[first]);
    }
  });

  test('is absent if no field names it', () => {
    expect(field in resolved({ feature: 'x', customer: { unknown: 'a' } })).toBe(false);
  });
});

test('spellings may be mixed: each field is found independently', () => {
  const body = {
    customer_id: 'c',
    customerName: 'Top',
    customer: { id: 'other', name: 'Nested', email: 'e@example.com', user_id: 'u' },
  };
  expect(resolved(body)).toMatchObject({
    customerId: 'c',
    customerName: 'Top',
    customerEmail: 'e@example.com',
    customerUserId: 'u',
  });
});

test('all other fields pass unchanged, and the input is not mutated', () => {
  const body = { customer: { id: 'c' }, feature: 'chat', requested: { premium: true }, tags: ['a'] };
  const before = structuredClone(body);
  expect(resolved(body)).toMatchObject({ feature: 'chat', requested: { premium: true }, tags: ['a'], customerId: 'c' });
  expect(body).toEqual(before);
});

test('an empty string is a value, and another spelling does not replace it', () => {
  expect(resolved({ customerId: '', customer_id: 'snake' }).customerId).toBe('');
});

test.each([null, undefined, 'text', 7, true, [[{ id: 'a' }]]])('%j is no body and passes unchanged', (body) => {
  expect(resolveIdentity(body)).toBe(body);
});

test.each([null, 'c1', 7, ['c1']])('a customer of %j is no legacy object', (customer) => {
  expect('customerId' in resolved({ customer })).toBe(false);
});
