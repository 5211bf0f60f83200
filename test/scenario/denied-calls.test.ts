/**
 * Promise: a customer who repeats denied calls is refused without a record from the 61st time in a minute on, and
 * nobody else is; D1 gets 60 denied calls an hour, and reports add up to all of them.
 */

import { runDurableObjectAlarm } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import { RETENTION_DEFAULTS } from '../../src/contract/operator.ts';
import { asCustomerId, asOrganizationId, type CustomerId } from '../../src/domain/ids.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { sumUsage } from '../../src/history/usage.ts';
import * as gateway from '../support/gateway.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { bindings, customerStub, deliverToD1, operator } from '../support/worker.ts';

gateway.mockVendor();

const PLAN = { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 0 }, payg: { enabled: false } };
const START = Date.UTC(2027, 2, 1, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Asks for entitlements that the plan does not have. */
const deny = (object: Clockwork, callId: string, atMs: number, feature?: string) =>
  object.begin(callId, atMs, { requested: { premium: true }, ...(feature !== undefined && { feature }) });
function denyMany(
  object: Clockwork,
  name: string,
  count: number,
  atMs: number,
  featureOf: (index: number) => string | undefined = () => undefined,
) {
  for (let index = 0; index < count; index += 1)
    expect(deny(object, `${name}-${index}`, atMs, featureOf(index)).ok).toBe(true);
}
const answerCode = (answer: ReturnType<Clockwork['begin']>) => (answer.ok ? answer.result.code : answer.refusal.code);

describe('the 61st denial within a minute', () => {
  test('is refused with the limit and Retry-After, and leaves no trace; allowed calls and replays are not affected', async () => {
    await withObject(PLAN, async (object) => {
      denyMany(object, 'denied', 60, START + 100);
      const before = [
        object.rows('calls'),
        object.changes(),
        object.query('SELECT * FROM denied_hours'),
        object.account()?.revision,
      ];
      const refused = deny(object, 'refused', START + 1_100);
      expect(refused).toMatchObject({
        ok: false,
        refusal: { code: 'RATE_LIMITED', retryAfterSeconds: 59, members: { retryAfterSeconds: 59 } },
      });
      expect(!refused.ok && refused.refusal.message).toContain('too many denied calls (60 in 60 seconds); retry in ');
      expect([
        object.rows('calls'),
        object.changes(),
        object.query('SELECT * FROM denied_hours'),
        object.account()?.revision,
      ]).toEqual(before);

      expect(accepted(object.begin('allowed', START + 1_200, { requested: { standard: true } })).allowed.standard).toBe(
        true,
      );
      expect(deny(object, 'denied-7', START + 1_300)).toMatchObject({ ok: true, replayed: true });
      expect(answerCode(deny(object, 'refused', START + 100 + MINUTE - 1))).toBe('RATE_LIMITED');
      expect(accepted(deny(object, 'refused', START + 100 + MINUTE)).allowed.premium).toBe(false);
    });
  });

  test.each<[string, (object: Clockwork, atMs: number) => unknown]>([
    ['another plan', (object, atMs) => object.changePlan({ ...PLAN, name: 'Q' }, 'IMMEDIATE_PRORATED', atMs)],
    ['a replenishment', (object, atMs) => object.replenish(atMs)],
    ['a credit', (object, atMs) => object.grant('USD', 5n, atMs)],
    [
      'a cancellation that is taken back',
      (object, atMs) => [object.setCanceled(true, atMs), object.setCanceled(false, atMs)],
    ],
  ])('is recorded after %s', async (_, change) => {
    await withObject(PLAN, async (object) => {
      denyMany(object, 'denied', 60, START);
      expect(answerCode(deny(object, 'next', START + 1))).toBe('RATE_LIMITED');
      change(object, START + 2);
      denyMany(object, 'again', 60, START + 3);
      expect(answerCode(deny(object, 'next', START + 4))).toBe('RATE_LIMITED');
    });
  });

  test('is recorded after a period that ended', async () => {
    await withObject({ ...PLAN, replenish: { every: 1, unit: 'DAY' } }, async (object) => {
      accepted(object.begin('first', START, { requested: { standard: true } }));
      const renewalMs = START + 24 * HOUR;
      denyMany(object, 'denied', 60, renewalMs - 1);
      expect(answerCode(deny(object, 'next', renewalMs - 1))).toBe('RATE_LIMITED');
      expect(deny(object, 'next', renewalMs).ok).toBe(true);
    });
  });

  test('counts only committed denials; a restarted object starts counting again', async () => {
    await withObject(PLAN, async (object) => {
      denyMany(object, 'denied', 30, START);
      for (let round = 0; round < 3; round += 1) {
        const broken = () =>
          object.inOneTransaction(START, () => {
            denyMany(object, 'undone', 30, START);
            throw new Error('broken');
          });
        expect(broken).toThrow('broken');
      }
      object.inOneTransaction(START, () => denyMany(object, 'one transaction', 30, START));
      expect(answerCode(deny(object, 'next', START))).toBe('RATE_LIMITED');
      await object.restart();
      expect(deny(object, 'next', START).ok).toBe(true);
    });
  });

  test('is also refused for a call that the service makes itself', async () => {
    await withObject(PLAN, async (object) => {
      for (let index = 0; index < 60; index += 1)
        expect(object.beginServiceCall(`open-${index}`, START, { requested: { premium: true } }).ok).toBe(true);
      expect(object.beginServiceCall('next', START, { requested: { premium: true } })).toMatchObject({
        ok: false,
        refusal: { code: 'RATE_LIMITED' },
      });
    });
  });
});

type Sums = Record<string, number>;

/**
 * Denied calls in D1's reports, by the dimension that is asked for, of the organization and of the customer; both must
 * agree.
 */
async function deniedBy(
  organizationId: string,
  dimension: 'feature' | 'outcome' | 'customer' | 'model',
): Promise<Sums> {
  const of = async (customerId?: CustomerId) => {
    const filter = { fromMs: START - HOUR, toMs: START + 48 * HOUR, customerId };
    const groups = await sumUsage(bindings, asOrganizationId(organizationId), filter, [dimension], 100);
    return Object.fromEntries(groups[dimension].map(({ key, calls }) => [key, calls]).sort());
  };
  const [all, own] = [await of(), await of(asCustomerId('clockwork'))];
  expect(own).toEqual(all);
  return all;
}

const countRows = async (table: string, organizationId: string) =>
  (
    await bindings.DB.prepare(`SELECT COUNT(*) AS n FROM ${table} WHERE organization_id = ?`)
      .bind(organizationId)
      .first<{ n: number }>()
  )?.n;

describe('D1', () => {
  test('gets 60 denied calls of an hour, and the number of the others; every report adds up', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      for (const minute of [0, 1, 2, 3]) {
        denyMany(object, `minute-${minute}`, 60, START + minute * MINUTE, () => 'chat');
        await object.deliver(bindings.DB, START + minute * MINUTE + 2_500);
        // Once more, and nothing changes.
        await object.deliver(bindings.DB, START + minute * MINUTE + 2_600);
        expect(await deniedBy(organizationId, 'outcome')).toEqual({ NOT_ALLOWED: (minute + 1) * 60 });
      }
      expect([await countRows('calls', organizationId), await countRows('denied_hours', organizationId)]).toEqual([
        60, 1,
      ]);
      denyMany(object, 'next-hour', 60, START + HOUR, () => 'chat');
      await object.deliver(bindings.DB, START + HOUR + 2_500);
      expect(await countRows('calls', organizationId)).toBe(120);
      expect(await deniedBy(organizationId, 'feature')).toEqual({ chat: 300 });
      expect(await deniedBy(organizationId, 'model')).toEqual({ '': 300 });
      expect(await deniedBy(organizationId, 'customer')).toEqual({ clockwork: 300 });
      // The call itself stays in the place of its begin.
      expect(object.call('minute-3-59', START + HOUR)).toMatchObject({ status: 'NOT_ALLOWED', feature: 'chat' });
    });
  });

  test('gets a number for each of ten features of an hour, and one for all others', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      denyMany(object, 'full', 60, START, () => 'chat');
      denyMany(object, 'counted', 60, START + MINUTE, (index) => `feature-${String(index % 20).padStart(2, '0')}`);
      await object.deliver(bindings.DB, START + MINUTE + 2_500);
      const named = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`feature-0${index}`, 3]));
      expect(await deniedBy(organizationId, 'feature')).toEqual({ '': 30, chat: 60, ...named });
      expect([await countRows('calls', organizationId), await countRows('denied_hours', organizationId)]).toEqual([
        60, 11,
      ]);
    });
  });

  test('gets each number once, also after an outage', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      const away = {
        prepare: bindings.DB.prepare.bind(bindings.DB),
        batch: () => Promise.reject(new Error('away')),
      } as unknown as D1Database;
      const late = {
        prepare: bindings.DB.prepare.bind(bindings.DB),
        async batch(statements: D1PreparedStatement[]) {
          await bindings.DB.batch(statements);
          throw new Error('the answer was lost');
        },
      } as unknown as D1Database;
      let atMs = START;
      for (const db of [away, late, away, late, bindings.DB]) {
        atMs += MINUTE;
        denyMany(object, `at-${atMs}`, 60, atMs);
        await object.deliver(db, atMs + 40_000);
      }
      expect(await deniedBy(organizationId, 'outcome')).toEqual({ NOT_ALLOWED: 300 });
      expect(await countRows('calls', organizationId)).toBe(60);
    });
  });

  test('deletes the numbers after the retention of calls, and the object after a day', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      denyMany(object, 'a', 60, START);
      denyMany(object, 'b', 60, START + MINUTE);
      await object.deliver(bindings.DB, START + MINUTE + 2_500);
      expect([object.rows('denied_hours'), await countRows('denied_hours', organizationId)]).toEqual([1, 1]);
      object.housekeep(START + 49 * HOUR);
      expect(object.rows('denied_hours')).toBe(0);
      await deleteExpired(bindings, START + HOUR + RETENTION_DEFAULTS.callRetentionDays * 24 * HOUR);
      expect(await countRows('denied_hours', organizationId)).toBe(0);
      expect(await deniedBy(organizationId, 'outcome')).toEqual({ NOT_ALLOWED: 120 });
    });
  });
});

