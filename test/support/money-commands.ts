/**
 * Commands for a customer's object and the reference model: each one moves the clock, does one thing to both, and
 * compares the answers, then everything.
 */

import fc from 'fast-check';
import { expect } from 'vitest';
import type { Report } from '../../durable-objects/customer/commands/settlement.ts';
import { DAY_TABLES } from '../../durable-objects/customer/tables/keys.ts';
import type { Answer } from '../../src/contract/errors.ts';
import type { ChangeStrategy } from '../../src/domain/account.ts';
import type { MeterEvent } from '../../src/domain/custom-meter.ts';
import type { MeterSlot } from '../../src/domain/meters.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import type { CreditUnit } from '../../src/domain/wallet.ts';
import { catchUp, expectListed, subscriptionOf, summarizeMeters, withoutId } from './money-agreement.ts';
import { begin, end, extend, takeBack } from './money-call-commands.ts';
import {
  command,
  DAY,
  follow,
  forTwoDays,
  HOUR,
  type MoneyCommand,
  note,
  SECOND,
  type System,
  write,
} from './money-steps.ts';
import { accepted, type Clockwork } from './object.ts';
import { type ModelCharge, type ReferenceModel, SLOTS } from './reference-model.ts';
import { usdToNano } from './reference-prices.ts';

/** Charges that one round reports. */
const REPORTS_MAX = 20;
const NANO = 1_000_000_000n;
const REPORT_WINDOW_MS = 23 * HOUR;

const increments = fc.record({
  slot: fc.constantFrom<MeterSlot>(...SLOTS),
  // One that a balance can hardly pay, now and then.
  amount: fc.oneof(
    { weight: 30, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(1_000, 1_000_000) },
  ),
});

type MeterData = Extract<ReturnType<Clockwork['increment']>, { ok: true }>['data'];

const increment = command('increment', increments, (model, system, { slot, amount }) => {
  system.serial += 1;
  const key = `increment-${system.serial}`;
  const send = (units: number) => (atMs: number) => system.object.increment(units, atMs, { slot, key });
  const answer = write<MeterData>(
    system,
    key,
    { repeat: send(amount), alter: send(amount + 1), isKept: forTwoDays(model.nowMs) },
    model.nowMs,
  );
  if (!model.enabled(slot)) {
    expect(answer).toMatchObject({
      ok: false,
      refusal: { code: model.canceled ? 'SUBSCRIPTION_NOT_FOUND' : 'METER_NOT_ENABLED' },
    });
    return;
  }
  const { eventId, blocked, meter } = accepted(answer);
  const before = model.slots[slot].usage;
  const { funding, parts, settlement } = model.increment(slot, BigInt(amount), eventId);
  note('increment blocked', funding.unfunded > 0n);
  note('increment on credits', funding.credits > 0n);
  note('overage', funding.overage > 0n);
  note('overage across tiers', parts.length > 1);
  const terms = model.terms().customMeters[slot];
  const summary =
    summarizeMeters(model)[
      { CUSTOM1: 'customMeter1', CUSTOM2: 'customMeter2', AGENTIC_API: 'agenticApi' }[slot] as 'agenticApi'
    ];
  const [row] = system.object.query<{ record: string }>(
    `SELECT record FROM meter_events WHERE event_id = '${eventId}'`,
  );
  const event = JSON.parse(row?.record ?? 'null') as MeterEvent;
  expect({ blocked, meter, funding: Object.values(event.funding).map(BigInt) }).toEqual({
    blocked: funding.unfunded > 0n,
    meter: {
      ...summary,
      used: summary.unlimited ? 0 : summary.used,
      label: terms?.label,
      periodUsageBefore: before.toString(),
      periodUsageAfter: (before + BigInt(amount)).toString(),
      overagePricingModel: terms?.overage?.model ?? 'SINGLE',
      overagePricingComponents: parts.map(({ tierIndex, upTo, units, rate, per }) => ({
        tierIndex,
        upTo,
        unitsExact: units.toString(),
        priceNanoUsd: rate.toString(),
        priceQuantity: per,
      })),
    },
    funding: [funding.included, funding.credits, funding.overage, funding.unfunded],
  });
  follow(model, eventId, settlement, event.charge?.chargeId, model.stripeCustomerId);
});

const changes = fc.record({
  plan: fc.nat(),
  strategy: fc.constantFrom<ChangeStrategy>('IMMEDIATE_RESET', 'IMMEDIATE_PRORATED', 'AT_NEXT_REPLENISH'),
});

