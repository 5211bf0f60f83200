/**
 * Promise: whatever customers of an organization do, whenever it is corrected, whatever Stripe answers and however much
 * time passes over periods, kept days and the archive, every answer and every sum equals the present count of the calls
 * and increments: those of the objects, of D1, of the archive, and of Stripe.
 *
 * Random histories of three customers run on their real objects, projectors, D1 and archive, with a clock of the test's
 * own; the objects lose their memory between any two rounds, by force. The model is test/support/ledger-model.ts. A
 * failure prints its counterexample and the seed. VITE_SEED runs a seed again, and VITE_STEPS sets the number of steps:
 * only this prefix reaches a worker. `npm run test:ledger` does both.
 */

import { abortAllDurableObjects } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { RETENTION_DEFAULTS } from '../../src/contract/operator.ts';
import type { SummaryQuery, UsageSummaryData } from '../../src/contract/usage-summary.ts';
import type { Call } from '../../src/domain/call.ts';
import type { MeterEvent } from '../../src/domain/custom-meter.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import type { Env } from '../../src/env.ts';
import { runArchive } from '../../src/history/archive/run.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import type { Caller } from '../../src/metering/caller.ts';
import { readCustomerMargin, readMargin } from '../../src/readings/margin/read-margin.ts';
import { readUsageSummary } from '../../src/readings/usage/usage-summary.ts';
import { textOfDay } from '../support/archive.ts';
import { emptyEverything } from '../support/empty.ts';
import { FakeStripe } from '../support/fake-stripe.ts';
import {
  DAY,
  type Figures,
  HOUR,
  INCLUDED,
  type LedgerCustomer,
  LedgerModel,
  type PlanTerms,
  type Scope,
} from '../support/ledger-model.ts';
import { type Ledger, type LedgerStep, ledgerSteps, SIGHTS, Walk, walked } from '../support/ledger-steps.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { bindings } from '../support/worker.ts';

/** The default is always the same, so that a change is judged by its effect: `npm run test:ledger` takes others. */
const seed = Number(process.env.VITE_SEED ?? 34_417_403);
const STEPS = Number(process.env.VITE_STEPS ?? 5_000);
/** Some cases are rare: so many steps more look for one that the others did not meet. */
const STEPS_MORE = 5_000;
/**
 * The rounds of a history. A short one costs about as much: each begins with an empty service, and ends when everything
 * is settled.
 */
const ROUNDS_MIN = 12;
const ROUNDS_MAX = 40;
/** Histories that are made at once; the progress is told after each batch. */
const BATCH = 2;
const BATCH_STRIDE = 1_000_003;
const SHRINK_MS_MAX = 120_000;
/** A loaded machine is slow. */
const STEP_MS_MAX = 200;

/** Far ahead of any real clock, so that no alarm fires by itself; on a leap day, and not on a full hour. */
const START = Date.UTC(2040, 1, 28, 21, 40);
const GRANTED = 10n ** 15n;
const UNITS = 10n ** 6n;
/** After a failure nothing waits longer than this. */
const BACKOFF_MS = 60_000;
/** Rounds after which Stripe has all that it takes, and its window of deduplication is over. */
const QUIET_ROUNDS = 8;
const QUIET_MS = 4 * HOUR;
/** Whatever has ended, or may still end, is closed then. */
const CLOSED_MS = 12 * DAY;

const { ARCHIVE: _, ...withoutArchive } = bindings;
/** Two share a customer at Stripe, and one has none. */
const CUSTOMERS: readonly Customer[] = [
  { customerId: 'ann', stripe: 'cus_shared' },
  { customerId: 'bob', stripe: 'cus_shared' },
  { customerId: 'cy', stripe: null },
];
type Customer = Pick<LedgerCustomer, 'customerId' | 'stripe'>;

