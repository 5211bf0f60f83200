/**
 * The effect of passing time on a customer's object, with the clock under the test's control.
 */
import { describe, expect, test } from 'vitest';
import { DAY_TABLES } from '../../durable-objects/customer/tables/keys.ts';
import type { CallBound } from '../../src/domain/bound.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { bindings } from '../support/worker.ts';
import { NO_USAGE } from '../unit/fixtures.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 0, 31, 12);

/** The count of a service call whose vendor never answers. */
const LOST: CallBound = {
  ...{ tier: 'standard', outputTokens: 10, answers: 1, inSteps: false, cost: null },
  ifLost: { inputTokens: 5, price: { available: false, reason: 'MODEL_NOT_REPORTED' } },
};

/** Counted calls by the usage period in which they count. */
const callsByPeriod = (object: Clockwork) =>
  object.query(`SELECT json_extract(record, '$.outcome.period') AS period, COUNT(*) AS calls
    FROM calls WHERE json_extract(record, '$.outcome.calls') = 1 GROUP BY 1 ORDER BY 1`);

describe('a call that is never ended', () => {
  test('times out at its deadline, by alarm, and releases its reservation', async () => {
    await withObject({ name: 'P', limitType: 'BLOCK', limits: { standardCalls: 1 } }, async (object) => {
      accepted(object.begin('a', START));
      expect(accepted(object.begin('b', START + 1)).allowed.standard).toBe(false);
      object.housekeep(START + HOUR - 1);
      expect(object.call('a', START + HOUR - 1)?.status).toBe('IN_PROGRESS');
      expect(await object.alarm()).toBeLessThanOrEqual(START + HOUR);
      object.housekeep(START + HOUR);
      expect(object.call('a', START + HOUR)).toMatchObject({ status: 'TIMEOUT', finishedAtMs: START + HOUR });
      expect(accepted(object.usage(START + HOUR)).meters.standardCalls).toMatchObject({ used: 0, remaining: 1 });
    });
  });

  test('times out at the latest when it is read, also after a restart', async () => {
    await withObject({ name: 'P', limitType: 'BLOCK', limits: { standardCalls: 1 } }, async (object) => {
      accepted(object.begin('a', START));
      await object.restart();
      expect(accepted(object.begin('b', START + 2 * HOUR)).allowed.standard).toBe(true);
      expect(object.call('a', START + 2 * HOUR)?.status).toBe('TIMEOUT');
    });
  });

  test('is still recorded when its end comes late, once', async () => {
    await withObject(
      { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 5, standardTokens: 100 } },
      async (object) => {
        accepted(object.begin('a', START));
        object.housekeep(START + 2 * HOUR);
        const late = accepted(object.end('a', START + 3 * HOUR, { usage: { ...NO_USAGE, responseTokens: 40 } }));
        expect(late).toMatchObject({ status: 'COMPLETED', metered: { calls: 1, tokens: 40 } });
        expect(object.end('a', START + 3 * HOUR, { usage: { ...NO_USAGE, responseTokens: 41 } })).toMatchObject({
          ok: false,
        });
        expect(accepted(object.usage(START + 3 * HOUR)).meters).toMatchObject({
          standardCalls: { used: 1 },
          standardTokens: { used: 40 },
        });
      },
    );
  });

  test('has a deadline of two days if it is a batch', async () => {
    await withObject({ name: 'P', limitType: 'BLOCK' }, async (object) => {
      accepted(object.begin('a', START, { pricingMode: 'batch' }));
      object.housekeep(START + 2 * DAY - 1);
      expect(object.call('a', START + 2 * DAY - 1)?.status).toBe('IN_PROGRESS');
      object.housekeep(START + 2 * DAY);
      expect(object.call('a', START + 2 * DAY)?.status).toBe('TIMEOUT');
    });
  });

  test('1,000 calls past their deadline are all timed out at once', async () => {
    await withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
      for (let n = 0; n < 1_000; n += 1) accepted(object.begin(`c${n}`, START));
      expect(accepted(object.usage(START + HOUR)).meters.standardCalls?.used).toBe(0);
    });
  });

  test('counts in the period of its deadline, however many are lost and however many periods have passed', async () => {
    const plan = {
      name: 'P',
      limitType: 'BLOCK',
      replenish: { every: 1, unit: 'DAY' },
      limits: { standardCalls: 500 },
    };
    await withObject(plan, async (object) => {
      const lose = (count: number, atMs: number) => {
        for (let n = 0; n < count; n += 1) {
          const callId = `${atMs}-${n}`;
          accepted(object.begin(callId, atMs, {}, undefined, { bounds: [LOST] }));
        }
      };
      accepted(object.begin('first', START));
      lose(204, START + DAY - 2 * HOUR);
      lose(203, START + 2 * DAY - HOUR);
      const { meters } = accepted(object.usage(START + 2 * DAY));
      // The deadline of the second ones is the first moment of the new period.
      expect(meters.standardCalls?.used).toBe(203);
      expect(callsByPeriod(object)).toEqual([
        { period: 0, calls: 204 },
        { period: 2, calls: 203 },
      ]);
    });
  });

  test('gives back the search that it reserved', async () => {
    await withObject({ name: 'P', limitType: 'BLOCK', limits: { searches: 1 } }, async (object) => {
      const search = (callId: string, atMs: number) =>
        accepted(object.begin(callId, atMs, { requested: { search: true } })).allowed.search;
      expect([search('a', START), search('b', START + 1)]).toEqual([true, false]);
      expect([search('c', START + HOUR - 1), search('d', START + HOUR)]).toEqual([false, true]);
    });
  });
});