const changePlan = command('change plan', changes, (model, system, { plan: pick, strategy }) => {
  system.serial += 1;
  const key = `change-${system.serial}`;
  const target = pick % model.plans.length;
  const other: ChangeStrategy = strategy === 'IMMEDIATE_RESET' ? 'AT_NEXT_REPLENISH' : 'IMMEDIATE_RESET';
  const send = (how: ChangeStrategy) => (atMs: number) =>
    system.object.changePlan(model.plans[target] as object, how, atMs, { key });
  const kept = { repeat: send(strategy), alter: send(other), isKept: forTwoDays(model.nowMs) };
  expectSubscription(model, write(system, key, kept, model.nowMs), () => model.changePlan(target, strategy));
});

const replenish = command('replenish', fc.constant(null), (model, system) => {
  system.serial += 1;
  const key = `replenish-${system.serial}`;
  const repeat = (atMs: number) => system.object.replenish(atMs, { key });
  const kept = { repeat, alter: null, isKept: forTwoDays(model.nowMs) };
  expectSubscription(model, write(system, key, kept, model.nowMs), () => model.replenish());
});

type SubscriptionData = Extract<ReturnType<Clockwork['replenish']>, { ok: true }>['data'];

function expectSubscription(model: ReferenceModel, answer: Answer<SubscriptionData>, change: () => void): void {
  if (model.canceled) {
    expect(answer).toMatchObject({ ok: false, refusal: { code: 'SUBSCRIPTION_NOT_FOUND' } });
    return;
  }
  change();
  expect(withoutId(accepted(answer).subscription)).toEqual(subscriptionOf(model));
}

const grants = fc.record({
  unit: fc.constantFrom<CreditUnit>('USD', 'USD', 'USD', 'USD', 'USD', 'USD', ...SLOTS),
  usd: fc.constantFrom(
    ...[1n, 7_000_000n, 12_000_000n, 30_000_000n, 30_000_000n, 90_000_000n, 90_000_000n],
    ...[1_000_000_001n, 25_000_000_000n, 10_000_000_000_000_000n],
  ),
  units: fc.bigInt({ min: 1n, max: 30n }),
  expiresInMs: fc.constantFrom(null, null, null, null, 1, 30 * SECOND, HOUR, 30 * HOUR, 40 * DAY),
});

type GrantData = Extract<ReturnType<Clockwork['grant']>, { ok: true }>['data'];

const grant = command('grant', grants, (model, system, { unit, usd, units, expiresInMs }) => {
  system.serial += 1;
  const key = `grant-${system.serial}`;
  const amount = unit === 'USD' ? usd : units;
  const expiresAtMs = expiresInMs === null ? null : model.nowMs + expiresInMs;
  const send = (granted: bigint) => (atMs: number) => system.object.grant(unit, granted, atMs, { expiresAtMs, key });
  const kept = { repeat: send(amount), alter: send(amount + 1n), isKept: forTwoDays(model.nowMs) };
  const { creditId } = accepted(write<GrantData>(system, key, kept, model.nowMs));
  model.grant({ creditId, unit, remaining: amount, grantedAtMs: model.nowMs, expiresAtMs });
});

/** The part of a credit that calls hold, and charges will take, stays as long as they do. */
const revoke = command('revoke', fc.nat(), (model, { object }, pick) => {
  const credit = model.credits[pick % Math.max(1, model.credits.length)];
  if (!credit) return;
  const { creditId } = credit;
  const before = model.granted.get(creditId)?.revoked;
  const left = before ?? model.revoke(creditId);
  const answer = object.revoke(creditId, model.nowMs);
  // A second revocation gets the answer of the first.
  if (before !== undefined) expect(answer).toMatchObject({ replayed: true });
  note(left === null ? 'credit that is claimed not revoked' : 'credit revoked');
  if (left === null) expect(answer).toMatchObject({ ok: false, refusal: { code: 'CONFLICT' } });
  else expect(usdToNano(accepted(answer).revoked) / (credit.unit === 'USD' ? 1n : NANO)).toBe(left);
});

const setCanceled = command(
  'cancel or reactivate',
  fc.constantFrom(false, false, false, false, false, false, false, false, true),
  (model, system, canceled) => {
    accepted(system.object.setCanceled(canceled, model.nowMs));
    model.setCanceled(canceled);
  },
);

const reports: fc.Arbitrary<Report> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ status: 'REPORTED' as const }) },
  { weight: 2, arbitrary: fc.constant({ status: 'REJECTED' as const, reason: 'CUSTOMER_UNKNOWN' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      status: fc.constant('RETRY' as const),
      reason: fc.constant('UNAVAILABLE'),
      retryAfterMs: fc.constantFrom(null, 1, 10 * SECOND, 24 * HOUR),
    }),
  },
);