const TERMS: readonly PlanTerms[] = [
  { calls: { standard: 2, premium: 0 }, isPaid: true },
  { calls: { standard: 2, premium: 1 }, isPaid: false },
];
const PLANS = TERMS.map(({ calls, isPaid }, at) => ({
  name: at === 0 ? 'test' : 'other',
  limitType: 'BLOCK',
  replenish: { every: 36, unit: 'HOUR' },
  limits: { standardCalls: calls.standard, premiumCalls: calls.premium },
  payg: { enabled: isPaid, markupPercent: 12.5 },
  customMeters: {
    CUSTOM1: {
      included: INCLUDED.CUSTOM1,
      funding: { payg: true },
      overage: { model: 'SINGLE', priceUsd: '0.001', per: '1' },
    },
    CUSTOM2: { included: INCLUDED.CUSTOM2, funding: { credits: true } },
  },
}));

const round = fc.record({
  customer: fc.constantFrom(...CUSTOMERS),
  isKilled: fc.boolean(),
  steps: ledgerSteps,
  /** Reports are asked for, or so much time passes until the cron runs. */
  afterwards: fc.constantFrom('nothing', 'nothing', 'nothing', 'look', HOUR, 3 * DAY, 3 * DAY, 9 * DAY),
});
const history = fc.record({
  keptDays: fc.record({
    calls: fc.constantFrom(2, 2, 400),
    increments: fc.constantFrom(2, 400),
    usage: fc.constantFrom(7, 30),
  }),
  hasArchive: fc.constantFrom(false, false, true),
  rounds: fc.array(round, { minLength: ROUNDS_MIN, maxLength: ROUNDS_MAX, size: 'max' }),
});
type History = typeof history extends fc.Arbitrary<infer H> ? H : never;
type KeptDays = Record<keyof History['keptDays'], number>;

/** An organization, and its ledger's reports. */
class Books {
  readonly #ledger: Ledger;
  readonly #keptDays: KeptDays;
  readonly #env: Env;
  /** Customers with a charge that Stripe refused: a failed charge earns nothing. */
  readonly #failed = new Set<string>();
  readonly #changed = new Set<Customer>();
  #looks = 0;

