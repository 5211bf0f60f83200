/**
 * Promise: the sums of D1 equal those of the present calls, whatever changes a call after the retention has deleted its
 * row: amendments, reversals, late ends, settlements and savings.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Call } from '../../src/domain/call.ts';
import { earnedNanoUsd } from '../../src/domain/charge.ts';
import { asCustomerId, asOrganizationId, type CustomerId } from '../../src/domain/ids.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import type { Env } from '../../src/env.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { sumUsage } from '../../src/history/usage.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import { type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { swept } from '../support/sweep.ts';
import { DATABASES } from '../support/unreliable-d1.ts';
import { bindings } from '../support/worker.ts';
import { usage } from '../unit/fixtures.ts';

const START = Date.UTC(2039, 5, 1, 12);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const RETENTION_DAYS = 2;
/** Days after which whatever waits for a deadline, or for a settlement, is over. */
const LAST_DAYS = 8;
const PLAN = planOnCredit();
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '10000000000', output: '1' }) };
const { ARCHIVE: _, ...withoutArchive } = bindings;

const report = (inputTokens: number) => ({ usage: usage({ inputTokens }), modelUsed: 'm' });

/** A customer, the clock, and the calls as they were when they were last seen. */
class Books {
  nowMs = START;
  readonly #object: Clockwork;
  readonly #names: { organizationId: string; customerId: string };
  readonly #seen = new Map<string, Call>();

  constructor(object: Clockwork, names: { organizationId: string; customerId: string }) {
    this.#object = object;
    this.#names = names;
  }