const OF_REPORT = {
  REPORTED: 'charge reported',
  REJECTED: 'charge rejected',
  RETRY: 'charge to be reported again',
} as const;

/** The credits to which a charge returned an amount: the object chooses, within bounds. */
function returnsIn(object: Clockwork) {
  return (chargeId: string) =>
    object
      .query<{ creditId: string | null; amount: string }>(
        `SELECT record ->> '$.creditId' AS creditId, record ->> '$.amount' AS amount FROM ledger
         WHERE record ->> '$.cause' = 'RETURN' AND record ->> '$.reference' = '${chargeId}'`,
      )
      .map(({ creditId, amount }) => ({ creditId, amount: BigInt(amount) }));
}

/** Without answers there is nobody to report to. */
const settle = command(
  'settle',
  fc.option(fc.array(reports, { minLength: 1, maxLength: 4 }), { nil: null }),
  async (model, system, answers) => {
    // As the alarm does it: calls past their deadline first.
    catchUp(model, system.object);
    const told = model.chargesToSettle().filter(({ stripeCustomerId }) => stripeCustomerId !== null);
    const asked: { chargeId: string; report: Report }[] = [];
    const reporter = answers
      ? async ({ chargeId, debitedAtMs }: { chargeId: string; debitedAtMs: number | null }) => {
          expect(debitedAtMs).not.toBeNull();
          const report = answers[asked.length % answers.length] as Report;
          asked.push({ chargeId, report });
          return report;
        }
      : null;
    await system.object.settle(model.nowMs, reporter);
    model.debit(answers !== null, returnsIn(system.object));
    if (!answers) return;
    // After a charge that cannot be reported, the next one is not tried, and none is tried twice.
    expect(new Set(asked.map(({ chargeId }) => chargeId)).size).toBe(asked.length);
    expect(asked.slice(0, -1).some(({ report }) => report.status === 'RETRY')).toBe(false);
    const isTooLate = ({ mayBeThere, firstAttemptAtMs }: ModelCharge) =>
      mayBeThere && firstAttemptAtMs !== null && model.nowMs - firstAttemptAtMs >= REPORT_WINDOW_MS;
    const late = told.filter(isTooLate);
    if (asked.at(-1)?.report.status !== 'RETRY' && told.length <= REPORTS_MAX)
      expect(asked).toHaveLength(told.length - late.length);
    // Nobody is asked about these any more; whether one was come to, the object says.
    for (const charge of late) {
      const [row] = system.object.query<{ dueAtMs: number }>(
        `SELECT due_at_ms AS dueAtMs FROM charges WHERE charge_id = '${charge.chargeId}'`,
      );
      if (row?.dueAtMs === NEVER_MS) model.refuse(charge, 'STRIPE_outcome_unknown', NEVER_MS);
    }
    for (const { chargeId, report } of asked) {
      const charge = told.find((candidate) => candidate.chargeId === chargeId);
      if (!charge) throw new Error(`${chargeId} was reported and is not due`);
      charge.attempts += 1;
      charge.firstAttemptAtMs ??= model.nowMs;
      const mostMs = report.status === 'REJECTED' ? HOUR : 300 * SECOND;
      const backoffMs = Math.min(mostMs, 2 * SECOND * 2 ** (charge.attempts - 1));
      const dueAtMs = model.nowMs + Math.max(backoffMs, report.status === 'RETRY' ? (report.retryAfterMs ?? 0) : 0);
      charge.dueAtMs = model.nowMs - charge.firstAttemptAtMs >= REPORT_WINDOW_MS ? NEVER_MS : dueAtMs;
      charge.mayBeThere = report.status === 'RETRY';
      note(OF_REPORT[report.status]);
      if (report.status === 'REPORTED') model.conclude(charge, null);
      else if (report.status === 'REJECTED') model.refuse(charge, report.reason, charge.dueAtMs);
      else if (charge.dueAtMs === NEVER_MS) model.refuse(charge, 'STRIPE_outcome_unknown', NEVER_MS);
    }
  },
);

const replays = fc.record({ pick: fc.nat(), altered: fc.constantFrom(false, false, true) });

