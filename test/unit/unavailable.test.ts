/**
 * The message distinguishes unavailable storage from a fault of the service: the first is worth a retry, the second is
 * not.
 */
import { DrizzleQueryError } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { withTimeout } from '../../src/platform/timeout.ts';
import { ServiceUnavailable, unavailableReason, unreadable } from '../../src/platform/unavailable.ts';

const AWAY = 'the database cannot be reached for the moment';

/** An error of D1's binding with D1's message. */
const fromD1 = (said: string) => new Error(`D1_ERROR: ${said}`, { cause: new Error(said) });
const query = (cause: Error) =>
  new DrizzleQueryError('select "customer_id" from "calls" where "tag" = ?', ['D1 DB is overloaded'], cause);
/** As an error comes out of another object: without its class. */
const plain = (error: Error) => Object.assign(new Error(error.message), { name: error.name });

const SAID_AWAY = [
  'D1 DB reset because its code was updated.',
  'Internal error while starting up D1 DB storage caused object to be reset.',
  'Internal error in D1 DB storage caused object to be reset.',
  'D1 DB storage operation exceeded timeout which caused object to be reset.',
  'D1 DB is overloaded. Requests queued for too long.',
  'D1 DB is overloaded. Too many requests queued.',
  "D1 DB's isolate exceeded its memory limit and was reset.",
  'D1 DB exceeded its CPU time limit and was reset.',
  'Cannot resolve D1 DB due to transient issue on remote node.',
  'Replica disconnected from primary.',
  'Network connection lost.',
  'Exceeded maximum DB size.',
  'Failed to get session commit token: internal error; reference = 4pad1enlr982npscoudfjiji',
  'database is locked: SQLITE_BUSY',
  'disk I/O error: SQLITE_IOERR_READ',
];
const SAID_OURS = [
  'near "SELCT": syntax error at offset 0: SQLITE_ERROR',
  'no such column: x: SQLITE_ERROR',
  'integer overflow: SQLITE_ERROR',
  'UNIQUE constraint failed: customers.customer_id: SQLITE_CONSTRAINT',
  'CHECK constraint failed: quantity: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_CHECK)',
  'string or blob too big: SQLITE_TOOBIG',
  'Wrong number of parameter bindings for SQL query.',
  'No SQL statements detected.',
];

describe.each([
  ['of a plain statement', fromD1],
  ['of a query', (said: string) => query(fromD1(said))],
  ['out of an object', (said: string) => plain(fromD1(said))],
] as const)('an error of D1 %s', (_, made) => {
  test.each(SAID_AWAY)('is an outage: %s', (said) => expect(unavailableReason(made(said))).toBe(AWAY));
  test.each(SAID_OURS)('is our bug: %s', (said) => expect(unavailableReason(made(said))).toBeNull());
});

describe('away', () => {
  test.each<[string, unknown]>([
    ['a connection that broke, thrown by the binding itself', new Error('Network connection lost.')],
    ['what the runtime marks to be sent again', Object.assign(new Error('moved'), { retryable: true })],
    ['what the runtime marks as overloaded', Object.assign(new Error('busy'), { overloaded: true })],
    ['a query that broke off before D1 said anything', query(new Error('the other side is gone'))],
    ['an error of the runtime', new Error('internal error; reference = 0123456789abcdef')],
    ['a KV that refuses for the moment', new Error('KV PUT failed: 429 Too Many Requests')],
    ['a cause of it', new Error('outer', { cause: fromD1('Network connection lost.') })],
  ])('is %s', (_, error) => expect(unavailableReason(error)).toBe(AWAY));

  test('includes a timeout', async () => {
    const error = await withTimeout(new Promise(() => undefined), 1, 'D1').catch((late: unknown) => late);
    expect(unavailableReason(error)).toBe(AWAY);
  });

  test('is recognized by its name, with its message, even if its class was lost between isolates', () => {
    const error = new ServiceUnavailable('the secret is not configured');
    expect([unavailableReason(error), unavailableReason(plain(error))]).toEqual(
      Array(2).fill('the secret is not configured'),
    );
  });
});

describe('a bug of ours', () => {
  test.each<[string, unknown]>([
    ['an error of our code', new TypeError('undefined is not a function')],
    ['our code on the rows of a query', query(new TypeError('undefined is not a function'))],
    [
      'a value that D1 cannot take',
      new Error("D1_TYPE_ERROR: Type 'object' not supported for value 'Network connection lost'"),
    ],
    ['a KV that refuses what it was sent', new Error('KV PUT failed: 413 Value length exceeds limit')],
    ['what is no error', 'Network connection lost.'],
    ['nothing', undefined],
  ])('is %s', (_, error) => expect(unavailableReason(error)).toBeNull());

  test('is never taken for an outage because of the values in a query', () => {
    expect(unavailableReason(query(fromD1('no such column: x: SQLITE_ERROR')))).toBeNull();
    expect(unavailableReason(new Error('Failed query: select ?\nparams: Network connection lost'))).toBeNull();
  });
});

describe('configuration that cannot be read', () => {
  test.each<[string, Error]>([
    ['in known words', fromD1('Network connection lost.')],
    ['in words that nobody knows', new Error('D1 is away')],
  ])('is away, %s', (_, error) => expect(unavailableReason(unreadable(error))).toBe(AWAY));

  test.each<[string, Error]>([
    ['of its statement', query(fromD1('no such column: x: SQLITE_ERROR'))],
    ['of its code', new TypeError('undefined is not a function')],
  ])('is a fault of ours because %s', (_, error) => expect(unreadable(error)).toBe(error));
});