  async open(): Promise<void> {
    await bindings.DB.prepare(
      'INSERT INTO organizations (organization_id, name, retention, created_at_ms) VALUES (?, ?, ?, 0)',
    )
      .bind(this.#names.organizationId, 'o', JSON.stringify({ callRetentionDays: RETENTION_DAYS }))
      .run();
    this.#object.begin('first', this.nowMs);
    this.#object.grant('USD', 10n ** 12n, this.nowMs);
    this.look('first');
  }

  get callIds(): string[] {
    return [...this.#seen.keys()];
  }

  /** The call as the object has it, for a correction that finds nothing there. */
  old(callId: string): Call | null {
    return this.#seen.get(callId) ?? null;
  }

  look(callId: string): void {
    const call = this.#object.seen(callId);
    if (call) this.#seen.set(callId, call);
  }

  lookAtAll(): void {
    for (const callId of this.callIds) this.look(callId);
  }

  async deliver(db = bindings.DB): Promise<void> {
    for (let more = true; more; ) ({ more } = await this.#object.deliver(db, this.nowMs));
  }

  /** The work of the alarm. */
  wake(): void {
    this.#object.wake(this.nowMs);
    this.lookAtAll();
  }

  /** Time passes, and the cron runs. */
  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    await this.deliver();
    await deleteExpired(withoutArchive as Env, this.nowMs);
  }

  async rows(): Promise<number> {
    const sql = 'SELECT COUNT(*) AS n FROM calls WHERE organization_id = ?';
    return (await bindings.DB.prepare(sql).bind(this.#names.organizationId).first<{ n: number }>())?.n ?? 0;
  }

  /** By outcome: D1's figures of the organization, those of the customer, and the calls. */
  async sums() {
    const { organizationId, customerId } = this.#names;
    const [fromMs, toMs] = [START - DAY, this.nowMs + DAY];
    const read = async (of: { customerId?: CustomerId }) => {
      const days = [{ startMs: fromMs, endMs: toMs }];
      const period = { fromMs, toMs, ...of };
      const { outcome, day } = await sumUsage(
        bindings,
        asOrganizationId(organizationId),
        period,
        ['outcome', 'day'],
        9,
        days,
      );
      const figures = outcome.map((group) => [
        ...[group.key, group.calls, group.inputTokens, group.costNanoUsd, group.chargeNanoUsd],
      ]);
      return { figures: figures.sort(), calls: day[0]?.calls ?? 0, costNanoUsd: day[0]?.costNanoUsd ?? 0n };
    };
    const counted = [...this.#seen.values()].filter(
      ({ status, reversedAtMs }) => status !== 'IN_PROGRESS' && reversedAtMs === undefined,
    );
    const figures = [...Map.groupBy(counted, ({ status }) => status)].map(([status, calls]) => [
      status,
      calls.length,
      calls.reduce((sum, { outcome }) => sum + (outcome?.usage.inputTokens ?? 0), 0),
      calls.reduce((sum, call) => sum + costOf(call), 0n),
      calls.reduce((sum, { outcome }) => sum + earnedNanoUsd(outcome?.charge), 0n),
    ]);
    const costNanoUsd = counted.reduce((sum, call) => sum + costOf(call), 0n);
    return {
      ofOrganization: await read({}),
      ofCustomer: await read({ customerId: asCustomerId(customerId) }),
      expected: { figures: figures.sort(), calls: counted.length, costNanoUsd },
    };
  }

  async agree(): Promise<void> {
    // Later than any attempt after a failure.
    this.nowMs += MINUTE;
    await this.deliver();
    const { ofOrganization, ofCustomer, expected } = await this.sums();
    expect(ofOrganization).toEqual(expected);
    expect(ofCustomer).toEqual(expected);
  }
}

function costOf({ outcome }: Call): bigint {
  return outcome?.price.status === 'FINAL' ? BigInt(outcome.price.costNanoUsd) : 0n;
}

const withBooks = (steps: (books: Books, object: Clockwork) => Promise<void>) =>
  withObject(
    PLAN,
    async (object, names) => {
      const books = new Books(object, names);
      await books.open();
      await steps(books, object);
    },
    { stripeCustomerId: 'cus_1' },
  );

test('an amendment, a reversal and a late end on the third day of a retention of two count once', async () => {
  await withBooks(async (books, object) => {
    for (const callId of ['amended', 'reversed', 'late', 'as it was']) object.begin(callId, START);
    for (const callId of ['amended', 'reversed', 'as it was'])
      object.end(callId, START + SECOND, report(25_000), PRICE);
    for (const callId of ['amended', 'reversed', 'late', 'as it was']) books.look(callId);
    books.nowMs += 2 * HOUR;
    books.wake();
    await books.deliver();
    await books.pass(3 * DAY);
    expect(await books.rows()).toBe(0);

    object.amendCall('amended', books.nowMs, report(50_000), PRICE);
    object.reverseCall('reversed', books.nowMs);
    object.end('late', books.nowMs, report(18), PRICE);
    books.lookAtAll();
    await books.agree();
    const { ofOrganization } = await books.sums();
    expect(ofOrganization).toMatchObject({ calls: 4, costNanoUsd: 750_180_000n });

    // The rows go again, and the next change counts as the first did.
    await books.pass(DAY);
    expect(await books.rows()).toBe(0);
    object.amendCall('amended', books.nowMs, report(10), PRICE);
    books.look('amended');
    await books.agree();
  });
});

test('a settlement, savings and a correction of what the object has removed count once', async () => {
  await withBooks(async (books, object) => {
    for (const callId of ['settled', 'saved', 'removed']) {
      object.begin(callId, START);
      object.end(callId, START + SECOND, report(25_000), PRICE);
      books.look(callId);
    }
    await books.deliver();
    await books.pass(3 * DAY);
    expect(await books.rows()).toBe(0);
    await object.settle(books.nowMs, async () => ({ status: 'REPORTED' }));
    object.compress('saved', books.nowMs);
    books.lookAtAll();
    await books.agree();

    await books.pass(LAST_DAYS * DAY);
    books.wake();
    expect([await books.rows(), object.seen('removed')]).toEqual([0, null]);
    for (const inputTokens of [10, 20]) {
      object.amendCall('removed', books.nowMs, report(inputTokens), PRICE, books.old('removed'));
      books.look('removed');
      await books.agree();
      await books.pass(DAY);
      expect(await books.rows()).toBe(0);
    }
    object.reverseCall('removed', books.nowMs, books.old('removed'));
    books.look('removed');
    await books.agree();
  });
});

const place = fc.nat(9);
const step = fc.oneof(
  fc.record({ kind: fc.constant('begin' as const) }),
  fc.record({ kind: fc.constantFrom('end' as const, 'amend' as const), place, tokens: fc.nat(50_000) }),
  fc.record({ kind: fc.constantFrom('reverse' as const, 'compress' as const), place }),
  fc.record({ kind: fc.constant('settle' as const), isTaken: fc.boolean() }),
  fc.record({
    kind: fc.constant('deliver' as const),
    to: fc.constantFrom('there' as const, 'away' as const, 'late' as const),
  }),
  fc.record({ kind: fc.constantFrom('restart' as const, 'wake' as const) }),
  fc.record({
    kind: fc.constant('pass' as const),
    ms: fc.constantFrom(SECOND, HOUR, 2 * HOUR, DAY, 3 * DAY, LAST_DAYS * DAY),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

async function take(books: Books, object: Clockwork, next: Step, serial: number): Promise<void> {
  const { nowMs, callIds } = books;
  const callId = 'place' in next ? (callIds[next.place % callIds.length] ?? '') : `call-${serial}`;
  const old = object.seen(callId) ? null : books.old(callId);
  switch (next.kind) {
    case 'begin':
      object.begin(callId, nowMs);
      break;
    case 'end':
      object.end(callId, nowMs, report(next.tokens), PRICE);
      break;
    case 'amend':
      object.amendCall(callId, nowMs, report(next.tokens), PRICE, old);
      break;
    case 'reverse':
      object.reverseCall(callId, nowMs, old);
      break;
    case 'compress':
      object.compress(callId, nowMs);
      break;
    case 'settle':
      await object.settle(nowMs, async () =>
        next.isTaken ? { status: 'REPORTED' } : { status: 'RETRY', reason: 'away', retryAfterMs: null },
      );
      break;
    case 'deliver':
      await books.deliver(DATABASES[next.to]);
      break;
    case 'restart':
      await object.restart();
      break;
    case 'wake':
      books.wake();
      break;
    case 'pass':
      await books.pass(next.ms);
      break;
  }
  books.lookAtAll();
  books.look(callId);
}

test('any history of changes, days and restarts leaves the sums of the calls as they are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30, size: 'max' }), async (steps) => {
      await withBooks(async (books, object) => {
        for (const [serial, next] of steps.entries()) await take(books, object, next, serial);
        await books.agree();
      });
    }),
    { numRuns: swept(200, 15) },
  );
});