test('expired batches reserve nothing, however many there are', async () => {
  const line = { isPriced: true, outputTokens: 1, highestOutputTokens: 1, costNanoUsd: '1', highestCostNanoUsd: '1' };
  const lines = { standard: { count: 1, ...line, costliest: { inputTokens: 0, outputTokens: 1 } } };
  await withObject({ name: 'P', limitType: 'BLOCK', limits: { standardCalls: 500 } }, async (object) => {
    for (let n = 0; n < 401; n += 1)
      expect(object.holdBatch(`b${n}`, { lines, searches: 0, needs: [] }, START)).toEqual({ ok: true });
    expect(accepted(object.usage(START + 2 * DAY - 1)).meters.standardCalls?.used).toBe(401);
    expect(accepted(object.usage(START + 2 * DAY)).meters.standardCalls?.used).toBe(0);
  });
});

describe('a usage period', () => {
  const monthly = { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 1 } };

  test('ends exactly at its boundary: consumption is reset, and the anchor day is kept', async () => {
    await withObject(monthly, async (object) => {
      const { subscription } = accepted(object.begin('a', START));
      expect(subscription).toMatchObject({
        lastReplenishedAt: '2027-01-31T12:00:00.000Z',
        nextReplenishAt: '2027-02-28T12:00:00.000Z',
      });
      accepted(object.end('a', START + 1));
      const boundary = Date.UTC(2027, 1, 28, 12);
      expect(accepted(object.usage(boundary - 1)).meters.standardCalls?.remaining).toBe(0);
      const next = accepted(object.usage(boundary));
      expect(next.meters.standardCalls?.remaining).toBe(1);
      expect(next.subscription).toMatchObject({
        lastReplenishedAt: '2027-02-28T12:00:00.000Z',
        nextReplenishAt: '2027-03-31T12:00:00.000Z',
        subscriptionVersion: 2,
      });
    });
  });

  test('is replenished by alarm, and several missed ones at once', async () => {
    await withObject(monthly, async (object) => {
      accepted(object.begin('a', START));
      accepted(object.end('a', START + 1));
      object.housekeep(Date.UTC(2028, 1, 29, 11, 59));
      expect(accepted(object.usage(Date.UTC(2028, 1, 29, 11, 59))).subscription).toMatchObject({
        lastReplenishedAt: '2028-01-31T12:00:00.000Z',
        nextReplenishAt: '2028-02-29T12:00:00.000Z',
      });
    });
  });

  test('keeps the reservations of calls that are open across its boundary', async () => {
    await withObject({ ...monthly, replenish: { every: 1, unit: 'HOUR' } }, async (object) => {
      accepted(object.begin('a', START, { pricingMode: 'batch' }));
      expect(accepted(object.begin('b', START + HOUR)).allowed.standard).toBe(false);
      accepted(object.end('a', START + HOUR + 1));
      expect(accepted(object.usage(START + HOUR + 2)).meters.standardCalls?.used).toBe(1);
      expect(accepted(object.usage(START + 2 * HOUR)).meters.standardCalls?.used).toBe(0);
    });
  });

  test('has what was recorded in it and nothing of before, also if it begins within an hour', async () => {
    const plan = { ...monthly, limits: {}, customMeters: { CUSTOM1: { label: 'Pages', included: 1_000 } } };
    const price: ResolvedPrice = { available: true, card: rateCard({ input: '1000000', output: '1000000' }) };
    const used = { usage: { ...NO_USAGE, inputTokens: 1_000 } };
    await withObject(plan, async (object) => {
      const call = (id: string, atMs: number) => {
        accepted(object.begin(id, atMs));
        accepted(object.end(id, atMs, used, price));
      };
      const recorded = (atMs: number) =>
        (['calls', 'inputTokens', 'dollars', 'customMeter1'] as const).map((metric) => object.recorded(atMs, metric));
      for (let n = 0; n < 5; n += 1) call(`before-${n}`, START + n);
      const { eventId } = accepted(object.increment(40, START + 9));
      expect(recorded(START + 10)).toEqual([5, 5_000, 0.000005, 40]);
      accepted(object.replenish(START + 10));
      expect(recorded(START + 10)).toEqual([0, 0, 0, 0]);
      call('after', START + 11);
      accepted(object.increment(7, START + 11));
      expect(recorded(START + 12)).toEqual([1, 1_000, 0.000001, 7]);
      // A return from the previous period changes nothing in this one.
      accepted(object.reverseCall('before-0', START + 13));
      accepted(object.reverseMeterEvent(eventId, START + 13));
      expect(recorded(START + 13)).toEqual([1, 1_000, 0.000001, 7]);
      // Another one in the same hour: the hour has no more than two parts.
      accepted(object.replenish(START + 20));
      call('third', START + 20);
      expect(recorded(START + 21)).toEqual([1, 1_000, 0.000001, 0]);
      expect(object.rows('usage_hours')).toBe(2);
      accepted(object.reverseCall('after', START + 22));
      accepted(object.reverseCall('third', START + 23));
      expect(recorded(START + 24)).toEqual([0, 0, 0, 0]);
    });
  });

  test('counts what was lost in the hour of its beginning by its deadline', async () => {
    const plan = { name: 'P', limitType: 'BLOCK', replenish: { every: 1, unit: 'DAY' } };
    await withObject(plan, async (object) => {
      accepted(object.begin('first', START + 1));
      const lose = (callId: string, deadlineMs: number) =>
        accepted(object.begin(callId, deadlineMs - HOUR, {}, undefined, { bounds: [LOST] }));
      const boundary = START + 1 + DAY;
      lose('before', boundary - 1);
      lose('after', boundary);
      lose('later', boundary + 1);
      expect(object.recorded(boundary + 2, 'calls')).toBe(2);
      expect(accepted(object.usage(boundary + 2)).meters.standardCalls?.used).toBe(2);
    });
  });

  test('without an end is shown as the year 9999', async () => {
    await withObject({ ...monthly, replenish: null }, async (object) => {
      expect(accepted(object.begin('a', START)).subscription.nextReplenishAt).toBe('9999-12-31T23:59:59.999Z');
    });
  });
});

