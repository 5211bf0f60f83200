/**
 * What a begin knows of the calls before it (tables/begin-figures.ts) is what its object would count from them: after voids,
 * corrections and failed commands, in an object that has counted nothing yet, and under a plan with another window.
 */
import { expect, test } from 'vitest';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { usage } from '../unit/fixtures.ts';

const T0 = Date.UTC(2026, 5, 1, 12);
const SECOND = 1_000;
const DAY = 24 * 3_600_000;
const LIMITED = { name: 'P', limitType: 'NONE', rollingCalls: { limit: 1_000, windowSeconds: 3_600 } };
/** A dollar for each token. */
const PRICE = { available: true as const, card: rateCard({ input: '1000000000000000', output: '0' }) };
const used = (inputTokens: number) => ({ modelUsed: 'm', usage: usage({ inputTokens }) });

/** The calls that the window has, as the answer of one more begin tells. */
const usedAt = (object: Clockwork, callId: string, atMs: number) =>
  accepted(object.begin(callId, atMs)).rateLimits?.rollingCalls.used;
const openAt = (object: Clockwork, atMs: number) => accepted(object.inspect(atMs)).openCalls;

/** As an object is after an upgrade: nothing was counted when its calls began. */
async function forget(object: Clockwork): Promise<void> {
  object.query('UPDATE account SET begin_figures = NULL');
  object.query("UPDATE calls SET status = 'IN_PROGRESS' WHERE status = 'LISTED'");
  await object.restart();
}

test('a call that was voided or reversed takes nothing of a rolling limit, and a failed one does', () =>
  withObject(LIMITED, async (object) => {
    for (const callId of ['void', 'reversed', 'failed']) accepted(object.begin(callId, T0));
    object.void('void', T0 + 1);
    accepted(object.end('reversed', T0 + 1));
    accepted(object.reverseCall('reversed', T0 + 2));
    accepted(object.end('failed', T0 + 1, { error: { code: 'E', message: 'broken' } }));
    expect(usedAt(object, 'next', T0 + 3)).toBe(2);
    await forget(object);
    expect(usedAt(object, 'last', T0 + 4)).toBe(3);
  }));

test('a command that fails counts nothing', () =>
  withObject(LIMITED, async (object) => {
    accepted(object.begin('a', T0));
    const broken = () => {
      object.begin('b', T0 + 1);
      throw new Error('broken');
    };
    expect(() => object.inOneTransaction(T0 + 1, broken)).toThrow('broken');
    expect(openAt(object, T0 + 2)).toBe(1);
    expect(usedAt(object, 'c', T0 + 2)).toBe(2);
  }));

test.each([0, 3, 200])('with %i calls in the window, an object that has counted nothing yet counts them', (calls) =>
  withObject(LIMITED, async (object) => {
    for (let n = 0; n < calls; n += 1) accepted(object.begin(`c${n}`, T0 + n * SECOND));
    accepted(object.begin('first', T0 + 300 * SECOND));
    await forget(object);
    expect(openAt(object, T0 + 301 * SECOND)).toBe(calls + 1);
    expect(usedAt(object, 'next', T0 + 301 * SECOND)).toBe(calls + 2);
    expect(usedAt(object, 'much later', T0 + 4_000 * SECOND)).toBe(1);
  }),
);

test('an object that counts its calls keeps them in parts of the window', () =>
  withObject(LIMITED, async (object) => {
    for (let n = 0; n < 200; n += 1) accepted(object.begin(`c${n}`, T0 + n * SECOND));
    await forget(object);
    accepted(object.end('c0', T0 + 201 * SECOND));
    const parts = `SELECT json_array_length(begin_figures, '$.begun.parts') AS n FROM account`;
    expect(object.query<{ n: number }>(parts)).toEqual([{ n: 4 }]);
  }));

test('under a plan with a longer window, the calls from before count', () =>
  withObject({ name: 'P', limitType: 'NONE', rollingCalls: { limit: 5, windowSeconds: 1 } }, async (object) => {
    for (let n = 0; n < 3; n += 1) accepted(object.begin(`c${n}`, T0 + n * 10 * SECOND));
    const longer = { name: 'L', limitType: 'NONE', rollingCalls: { limit: 4, windowSeconds: 60 } };
    accepted(object.changePlan(longer, 'IMMEDIATE_RESET', T0 + 21 * SECOND));
    expect(usedAt(object, 'fourth', T0 + 22 * SECOND)).toBe(4);
    expect(object.begin('fifth', T0 + 23 * SECOND)).toMatchObject({ ok: false, refusal: { retryAfterSeconds: 37 } });
  }));

test('under a plan that had no rolling limit for a while, the calls of that time count', () =>
  withObject(LIMITED, async (object) => {
    accepted(object.begin('a', T0));
    accepted(object.changePlan({ name: 'free', limitType: 'NONE' }, 'IMMEDIATE_RESET', T0 + 1));
    accepted(object.begin('b', T0 + 2));
    accepted(object.changePlan(LIMITED, 'IMMEDIATE_RESET', T0 + 3));
    expect(usedAt(object, 'c', T0 + 4)).toBe(3);
  }));

test('the usual charge follows corrections, whether it was counted at the ends or later', () =>
  withObject(
    { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 0 }, payg: { enabled: true, markupPercent: 0 } },
    async (object) => {
      accepted(object.begin('none', T0));
      accepted(object.grant('USD', 1_000_000_000_000n, T0));
      const heldBy = (callId: string, atMs: number) => {
        accepted(object.begin(callId, atMs, { requested: { standard: true } }));
        const held = object.account()?.wallet.held;
        object.void(callId, atMs);
        return held;
      };
      accepted(object.begin('a', T0 + 1, { requested: { standard: true } }));
      accepted(object.end('a', T0 + 2, used(7), PRICE));
      expect(heldBy('b', T0 + 3)).toBe('7000000000');
      accepted(object.amendCall('a', T0 + 4, used(5), PRICE));
      expect(heldBy('c', T0 + 5)).toBe('5000000000');
      await forget(object);
      expect(heldBy('d', T0 + 6)).toBe('5000000000');
      accepted(object.reverseCall('a', T0 + 7));
      expect(heldBy('e', T0 + 8)).toBe('10000000');
    },
  ));

test('no answer is given that is older than 48 hours, and calls are dropped part by part after a week', () =>
  withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
    for (let n = 0; n < 700; n += 1) {
      object.begin(`c${n}`, T0 + n);
      object.end(`c${n}`, T0 + n);
    }
    expect(object.begin('c600', T0 + 2 * DAY + 599)).toMatchObject({ ok: true, replayed: true });
    expect(object.begin('c600', T0 + 2 * DAY + 600)).toMatchObject({ refusal: { code: 'IDEMPOTENCY_KEY_CONFLICT' } });
    object.handOverAll(T0 + 700);
    const [week, hour] = [7 * DAY, DAY / 24];
    object.housekeep(T0 + week - hour);
    expect(object.rows('calls')).toBe(700);
    object.housekeep(T0 + week + hour + 599);
    expect(object.rows('calls')).toBe(200);
    object.housekeep(T0 + week + hour + 2_600);
    expect(object.rows('calls')).toBe(0);
    // Their places are taken again, and those calls go a week later.
    accepted(object.begin('next', T0 + 8 * DAY));
    accepted(object.end('next', T0 + 8 * DAY));
    object.handOverAll(T0 + 8 * DAY);
    object.housekeep(T0 + 16 * DAY);
    expect(object.rows('calls')).toBe(0);
  }));
