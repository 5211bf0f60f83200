/**
 * Promise: how many rows a call writes in its customer's object, whatever was called before. Cloudflare bills each row, and
 * each entry of an index.
 */
import { expect, test } from 'vitest';
import { LISTED_MAX } from '../../durable-objects/customer/tables/begin-figures.ts';
import { accepted, type Clockwork, type Rows, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { NO_USAGE } from '../unit/fixtures.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 0, 31, 12);
const PLAN = {
  name: 'P',
  limitType: 'NONE',
  customMeters: { CUSTOM1: { enabled: true, included: 1_000, overage: { model: 'SINGLE', priceUsd: '1' } } },
};
const PRICE = { available: true as const, card: rateCard({ input: '1000', output: '1000' }) };
const USED = { modelUsed: 'm', usage: { ...NO_USAGE, inputTokens: 1_000, responseTokens: 500 } };

/** Rows by table, without those of changes that wait for a projector. */
function byTable(rows: Rows): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [sql, count] of Object.entries(rows)) {
    const table = /^\s*(?:INSERT INTO|UPDATE|DELETE FROM|DROP TABLE|CREATE TABLE) (\w+)/.exec(sql)?.[1];
    const name = table?.startsWith('keys_of_day_') ? 'keys' : table;
    if (count > 0 && name !== 'outbox') sums[name ?? sql] = (sums[name ?? sql] ?? 0) + count;
  }
  return sums;
}

/** A call of two seconds, whose end has a key of its own. */
function call(object: Clockwork, callId: string, atMs: number): void {
  accepted(object.begin(callId, atMs));
  accepted(object.end(callId, atMs + 2 * SECOND, USED, PRICE, `end of ${callId}`));
}

test('a call writes six rows: two at its begin, one at its end, one for the key of that, and the account twice', () =>
  withObject(PLAN, async (object) => {
    call(object, 'first', START);
    const rows = object.rowsWritten(() => call(object, 'next', START + 10 * SECOND));
    expect(byTable(rows)).toEqual({ calls: 3, keys: 1, account: 2 });
  }));

test('a call beside more open ones than the account lists writes a row more, and each of them times out', () =>
  withObject(PLAN, async (object) => {
    call(object, 'first', START);
    for (let n = 0; n < LISTED_MAX; n += 1) accepted(object.begin(`open-${n}`, START + 5 * SECOND));
    const rows = object.rowsWritten(() => call(object, 'next', START + 10 * SECOND));
    expect(byTable(rows)).toEqual({ calls: 4, keys: 1, account: 2 });
    accepted(object.begin('beyond', START + 20 * SECOND));
    await object.restart();
    object.wake(START + HOUR + 5 * SECOND);
    expect([object.seen(`open-${LISTED_MAX - 1}`)?.status, object.seen('beyond')?.status]).toEqual([
      'TIMEOUT',
      'IN_PROGRESS',
    ]);
    object.wake(START + HOUR + 20 * SECOND);
    expect([object.seen('beyond')?.status, accepted(object.inspect(START + HOUR + 21 * SECOND)).openCalls]).toEqual([
      'TIMEOUT',
      0,
    ]);
  }));

test('an increment writes its event, its key and the account, and no row of its hour', () =>
  withObject(PLAN, async (object) => {
    call(object, 'first', START);
    accepted(object.increment(1, START + 3 * SECOND, { key: 'first' }));
    const rows = object.rowsWritten(() => accepted(object.increment(1, START + 4 * SECOND, { key: 'next' })));
    expect(byTable(rows)).toMatchObject({ keys: 1, account: 1 });
    expect(byTable(rows)).not.toHaveProperty('usage_hours');
  }));

test('to remove a call a week later writes a row, and to remove the keys of a day writes two, however many there are', () =>
  withObject(PLAN, async (object) => {
    for (let n = 0; n < 20; n += 1) call(object, `call-${n}`, START + n * 10 * SECOND);
    object.handOverAll(START + 200 * SECOND);
    const written = (atMs: number) => byTable(object.rowsWritten(() => object.housekeep(atMs)));
    expect(written(START + 3 * DAY)).toEqual({ keys: 2, events: 1 });
    expect(written(START + 8 * DAY)).toEqual({ calls: 20, call_walks: 2 });
    expect(object.rows('calls')).toBe(0);
  }));