/** A retry gets the stored answer; another payload under the same key is refused. Neither changes anything. */
const replay = command('replay', replays, (model, system, { pick, altered }) => {
  const kept = [...system.writes.values()].filter(({ isKept }) => isKept(model));
  const earlier = kept[pick % Math.max(1, kept.length)];
  if (!earlier) return;
  note(altered && earlier.alter ? 'replay with another payload' : 'replay');
  // Work that is due by time alone is done first.
  system.object.inspect(model.nowMs);
  const writesBefore = countRows(system.object);
  if (altered && earlier.alter) {
    const refused = earlier.alter(model.nowMs);
    expect(refused).toMatchObject({ ok: false });
    expect(['IDEMPOTENCY_KEY_CONFLICT', 'CALL_ALREADY_FINALIZED']).toContain(refused.ok || refused.refusal.code);
  } else {
    const { text: _text, ...answer } = { text: undefined, ...earlier.answer };
    expect(earlier.repeat(model.nowMs)).toEqual(JSON.parse(JSON.stringify({ ...answer, replayed: true })));
  }
  expect(countRows(system.object)).toEqual(writesBefore);
});

function countRows({ rows }: Clockwork): number[] {
  // Not the ledger: a retry may be the first to notice that a credit expired.
  return ['calls', 'meter_events', 'charges', ...DAY_TABLES].map((table) => rows(table));
}

const housekeep = command('housekeep', fc.constant(null), (model, { object, archive }) => {
  object.housekeep(model.nowMs);
  note('entry in D1 alone', archive.size > object.rows('ledger'));
});
const restart = command('restart', fc.constant(null), (_, { object }) => object.restart());

/** A D1 that stores the ledger entries that it gets, and the newest revision of the customer's row. */
async function deliverTo({ archive, customer, object }: System, nowMs: number): Promise<void> {
  const takeCustomer = (columns: string[], rows: string) => {
    for (const [, ...values] of JSON.parse(rows) as unknown[][]) {
      const row = new Map(columns.map((name, index) => [name, values[index]]));
      if (Number(row.get('revision')) <= Number(customer.get('revision') ?? 0)) continue;
      for (const [name, value] of row) customer.set(name, value);
    }
  };
  const take = (columns: string[], entries: string) => {
    for (const row of JSON.parse(entries) as unknown[][]) {
      // The first value is the subscription.
      const value = (name: string) => row[columns.indexOf(name) + 1];
      archive.set(value('entry_id') as number, {
        unit: value('unit') as CreditUnit,
        amount: BigInt(value('amount') as string),
      });
    }
  };
  const prepare = (sql: string) => {
    const [, table = '', names = ''] = /INTO (credit_entries|customers) \(([^)]*)\)/.exec(sql) ?? [];
    const columns = names.split(', ');
    const commit = (rows: string) => {
      if (table === 'credit_entries') take(columns, rows);
      if (table === 'customers') takeCustomer(columns, rows);
    };
    return { commit: () => null, bind: (rows: string) => ({ commit: () => commit(rows) }) };
  };
  const batch = async (statements: { commit: () => void }[]) => {
    for (const statement of statements) statement.commit();
    return [];
  };
  await object.deliver({ prepare, batch } as unknown as D1Database, nowMs);
}

const deliver = command('deliver', fc.constant(null), (model, system) => deliverTo(system, model.nowMs));

/**
 * All work of an alarm. Afterwards nothing is due any more: the next alarm is for the future, and lists show the
 * present state of the customer.
 */
const wake = command('wake', fc.constant(null), async (model, system) => {
  const { object } = system;
  object.wake(model.nowMs);
  model.lostWithoutStripe();
  model.debit(false, returnsIn(object));
  await deliverTo(system, model.nowMs);
  expectListed(model, object, system.customer);
  const alarmMs = await object.alarm();
  expect(alarmMs === null || alarmMs > model.nowMs).toBe(true);
});

const look = command('look', fc.constant(null), () => {});

/** How often each command is chosen. */
const WEIGHTS: readonly [number, fc.Arbitrary<MoneyCommand>][] = [
  [18, begin],
  [11, end],
  [12, extend],
  [1, revoke],
  [8, increment],
  [10, grant],
  [5, changePlan],
  [2, replenish],
  [5, settle],
  [7, replay],
  [1, takeBack],
  [2, housekeep],
  [2, restart],
  [1, deliver],
  [4, wake],
  [2, setCanceled],
  [1, look],
];

export function moneyCommands(commandsMax: number): fc.Arbitrary<Iterable<MoneyCommand>> {
  const choices = fc.oneof(...WEIGHTS.map(([weight, arbitrary]) => ({ weight, arbitrary })));
  return fc.commands([choices], { maxCommands: commandsMax, size: 'max' });
}