/** The bytes of D1's file. */
const sizeOfD1 = async () => (await bindings.DB.prepare('SELECT 1').run()).meta.size_after;

test.each([
  ['at 355 a second', 1_000 / 355, 60],
  ['at 60 a minute', 1_000, 1_500],
])('1,500 begins with 50 tags of 200 characters, %s, cost D1 less than 2 MB', async (_, everyMs, recorded) => {
  await withObject(PLAN, async (object, { organizationId }) => {
    const tags = Array.from({ length: 50 }, (_, index) => String(index).padEnd(200, 't'));
    const before = await sizeOfD1();
    let count = 0;
    for (let index = 0; index < 1_500; index += 1) {
      const atMs = START + Math.floor(index * everyMs);
      if (object.begin(`fat-${index}`, atMs, { requested: { premium: true }, tags }).ok) count += 1;
      if (index % 300 === 299) await object.deliver(bindings.DB, atMs + 2_500);
    }
    const grown = (await sizeOfD1()) - before;
    console.log(`D1 grew by ${grown} bytes for 1,500 denied begins, of which ${count} were recorded`);
    expect([count, await countRows('calls', organizationId)]).toEqual([recorded, 60]);
    expect(grown).toBeLessThan(2_000_000);
    expect(await deniedBy(organizationId, 'outcome')).toEqual({ NOT_ALLOWED: recorded });
  });
});