  constructor({ keptDays, hasArchive }: History) {
    this.#keptDays = keptDays;
    this.#env = hasArchive ? bindings : (withoutArchive as Env);
    this.#ledger = {
      ...{ organizationId: asOrganizationId(crypto.randomUUID()), plans: PLANS, keptDays, serial: 0, last: new Map() },
      model: new LedgerModel(TERMS, START),
      stripe: new FakeStripe(START),
    };
  }

  get #model(): LedgerModel {
    return this.#ledger.model;
  }

  async open(): Promise<void> {
    const { calls, increments, usage } = this.#keptDays;
    const retention = { callRetentionDays: calls, meterEventRetentionDays: increments, usageRetentionDays: usage };
    await bindings.DB.prepare(
      'INSERT INTO organizations (organization_id, name, retention, created_at_ms) VALUES (?, ?, ?, 0)',
    )
      .bind(this.#ledger.organizationId, 'o', JSON.stringify(retention))
      .run();
    for (const { customerId, stripe } of CUSTOMERS)
      await this.inside({ customerId, stripe }, async (_walk, object) => {
        accepted(object.begin(`first-${customerId}`, START));
        accepted(object.end(`first-${customerId}`, START, { error: { code: 'E', message: 'none' } }));
        accepted(object.reverseCall(`first-${customerId}`, START));
        accepted(object.grant('USD', GRANTED, START));
        accepted(object.grant('CUSTOM2', UNITS, START));
        this.#model.provision(customerId, stripe);
        Object.assign(this.#model.customer(customerId), { granted: GRANTED, units: Number(UNITS) });
      });
  }

  async inside(
    { customerId, stripe }: Customer,
    work: (walk: Walk, object: Clockwork) => Promise<void>,
  ): Promise<void> {
    const { organizationId } = this.#ledger;
    const contact = stripe === null ? {} : { stripeCustomerId: stripe };
    await withObject(
      PLANS[0] as object,
      (object) => work(new Walk(this.#ledger, object, customerId), object),
      contact,
      { organizationId, customerId },
    );
  }

  /** A customer's steps, whose changes D1 does not have yet. */
  async walk(customer: Customer, work: (walk: Walk) => Promise<void>): Promise<void> {
    this.#changed.add(customer);
    await this.inside(customer, work);
  }

  /**
   * Time passes, and the cron runs. The projectors have tried again before it: a row that D1 has written is safe from the
   * retention for an hour, and no projector waits longer.
   */
  async keepHouse(afterMs: number): Promise<void> {
    this.#model.advance(BACKOFF_MS);
    for (const customer of this.#changed) await this.inside(customer, (walk) => walk.deliver());
    this.#changed.clear();
    this.#model.advance(afterMs);
    await runArchive(this.#env, this.#model.nowMs);
    await deleteExpired(this.#env, this.#model.nowMs);
  }

  /** D1 gets everything, and reports are asked for. */
  async look(): Promise<void> {
    this.#looks += 1;
    this.#model.advance(BACKOFF_MS);
    for (const customer of CUSTOMERS)
      await this.inside(customer, async (walk) => {
        walk.wake();
        walk.expectPeriod();
        await walk.deliver();
        if (walk.charges().some(({ failure_reason }) => failure_reason !== null)) this.#failed.add(customer.customerId);
        else this.#failed.delete(customer.customerId);
      });
    vi.useFakeTimers({ toFake: ['Date'], now: this.#model.nowMs });
    try {
      await this.#expectSummaries();
      await this.#expectMargins();
    } finally {
      vi.useRealTimers();
    }
  }

  get #caller(): Caller {
    const { calls, increments, usage } = this.#keptDays;
    const retention = {
      ...RETENTION_DEFAULTS,
      callRetentionDays: calls,
      meterEventRetentionDays: increments,
      usageRetentionDays: usage,
    };
    const organization = { organizationId: this.#ledger.organizationId, retention };
    return { env: this.#env, organization, defer: () => undefined } as unknown as Caller;
  }

  /** The start of the first day whose usage is kept. */
  get #keptSinceMs(): number {
    return Math.floor(this.#model.nowMs / DAY) * DAY - this.#keptDays.usage * DAY;
  }

  async #expectSummaries(): Promise<void> {
    const daysAgo = (days: number) => new Date(this.#model.nowMs - days * DAY).toISOString().slice(0, 10);
    const turns: SummaryQuery[] = [
      { timezone: 'UTC', from: daysAgo(100), customerId: asCustomerId('ann') },
      { timezone: 'Asia/Kathmandu', from: daysAgo(8), customerId: asCustomerId('bob') },
      { timezone: 'Asia/Kathmandu', from: daysAgo(3), feature: 'a' },
    ];
    for (const query of [{ timezone: 'UTC' }, { timezone: 'UTC', from: daysAgo(100) }, this.#turn(turns)])
      this.#expectSummary(query, accepted(await readUsageSummary(this.#caller, query)));
  }

  /** One of them at each look, by turns. */
  #turn<Item>(items: readonly Item[]): Item {
    return items[this.#looks % items.length] as Item;
  }

  #expectSummary(query: SummaryQuery, data: UsageSummaryData): void {
    const [startMs, toMs] = [Date.parse(data.period.startedAt), Date.parse(data.period.endedAt)];
    const fromMs = Math.min(Math.max(startMs, this.#keptSinceMs), toMs);
    const { customerId, feature } = query;
    const scope: Scope = { fromMs, toMs, ...(customerId && { customerId }), ...(feature && { feature }) };
    const by = (keyOf: Parameters<LedgerModel['figures']>[1]) => Object.fromEntries(this.#model.figures(scope, keyOf));
    const said = <Group extends object>(groups: readonly (Group & Figures)[], keyOf: (group: Group) => string) =>
      Object.fromEntries(groups.filter(({ calls }) => calls > 0).map((group) => [keyOf(group), figuresIn(group)]));
    const dayOf = (atMs: number) =>
      data.byDay.find(({ startedAt, endedAt }) => atMs >= Date.parse(startedAt) && atMs < Date.parse(endedAt))?.date;
    expect({
      query,
      completeSince: data.completeSince,
      total: figuresIn(data.totals),
      outcomes: said(data.byOutcome, ({ outcome }) => outcome),
      days: said(data.byDay, ({ date }) => date),
      customers: said(data.byCustomer, (group) => group.customerId),
      features: said(data.byFeature, (group) => String(group.feature)),
      models: said(data.byModel, ({ model }) => String(model)),
    }).toEqual({
      query,
      completeSince: new Date(fromMs).toISOString(),
      total: this.#model.total(scope),
      outcomes: by(({ outcome }) => outcome),
      days: by(({ atMs }) => String(dayOf(atMs))),
      customers: by((entry) => entry.customerId),
      features: by((entry) => entry.feature),
      models: by(({ report }) => (report ? `made/${report.model}` : 'null')),
    });
  }

  /** Over the days whose calls and increments are kept. */
  async #expectMargins(): Promise<void> {
    const days = Math.min(this.#keptDays.usage, this.#keptDays.increments) - 1;
    const query = {
      timezone: 'UTC',
      from: new Date(this.#model.nowMs - days * DAY).toISOString().slice(0, 10),
    };
    for (const customerId of [undefined, this.#turn(CUSTOMERS).customerId]) {
      const data =
        customerId === undefined
          ? accepted(await readMargin(this.#caller, query))
          : accepted(await readCustomerMargin(this.#caller, asCustomerId(customerId), query));
      const [fromMs, toMs] = [Date.parse(data.period.startedAt), Date.parse(data.period.endedAt)];
      const scope = { fromMs, toMs, ...(customerId !== undefined && { customerId }) };
      const isFailed = customerId === undefined ? this.#failed.size > 0 : this.#failed.has(customerId);
      const { calls, costUsdNano } = this.#model.total(scope);
      const chargedUsdNano = isFailed ? data.totals.chargedUsdNano : this.#model.charged(scope).toString();
      expect([customerId, data.completeSince, data.totals]).toEqual([
        customerId,
        data.period.startedAt,
        expect.objectContaining({ calls, costUsdNano, chargedUsdNano }),
      ]);
    }
  }

  /** In the end everything is told, settled and archived. */
  async close(): Promise<void> {
    for (const customer of CUSTOMERS)
      await this.inside(customer, async (walk) => {
        for (let quiet = 0; quiet < QUIET_ROUNDS; quiet += 1) {
          this.#model.advance(QUIET_MS);
          await walk.settle([]);
        }
        // A charge that Stripe has not taken by now is never taken, and is listed.
        for (const [subjectId, charges] of Map.groupBy(walk.charges(), ({ subject_id }) => subject_id)) {
          expect([subjectId, charges.some(({ failure_reason }) => failure_reason !== null)]).toEqual([subjectId, true]);
          for (const { due_at_ms: dueAtMs } of charges) expect([subjectId, dueAtMs]).toEqual([subjectId, NEVER_MS]);
        }
      });
    await this.look();
    await this.keepHouse(CLOSED_MS);
    await this.look();
    if (this.#env.ARCHIVE) await this.#expectArchive();
  }

  /** Every day is closed, and has its calls and increments in the archive as they are now. */
  async #expectArchive(): Promise<void> {
    const { organizationId } = this.#ledger;
    const days = await bindings.DB.prepare('SELECT day_ms, state FROM history_days WHERE organization_id = ?')
      .bind(organizationId)
      .all<{ day_ms: number; state: string }>();
    const found: Record<string, unknown> = {};
    for (const { day_ms: dayMs, state } of days.results) {
      expect([dayMs, state]).toEqual([dayMs, 'ARCHIVED']);
      for (const line of (await textOfDay({ organizationId, dayMs })).split('\n').filter(Boolean)) {
        const { kind, id, record } = JSON.parse(line);
        if (kind === 'call' && !id.startsWith('first-')) found[id] = ofCall(record);
        if (kind === 'meter_event') found[id] = ofEvent(record);
      }
    }
    const calls = [...this.#model.calls.values()]
      .filter(({ status }) => status !== 'NOT_ALLOWED')
      .map((call) => {
        const { status, isReversed, report } = call;
        const cost = report ? this.#model.costOf({ report, isReversed: false }).toString() : null;
        return [call.callId, { status, isReversed, cost }] as const;
      });
    const events = [...this.#model.increments.values()].map(
      (event) => [event.eventId, { amount: event.amount, paid: this.#model.paidFor(event).toString() }] as const,
    );
    for (const [id, record] of Object.entries(found))
      if ((record as { status?: string }).status === 'NOT_ALLOWED') delete found[id];
    expect(found).toEqual(Object.fromEntries([...calls, ...events]));
  }
}

function figuresIn({ calls, inputTokens, outputTokens, costUsdNano }: Figures): Figures {
  return { calls, inputTokens, outputTokens, costUsdNano };
}

function ofCall({ status, reversedAtMs, outcome }: Call) {
  const cost = outcome?.price.status === 'FINAL' ? outcome.price.costNanoUsd : null;
  return { status, isReversed: reversedAtMs !== undefined, cost };
}

function ofEvent({ amount, charge, reversal }: MeterEvent) {
  const paid = BigInt(charge?.amountNanoUsd ?? 0) + BigInt(reversal?.charge?.amountNanoUsd ?? 0);
  return { amount, paid: paid.toString() };
}

async function run(whole: History): Promise<void> {
  await emptyEverything();
  const books = new Books(whole);
  await books.open();
  for (const { customer, isKilled, steps, afterwards } of whole.rounds) {
    if (isKilled) {
      await abortAllDurableObjects();
      walked.kills += 1;
    }
    await books.walk(customer, async (walk) => {
      for (const step of steps) await walk.take(step);
      walk.expectPeriod();
    });
    if (typeof afterwards === 'number') await books.keepHouse(afterwards);
    if (afterwards === 'look') await books.look();
  }
  await books.close();
}

test(`every sum is that of the ledger after ${STEPS} steps, with the seed ${seed}`, {
  timeout: (STEPS + STEPS_MORE) * STEP_MS_MAX + 2 * SHRINK_MS_MAX,
}, async () => {
  const missing = () => SIGHTS.filter((sight) => walked.seen[sight] === undefined);
  const stepsMax = () => (missing().length > 0 ? STEPS + STEPS_MORE : STEPS);
  for (let batch = 0; walked.steps < stepsMax(); batch += 1) {
    await fc.assert(fc.asyncProperty(history, run), {
      seed: seed + batch * BATCH_STRIDE,
      numRuns: BATCH,
      interruptAfterTimeLimit: SHRINK_MS_MAX,
    });
    console.log(`ledger: ${JSON.stringify(walked)}`);
  }
  expect(missing()).toEqual([]);
});

test('a margin is less what the reversal of an increment gave back, also if that one had charged nothing itself', async () => {
  const increment = (amount: 2 | 4): LedgerStep => [0, { do: 'increment', slot: 'CUSTOM1', amount }];
  const [customer] = CUSTOMERS;
  if (!customer) throw new Error('there are customers');
  await run({
    keptDays: { calls: 400, increments: 400, usage: 30 },
    hasArchive: false,
    rounds: [
      {
        customer,
        isKilled: false,
        // Two are included; then all that was paid comes back.
        steps: [increment(2), increment(4), [0, { do: 'reverse an increment', pick: 0 }]],
        afterwards: 'look',
      },
    ],
  });
});