describe('rolling calls', () => {
  test('slide with the window to the millisecond, a refused begin leaves no trace, and Retry-After is correct', async () => {
    const plan = { name: 'P', limitType: 'BLOCK', rollingCalls: { limit: 2, windowSeconds: 60 } };
    await withObject(plan, async (object) => {
      expect(accepted(object.begin('a', START)).rateLimits?.rollingCalls).toEqual({
        limit: 2,
        used: 1,
        remaining: 1,
        windowSeconds: 60,
        resetsAt: new Date(START + 60_000).toISOString(),
      });
      accepted(object.begin('b', START + 10_000));
      const refused = object.begin('c', START + 20_500);
      expect(refused).toMatchObject({ ok: false, refusal: { code: 'RATE_LIMITED', retryAfterSeconds: 40 } });
      expect(object.call('c', START + 20_500)).toBeNull();
      expect(accepted(object.begin('a', START + 20_500))).toMatchObject({ callId: 'a' });
      expect(object.begin('c', START + 59_999)).toMatchObject({ ok: false });
      expect(accepted(object.begin('c', START + 60_000)).rateLimits?.rollingCalls.used).toBe(2);
    });
  });
});

describe('retention', () => {
  const somewhere = {
    prepare: () => ({ bind: () => ({}) }),
    batch: () => Promise.resolve([]),
  } as unknown as D1Database;

  test('answers are replayed for 48 hours after the call finished, calls stay 7 days, hours 100 days, and what no projector has stays', async () => {
    await withObject({ name: 'P', limitType: 'BLOCK' }, async (object) => {
      const hours = (atMs: number) => object.hours(atMs, ['completedCalls']).startMs;
      accepted(object.begin('a', START));
      accepted(object.end('a', START + HOUR / 2));
      const finished = START + HOUR / 2;
      object.housekeep(finished + 48 * HOUR - 1);
      expect(object.begin('a', finished + 48 * HOUR - 1)).toMatchObject({ ok: true, replayed: true });
      object.housekeep(finished + 48 * HOUR);
      expect(object.begin('a', finished + 49 * HOUR)).toMatchObject({
        ok: false,
        refusal: { code: 'IDEMPOTENCY_KEY_CONFLICT' },
      });
      expect(object.call('a', finished + 6 * DAY)?.status).toBe('COMPLETED');

      object.housekeep(finished + 8 * DAY);
      expect(object.rows('calls')).toBe(1);
      await object.deliver(somewhere, finished + 9 * DAY);
      // A change of a moment ago, as a late charge makes one, after the list of changes was full.
      object.query(`INSERT INTO outbox (kind, id, queued_at_ms) VALUES ('call', 'a', ${finished + 9 * DAY})`);
      object.query('UPDATE calls SET change_place = (SELECT MAX(place) FROM outbox)');
      object.housekeep(finished + 9 * DAY + 1_000);
      expect(object.rows('calls')).toBe(1);
      object.query('DELETE FROM outbox');
      object.housekeep(finished + 10 * DAY);
      expect(object.rows('calls')).toBe(0);
      expect(hours(finished + 99 * DAY)).toEqual([finished - HOUR / 2]);
      object.housekeep(finished + 101 * DAY);
      expect(hours(finished + 101 * DAY)).toEqual([]);
    });
  });

  test('an entry of the ledger that no projector has stays, also if it is of long ago when it is made', async () => {
    await withObject({ name: 'P', limitType: 'BLOCK' }, async (object) => {
      const entries = () => object.query('SELECT entry_id AS id FROM ledger ORDER BY 1').map(({ id }) => id);
      accepted(object.begin('a', START));
      accepted(object.end('a', START));
      accepted(object.grant('USD', 5n, START, { expiresAtMs: START + HOUR }));
      await object.deliver(somewhere, START);
      // The end of the first credit is noticed now, and its entry is of its time.
      const late = START + 31 * DAY;
      accepted(object.grant('USD', 7n, late));
      expect(entries()).toEqual([1, 2, 3]);
      object.housekeep(late);
      expect(entries()).toEqual([2, 3]);
      await object.deliver(somewhere, late);
      object.housekeep(late + 2 * HOUR);
      expect(entries()).toEqual([3]);
    });
  });

  test('the key of an increment is kept for 48 hours at least, and three days at most, however many there are', async () => {
    const customMeters = { CUSTOM1: { enabled: true, included: 1_000, overage: { model: 'SINGLE', priceUsd: '1' } } };
    await withObject({ name: 'P', limitType: 'BLOCK', customMeters }, async (object) => {
      const midnight = START + DAY / 2;
      const keys = () => DAY_TABLES.reduce((sum, table) => sum + object.rows(table), 0);
      const increment = (key: string, atMs: number) => object.increment(1, atMs, { key });
      accepted(object.begin('first', START));
      for (const key of ['a', 'b', 'c', 'd']) accepted(increment(key, midnight - 1));
      // The last moment of a day, so the next days are as short as they can be.
      for (const days of [0, 1, 2]) {
        const atMs = midnight + days * DAY - 1;
        object.housekeep(atMs);
        expect(increment('a', atMs)).toMatchObject({ ok: true, replayed: true });
        expect(object.increment(2, atMs, { key: 'b' })).toMatchObject({
          refusal: { code: 'IDEMPOTENCY_KEY_CONFLICT' },
        });
        accepted(increment(`of day ${days}`, atMs));
      }
      // Without the alarm, the first key of a day takes the place of those that are too old.
      accepted(increment('first', midnight + 2 * DAY));
      expect([keys(), object.increment(1, midnight + 2 * DAY, { key: 'of day 1' })]).toMatchObject([
        3,
        { ok: true, replayed: true },
      ]);
      for (let days = 3; days < 6; days += 1) object.housekeep(midnight + days * DAY);
      expect(keys()).toBe(0);
      accepted(increment('a', midnight + 6 * DAY));
      expect(keys()).toBe(1);
    });
  });

  test('a key that an earlier release stored is still taken', async () => {
    const customMeters = { CUSTOM1: { enabled: true, included: 1_000, overage: { model: 'SINGLE', priceUsd: '1' } } };
    await withObject({ name: 'P', limitType: 'BLOCK', customMeters }, async (object) => {
      accepted(object.begin('first', START));
      accepted(object.increment(1, START, { key: 'a' }));
      for (const table of DAY_TABLES) {
        object.query(`INSERT INTO idempotency_keys (operation, key, fingerprint, answer, expires_at_ms)
          SELECT operation, key, fingerprint, answer, ${START + 48 * HOUR} FROM ${table}`);
        object.query(`DELETE FROM ${table}`);
      }
      expect(object.increment(1, START + 1, { key: 'a' })).toMatchObject({ ok: true, replayed: true });
      object.housekeep(START + 48 * HOUR);
      expect(object.rows('idempotency_keys')).toBe(0);
    });
  });

  test('the cost of a usage period that is longer than hours are kept stays whole, and starts anew with the next period', async () => {
    await withObject({ name: 'P', limitType: 'NONE', replenish: null }, async (object, { organizationId }) => {
      const price = { available: true as const, card: rateCard({ input: '0', output: '2000000000000' }) };
      const call = (callId: string, atMs: number, responseTokens: number) => {
        accepted(object.begin(callId, atMs));
        accepted(object.end(callId, atMs + 1_000, { usage: { ...NO_USAGE, responseTokens }, modelUsed: 'm' }, price));
      };
      const listed = async (atMs: number) => {
        await object.deliver(bindings.DB, atMs + 60_000);
        const sql = `SELECT period_cost_usd AS usd, period_cost_rest_nano_usd AS rest FROM customers WHERE organization_id = ?`;
        const row = await bindings.DB.prepare(sql).bind(organizationId).first<{ usd: number; rest: number }>();
        return BigInt(row?.usd ?? 0) * 1_000_000_000n + BigInt(row?.rest ?? 0);
      };
      call('a', START, 700_000);
      call('b', START + 50 * DAY, 20);
      const cost = 700_020n * 2_000_000n;
      expect(await listed(START + 50 * DAY)).toBe(cost);
      for (const days of [101, 160]) object.housekeep(START + days * DAY);
      expect(object.rows('usage_hours')).toBe(0);
      await object.restart();
      call('c', START + 161 * DAY, 1);
      expect(await listed(START + 161 * DAY)).toBe(cost + 2_000_000n);
      accepted(object.replenish(START + 162 * DAY));
      call('d', START + 163 * DAY, 3);
      expect(await listed(START + 163 * DAY)).toBe(6_000_000n);
      object.housekeep(START + 290 * DAY);
      await object.restart();
      call('e', START + 291 * DAY, 1);
      expect(await listed(START + 291 * DAY)).toBe(8_000_000n);
    });
  });

  test("a session's key replays for 48 hours, and is free once the call is deleted: the next call has another id", async () => {
    await withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
      const begin = (atMs: number, feature = 'f') =>
        object.begin('', atMs, { feature }, { source: 'session', hash: 'a'.repeat(32) });
      const refusalCode = (answer: ReturnType<typeof begin>) => (answer.ok ? null : answer.refusal.code);
      const first = accepted(begin(START)).callId;
      expect(first).toMatch(/^dk-[\w-]{43}\.s[\w-]{22}\./);
      accepted(object.end(first, START + 1_000));
      expect(accepted(begin(START + DAY)).callId).toBe(first);
      expect(refusalCode(begin(START + DAY, 'other'))).toBe('IDEMPOTENCY_KEY_CONFLICT');
      await object.deliver(somewhere, START + 2 * DAY);
      object.housekeep(START + 3 * DAY);
      expect([refusalCode(begin(START + 3 * DAY)), refusalCode(begin(START + 3 * DAY, 'other'))]).toEqual(
        Array.from({ length: 2 }, () => 'IDEMPOTENCY_KEY_CONFLICT'),
      );
      object.housekeep(START + 8 * DAY);
      const next = accepted(begin(START + 8 * DAY, 'other')).callId;
      expect([object.rows('calls'), next === first]).toEqual([1, false]);
    });
  });

  test('reading an unknown customer stores nothing', async () => {
    await withObject({ name: 'P', limitType: 'BLOCK' }, async (object) => {
      expect(object.usage(START)).toMatchObject({ ok: false, refusal: { code: 'CUSTOMER_NOT_FOUND' } });
      expect(object.call('a', START)).toBeNull();
      expect(object.end('a', START)).toMatchObject({ ok: false, refusal: { code: 'CALL_NOT_FOUND' } });
      expect(object.rows("sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")).toBe(0);
      expect(await object.alarm()).toBeNull();
    });
  });
});

describe('spend velocity', () => {
  test('sums the completed calls of the current UTC hour and day', async () => {
    await withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
      const times = [Date.UTC(2027, 4, 1, 22, 30), Date.UTC(2027, 4, 1, 23, 59, 59, 999), Date.UTC(2027, 4, 2, 0, 0)];
      const windows = times.map((atMs, n) => {
        accepted(object.begin(`v${n}`, atMs));
        return accepted(object.end(`v${n}`, atMs)).spendVelocity?.windows;
      });
      expect(
        windows.map((w) => [w?.hour.bucket, w?.hour.completedCalls, w?.day.bucket, w?.day.completedCalls]),
      ).toEqual([
        ['2027-05-01T22', 1, '2027-05-01', 1],
        ['2027-05-01T23', 1, '2027-05-01', 2],
        ['2027-05-02T00', 1, '2027-05-02', 1],
      ]);
      expect(windows[2]?.day).toMatchObject({
        startedAt: '2027-05-02T00:00:00.000Z',
        endedAt: '2027-05-03T00:00:00.000Z',
        windowMinutes: 1440,
      });
    });
  });
});