describe('over HTTP', () => {
  test('begin, call and gateway share the limit, each refuses in its own envelope, and the key stays free', async () => {
    const tenant = await gateway.newTenant();
    const planParams = { org: tenant.organizationId, planId: 'test' };
    const none = { name: 'None', limitType: 'BLOCK', limits: { premiumCalls: 0, standardCalls: 0 } };
    expect((await operator.send('putPlan', { params: planParams, body: none })).status).toBe(200);
    gateway.vendor.answers = gateway.answers;
    // The clock stands in the middle of an hour.
    const nowMs = Date.now() - (Date.now() % HOUR) + HOUR / 2;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => nowMs);
    await scheduler.wait(150);
    const standard = (index: number) =>
      tenant.api.send('beginCall', {
        body: { customerId: 'default', feature: 'chat' },
        headers: { 'Idempotency-Key': `denied-${index}` },
      });
    expect(
      (await Promise.all(Array.from({ length: 60 }, (_, index) => standard(index)))).map(({ status }) => status),
    ).toEqual(Array.from({ length: 60 }, () => 200));
    const refused = await standard(60);
    expect([refused.status, refused.refusal.code, refused.headers.get('Retry-After')]).toEqual([
      429,
      'RATE_LIMITED',
      '60',
    ]);
    const made = await tenant.api.send('makeCall', {
      body: { customerId: 'default', usage: { modelUsed: 'gpt-5.2', inputTokens: 1 } },
    });
    expect([made.status, made.refusal.code]).toEqual([429, 'RATE_LIMITED']);
    const { response } = await gateway.ask(tenant.key, {});
    const { error } = (await response.json()) as { error: { type: string; code: string } };
    expect([response.status, error.type, error.code]).toEqual([429, 'rate_limit_exceeded', 'RATE_LIMITED']);
    expect(response.headers.get('Retry-After')).toBe('60');
    // Nothing stands under the key of a refused begin: another customer may have it.
    const other = { body: { customerId: 'other' }, headers: { 'Idempotency-Key': 'denied-60' } };
    expect((await tenant.api.send('beginCall', other)).data.callId).toBe('denied-60');

    clock.mockImplementation(() => nowMs + MINUTE);
    for (let index = 60; index < 70; index += 1) expect((await standard(index + 1)).status).toBe(200);
    const compressed = {
      callId: 'denied-70',
      promptCompression: { originalTokens: 10, compressedTokens: 5, provider: 'heuristic', techniques: ['t'] },
    };
    expect((await tenant.api.send('compressPrompt', { body: compressed })).status).toBe(200);
    const stub = customerStub(tenant.organizationId, 'default');
    clock.mockImplementation(() => nowMs + MINUTE + 5_000);
    await runDurableObjectAlarm(stub);
    await deliverToD1(tenant.organizationId, 'other');
    const summary = (await tenant.api.send('readUsageSummary', { query: {} })).data;
    expect(summary.byOutcome).toMatchObject([{ outcome: 'NOT_ALLOWED', calls: 71 }]);
    expect(summary.byFeature.map(({ feature, calls }) => [feature, calls])).toEqual([
      ['chat', 70],
      [null, 1],
    ]);
    expect(summary.totals.calls).toBe(71);
    expect([
      await countRows('calls', tenant.organizationId),
      await countRows('denied_hours', tenant.organizationId),
    ]).toEqual([61, 1]);
    expect((await tenant.api.send('readCall', { params: { callId: 'denied-70' } })).data.status).toBe('NOT_ALLOWED');

    const params = { org: tenant.organizationId, customerId: 'default' };
    expect((await operator.send('eraseCustomer', { params })).status).toBe(200);
    expect(await countRows('denied_hours', tenant.organizationId)).toBe(0);
    expect((await tenant.api.send('readUsageSummary', { query: {} })).data.totals.calls).toBe(1);
  });
});
