/**
 * Promise: of a customer with many calls the object keeps the newest, and of earlier ones what their retries need, for 48
 * hours. Whatever else is asked of those is answered from D1.
 */
import { expect, it } from 'vitest';
import { WHOLE_CALLS } from '../../durable-objects/customer/tables/calls.ts';
import { answerText } from '../../src/contract/errors.ts';
import type { Call } from '../../src/domain/call.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { NO_USAGE } from '../unit/fixtures.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const START = Date.UTC(2027, 0, 31, 12);
const PLAN = { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 90_000, standardTokens: 9_000_000 } };
const USED = { usage: { ...NO_USAGE, inputTokens: 3, responseTokens: 5 }, modelUsed: 'made/up' };
/** D1 takes everything. */
const somewhere = {
  prepare: () => ({ bind: () => ({}) }),
  batch: () => Promise.resolve([]),
} as unknown as D1Database;

const endsOf = (object: Clockwork, callId: string, atMs: number, report: object = USED) => {
  const answer = object.end(callId, atMs, report);
  return answer.ok ? { text: answerText(answer), replayed: answer.replayed } : answer.refusal.code;
};
const beginsOf = (object: Clockwork, callId: string, atMs: number, request: object = { feature: 'chat' }) => {
  const answer = object.begin(callId, atMs, request);
  return answer.ok ? { text: answerText(answer), replayed: answer.replayed } : answer.refusal.code;
};

/** Calls of the newest that stay whole, and of those before. */
const [NEWEST, EARLIER] = [100, 50];

function callEachSecond(object: Clockwork, from: number, calls: number): void {
  for (let n = from; n < from + calls; n += 1) {
    accepted(object.begin(`call-${n}`, START + n * SECOND));
    accepted(object.end(`call-${n}`, START + n * SECOND + 1, USED));
  }
}

/** As if there were so many calls that those before are not among the newest. */
async function callManyMore(object: Clockwork, from: number): Promise<void> {
  const before = object.query<{ row: number }>('SELECT MAX(rowid) AS row FROM calls')[0]?.row ?? 0;
  callEachSecond(object, from, NEWEST);
  object.query(`UPDATE calls SET rowid = rowid + ${WHOLE_CALLS} WHERE rowid > ${before}`);
  await object.restart();
}

/** Calls one a second, beginning with `first`, then an hour and more in which they become past; what D1 has of the first. */
async function makePast(object: Clockwork, plan: { more?: () => void } = {}) {
  const [begun, ended] = [beginsOf(object, 'first', START), endsOf(object, 'first', START + 1)];
  const record = object.seen('first') as Call;
  plan.more?.();
  callEachSecond(object, 1, EARLIER);
  await callManyMore(object, EARLIER + 1);
  for (let more = true; more; ) more = (await object.deliver(somewhere, START + HOUR / 2)).more;
  const pastMs = START + 2 * HOUR;
  for (let round = 0; round < 3; round += 1) object.housekeep(pastMs + round * SECOND);
  return { begun, ended, record, nowMs: pastMs + 10 * SECOND };
}

it('retries of past calls get their answers for 48 hours, and the newest calls stay whole', async () => {
  await withObject(PLAN, async (object) => {
    const { begun, ended, nowMs } = await makePast(object);
    expect([object.rows('calls'), object.rows('past_calls')]).toEqual([NEWEST, EARLIER + 1]);
    expect([object.seen('first'), object.call('first', nowMs)]).toEqual([null, null]);
    await object.restart();
    expect(beginsOf(object, 'first', nowMs)).toEqual({ ...(begun as object), replayed: true });
    expect(endsOf(object, 'first', nowMs)).toEqual({ ...(ended as object), replayed: true });
    expect(beginsOf(object, 'first', nowMs, { tags: ['other'] })).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect(endsOf(object, 'first', nowMs, { usage: NO_USAGE })).toBe('CALL_ALREADY_FINALIZED');
    for (let round = 0; round < 4; round += 1) object.housekeep(START + 50 * HOUR + round * SECOND);
    expect(object.rows('past_calls')).toBe(0);
    const late = object.begin(
      'first',
      START + 51 * HOUR,
      { feature: 'chat' },
      {
        source: 'explicit',
        callId: 'first' as never,
        claimedAtMs: START,
      },
    );
    expect(late).toMatchObject({ ok: false, refusal: { code: 'IDEMPOTENCY_KEY_CONFLICT' } });
  });
});

it('a past call is corrected, and gets savings, by the record of D1, unless that is older than the call was', async () => {
  await withObject(PLAN, async (object) => {
    const { begun, record, nowMs } = await makePast(object);
    const behind = { ok: false, refusal: { code: 'SERVICE_UNAVAILABLE' } };
    const older = { ...record, revision: record.revision - 1 };
    expect(object.reverseCall('first', nowMs, older)).toMatchObject(behind);
    expect(object.compress('first', nowMs, older)).toMatchObject(behind);
    expect(object.compress('first', nowMs)).toMatchObject({ ok: false, refusal: { code: 'CALL_NOT_FOUND' } });
    expect(accepted(object.compress('first', nowMs, record)).savedTokens).toBe(6);
    expect(object.seen('first')?.compression).toMatchObject({ savedTokens: 6 });
    accepted(object.reverseCall('first', nowMs + 1));
    expect(object.rows("past_calls WHERE call_id = 'first'")).toBe(0);
    expect(beginsOf(object, 'first', nowMs + 2)).toEqual({ ...(begun as object), replayed: true });
  });
});

it('calls that something waits for stay whole: timed out ones may end late, and D1 may not have the others', async () => {
  await withObject(PLAN, async (object) => {
    const { nowMs } = await makePast(object, {
      more: () => {
        accepted(object.begin('late', START + 2));
      },
    });
    expect(object.seen('late')?.status).toBe('TIMEOUT');
    expect(endsOf(object, 'late', nowMs)).toMatchObject({ replayed: false });
  });
  await withObject(PLAN, async (object) => {
    const waiting = () => {
      object.query("INSERT INTO outbox (kind, id, queued_at_ms) VALUES ('call', 'first', 9e15)");
      object.query("UPDATE calls SET change_place = (SELECT MAX(place) FROM outbox) WHERE call_id = 'first'");
    };
    accepted(object.begin('first', START));
    accepted(object.end('first', START + 1, USED));
    await callManyMore(object, 1);
    for (let more = true; more; ) more = (await object.deliver(somewhere, START + HOUR / 2)).more;
    waiting();
    // A change in the list keeps a call as one in the table does.
    object.query(`UPDATE account SET pending = '[[1,"call","call-1",${9e15}]]'`);
    await object.restart();
    object.housekeep(START + 2 * HOUR);
    expect([object.seen('first')?.status, object.seen('call-1')?.status]).toEqual(['COMPLETED', 'COMPLETED']);
  });
});

it('calls in the window of a rolling limit stay, so that they are counted', async () => {
  const rollingCalls = { limit: NEWEST + 90, windowSeconds: 86_400 };
  await withObject({ ...PLAN, rollingCalls }, async (object) => {
    const { nowMs } = await makePast(object);
    expect(object.rows('past_calls')).toBe(0);
    expect(accepted(object.begin('next', nowMs)).rateLimits?.rollingCalls.used).toBe(NEWEST + EARLIER + 2);
  });
});
