/**
 * Whether a customer's object and the reference model agree: in their answers, in the tables, and in the rules that
 * always hold. Throws with the difference if they do not.
 */

import { expect } from 'vitest';
import type { MeterSummary } from '../../src/domain/allowances.ts';
import { METER_NAMES, type MeterName } from '../../src/domain/meters.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import type { CreditUnit } from '../../src/domain/wallet.ts';
import { accepted, type Clockwork } from './object.ts';
import { type ModelCall, type ReferenceModel, SLOTS } from './reference-model.ts';

const NANO = 1_000_000_000n;
const CALL_RETENTION_MS = 7 * 86_400_000;
const CORRECTIONS_RETENTION_MS = 401 * 86_400_000;
const UNITS = ['USD', ...SLOTS] as const satisfies readonly CreditUnit[];

/** A ledger entry as D1 got it. */
export interface ArchivedEntry {
  unit: CreditUnit;
  amount: bigint;
}

const usd = (nano: bigint) => {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(10, '0');
  const text = `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '');
  return nano < 0n ? `-${text}` : text;
};
const iso = (atMs: number) => new Date(atMs).toISOString();
const plain = (milli: bigint) => Number(milli) / 1000;

export function summarizeMeters(model: ReferenceModel): Record<MeterName, MeterSummary> {
  const summary = (meter: MeterName): MeterSummary => {
    const used = plain(model.consumed(meter) + model.reserved(meter));
    const [limit, left] = [model.limit(meter), model.left(meter)];
    if (limit === null || left === null)
      return { remaining: Number.MAX_SAFE_INTEGER, limit: null, used, unlimited: true, ratio: null };
    return {
      remaining: plain(left),
      limit: plain(limit),
      used,
      unlimited: false,
      ratio: limit === 0n ? null : plain(left) / plain(limit),
    };
  };
  return Object.fromEntries(METER_NAMES.map((meter) => [meter, summary(meter)])) as Record<MeterName, MeterSummary>;
}

/** Every field of the subscription but its id and the contact. */
export function subscriptionOf(model: ReferenceModel) {
  const { name, limitType, reasoningLevel } = model.terms();
  const pending = model.pending === null ? undefined : model.plans[model.pending];
  return {
    usagePlanVersionId: `${name}:v1`,
    planName: name,
    planVersion: '1',
    limitType,
    reasoningLevel,
    lastReplenishedAt: iso(model.startMs),
    nextReplenishAt: iso(model.endMs),
    subscriptionVersion: model.version,
    ...(model.stripeCustomerId !== null && { stripeCustomerId: model.stripeCustomerId }),
    ...(pending && {
      pending: {
        usagePlanVersionId: `${pending.name}:v1`,
        strategy: 'AT_NEXT_REPLENISH',
        effectiveAt: iso(model.endMs),
      },
    }),
  };
}

export function withoutId<Subscription extends { id: string }>({
  id,
  ...rest
}: Subscription): Omit<Subscription, 'id'> {
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  return rest;
}

/** The object as of now: it provides its names for the charges of lost calls. */
export function catchUp(model: ReferenceModel, object: Clockwork): void {
  object.inspect(model.nowMs);
  model.advance(model.nowMs);
  model.nameCharges((callId) => {
    const { outcome, corrections = [] } = object.seen(callId) ?? {};
    // The same command may have replaced an estimate.
    return (corrections[0]?.previous ?? outcome)?.charge?.chargeId;
  });
}

/** Compares everything there is. To be called after each command, at the model's time. */
export async function expectAgreement(
  model: ReferenceModel,
  object: Clockwork,
  archive: ReadonlyMap<number, ArchivedEntry>,
): Promise<void> {
  catchUp(model, object);
  expectReadingsToAgree(model, object);
  expectLedgerToSum(model, object, archive);
  expectCallsToAgree(model, object);
  expectChargesToAgree(model, object);
  await expectWakeUp(model, object);
}

function expectReadingsToAgree(model: ReferenceModel, object: Clockwork): void {
  const state = accepted(object.inspect(model.nowMs));
  const everything = { standard: true, premium: true, audio: true, image: true, search: true };
  const { allowed, downgraded } = model.decide(everything, () => 0n);
  const { reasoningLevel, ...seen } = state.allowed;
  expect({
    canceled: state.canceled,
    allowed: seen,
    downgrade: state.entitlementHints.downgrade,
    meters: state.meters,
    subscription: withoutId(state.subscription),
    wallet: state.wallet,
    openCalls: state.openCalls,
    credits: state.credits.map(({ creditId, unit, remaining, expiresAt }) => ({
      creditId,
      unit,
      remaining,
      expiresAt,
    })),
  }).toEqual({
    canceled: model.canceled,
    allowed,
    downgrade: downgraded
      ? { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: allowed.standard ? 'standard' : 'none' }
      : undefined,
    meters: summarizeMeters(model),
    subscription: subscriptionOf(model),
    wallet: {
      balanceUsd: usd(model.balance('USD')),
      heldUsd: usd(model.held()),
      unsettledUsd: usd(model.unsettled()),
      availableUsd: usd(model.available()),
      units: Object.fromEntries(SLOTS.map((slot) => [slot, Number(model.balance(slot))])),
      openCharges: [...model.charges.values()].filter(({ failed }) => !failed).length,
    },
    openCalls: model.openCalls().length,
    credits: model.creditsInOrder().map(({ creditId, unit, remaining, expiresAtMs }) => ({
      creditId,
      unit,
      remaining: unit === 'USD' ? usd(remaining) : remaining.toString(),
      expiresAt: expiresAtMs === null ? null : iso(expiresAtMs),
    })),
  });
  expect(reasoningLevel).toBe(model.canceled ? 'NONE' : model.terms().reasoningLevel);
  for (const { remaining, used } of Object.values(state.meters))
    expect(Math.min(remaining, used)).toBeGreaterThanOrEqual(0);
  for (const { remaining } of state.credits) expect(Number(remaining)).toBeGreaterThan(0);
}

/** All entries that were ever made, here or in D1, sum to the balance of each unit; entries that D1 lacks are here. */
function expectLedgerToSum(
  model: ReferenceModel,
  object: Clockwork,
  archive: ReadonlyMap<number, ArchivedEntry>,
): void {
  const rows = object.query<{ id: number; unit: CreditUnit; amount: string }>(
    `SELECT entry_id AS id, unit, record ->> '$.amount' AS amount FROM ledger ORDER BY entry_id`,
  );
  const here = new Set(rows.map(({ id }) => id));
  for (let id = 1; id < (rows.at(-1)?.id ?? 0); id += 1) expect(here.has(id) || archive.has(id)).toBe(true);
  // In bigint, because an overdraft may be too large for an exact sum in SQL.
  const entries = [...[...archive].filter(([id]) => !here.has(id)).map(([, entry]) => entry), ...rows];
  const total = (unit: CreditUnit) =>
    entries.reduce((sum, entry) => (entry.unit === unit ? sum + BigInt(entry.amount) : sum), 0n);
  expect(UNITS.map((unit) => [unit, total(unit)])).toEqual(UNITS.map((unit) => [unit, model.balance(unit)]));
}

/** Lists show the same about the customer as its own readings. */
export function expectListed(model: ReferenceModel, object: Clockwork, customer: ReadonlyMap<string, unknown>): void {
  catchUp(model, object);
  const limited = Object.entries(summarizeMeters(model)).filter(([, { limit }]) => limit !== null && limit > 0);
  const usedShare = ({ used, limit }: MeterSummary) => used / (limit ?? 1);
  const highest = Math.max(...limited.map(([, meter]) => usedShare(meter)));
  const [worst] = limited.filter(([, meter]) => usedShare(meter) === highest);
  const { payg } = model.terms();
  const isUsedUp = (tier: string) =>
    [model.left(`${tier}Calls` as MeterName), model.left(`${tier}Tokens` as MeterName)].some((left) => left === 0n);
  const [newest] = object.query<{ atMs: number }>('SELECT COALESCE(MAX(started_at_ms), 0) AS atMs FROM calls');
  const cost =
    BigInt(customer.get('period_cost_usd') as string) * NANO +
    BigInt(customer.get('period_cost_rest_nano_usd') as string);
  expect({
    plan: customer.get('usage_plan_version_id'),
    endMs: customer.get('next_replenish_at_ms'),
    worst: [customer.get('worst_meter'), customer.get('worst_meter_used'), customer.get('worst_meter_limit')],
    balance: customer.get('balance_nano_usd'),
    cost,
    onCredit: customer.get('on_credit'),
  }).toEqual({
    plan: `${model.terms().name}:v1`,
    endMs: model.endMs,
    worst: [worst?.[0] ?? null, worst?.[1].used ?? null, worst?.[1].limit ?? null],
    balance: model.balance('USD').toString(),
    cost: model.periodCost(),
    onCredit:
      !model.canceled && payg.enabled && model.balance('USD') > 0n && ['standard', 'premium'].some(isUsedUp) ? 1 : 0,
  });
  // A call that the object knows may have been removed since.
  expect(customer.get('last_call_at_ms')).toBeGreaterThanOrEqual(newest?.atMs ?? 0);
}

type CallRow = {
  callId: string;
  status: string;
  finishedAtMs: number | null;
  reserved: string;
  held: string | null;
  heldTokens: number | null;
  exceeded: string | null;
  source: string | null;
  charge: string | null;
};

/** Calls and their charges equal the model's, and their holds sum to the account's. */
function expectCallsToAgree(model: ReferenceModel, object: Clockwork): void {
  const rows = object.query<CallRow>(`SELECT call_id AS callId, IIF(status = 'LISTED', 'IN_PROGRESS', status) AS status,
    COALESCE(ended_at_ms, finished_at_ms) AS finishedAtMs, record ->> '$.reserved' AS reserved,
    record ->> '$.credit.heldNanoUsd' AS held, record ->> '$.credit.steps.heldTokens' AS heldTokens,
    record ->> '$.credit.exceededNanoUsd' AS exceeded, record ->> '$.outcome.usageSource' AS source, record ->> '$.outcome.charge' AS charge FROM calls ORDER BY call_id`);
  const kept = (call: ModelCall) => call.finishedAtMs === null || model.nowMs - call.finishedAtMs < CALL_RETENTION_MS;
  const found = new Set(rows.map(({ callId }) => callId));
  const expected = [...model.calls.values()].filter((call) => kept(call) || found.has(call.callId));
  expect(
    rows.map(({ callId, status, finishedAtMs, held, heldTokens, exceeded, source, charge }) => [
      ...[callId, status, finishedAtMs, settlementOf(charge)],
      ...[held ?? '0', heldTokens, exceeded, source],
    ]),
  ).toEqual(
    expected
      .sort((a, b) => (a.callId < b.callId ? -1 : 1))
      .map(({ callId, status, finishedAtMs, held, steps, exceeded, counted }) => [
        ...[callId, status, finishedAtMs, expectedSettlement(model, callId)],
        ...[held.toString(), steps?.heldTokens ?? null, exceeded?.toString() ?? null],
        counted === null || counted.source === 'reported' ? null : counted.source,
      ]),
  );

  const [account] = object.query<{ reserved: string; held: string; slots: string }>(
    `SELECT value ->> '$.meters.reserved' AS reserved, value ->> '$.wallet.held' AS held, value ->> '$.slots' AS slots FROM account`,
  );
  const reserved = new Map<string, number>();
  for (const row of rows) {
    for (const [meter, amount] of Object.entries(JSON.parse(row.reserved) as Record<string, number>)) {
      reserved.set(meter, (reserved.get(meter) ?? 0) + amount);
    }
  }
  const stored = Object.entries(JSON.parse(account?.reserved ?? '{}') as Record<string, number>);
  expect(Object.fromEntries(stored.filter(([, amount]) => amount !== 0))).toEqual(
    Object.fromEntries([...reserved].filter(([, amount]) => amount !== 0)),
  );
  expect(BigInt(account?.held ?? 0)).toBe(rows.reduce((sum, { held }) => sum + BigInt(held ?? 0), 0n));
  const slots = JSON.parse(account?.slots ?? '{}') as Record<string, { usage: string; overage: string }>;
  for (const slot of SLOTS) {
    const { usage, overage } = model.slots[slot];
    const counted = slots[slot] ?? { usage: '0', overage: '0' };
    expect({ slot, usage: counted.usage, overage: counted.overage }).toEqual({
      slot,
      usage: usage.toString(),
      overage: overage.toString(),
    });
  }
}

function settlementOf(charge: string | null): unknown {
  if (charge === null) return null;
  const { status, amountNanoUsd, failureReason } = JSON.parse(charge) as Record<string, unknown>;
  return { status, amountNanoUsd, failureReason };
}

function expectedSettlement(model: ReferenceModel, subjectId: string): unknown {
  const known = model.settlements.get(subjectId);
  if (!known) return null;
  return { status: known.status, amountNanoUsd: known.amount?.toString() ?? null, failureReason: known.reason };
}

type ChargeRow = { id: string; amount: string; debited: number; attempts: number; dueAtMs: number };

/** The pending charges, and the charges in meter events. */
function expectChargesToAgree(model: ReferenceModel, object: Clockwork): void {
  const rows =
    object.query<ChargeRow>(`SELECT charge_id AS id, amount_nano_usd AS amount, debited_at_ms IS NOT NULL AS debited, attempts,
    due_at_ms AS dueAtMs FROM charges ORDER BY charge_id`);
  expect(rows).toEqual(
    [...model.charges.values()]
      // A charge that is not tried again is kept as long as it can be corrected.
      .filter(({ chargeId, dueAtMs, madeAtMs }) => {
        const isOld = dueAtMs === NEVER_MS && model.nowMs - madeAtMs >= CORRECTIONS_RETENTION_MS;
        return !isOld || rows.some(({ id }) => id === chargeId);
      })
      .map(({ chargeId: id, amount, debited, attempts, dueAtMs }) => ({
        id,
        amount: amount.toString(),
        debited: debited ? 1 : 0,
        attempts,
        dueAtMs,
      }))
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
  );
  const events = object.query<{ id: string; charge: string | null }>(
    `SELECT event_id AS id, record ->> '$.charge' AS charge FROM meter_events ORDER BY event_id`,
  );
  for (const { id, charge } of events) expect([id, settlementOf(charge)]).toEqual([id, expectedSettlement(model, id)]);
  const [account] = object.query<{ unsettled: string }>(
    `SELECT value ->> '$.wallet.unsettled' AS unsettled FROM account`,
  );
  expect(BigInt(account?.unsettled ?? 0)).toBe(
    rows.reduce((sum, { debited, amount }) => (debited === 1 || BigInt(amount) < 0n ? sum : sum + BigInt(amount)), 0n),
  );
}

/** The object wakes no later than the first thing that is due. */
async function expectWakeUp(model: ReferenceModel, object: Clockwork): Promise<void> {
  const due = [
    model.endMs,
    // The part of an expired credit that claims keep ends with them.
    ...model.credits.map(({ expiresAtMs }) => expiresAtMs ?? NEVER_MS).filter((atMs) => atMs > model.nowMs),
    ...model.openCalls().map(({ deadlineAtMs }) => deadlineAtMs),
    ...[...model.charges.values()].map(({ dueAtMs }) => dueAtMs),
  ];
  const nextMs = Math.min(...due);
  if (nextMs === NEVER_MS) return;
  const alarmMs = await object.alarm();
  expect(alarmMs).not.toBeNull();
  expect(alarmMs).toBeLessThanOrEqual(nextMs);
}

/** The shown amount of a call's charge in dollars: the nearest number. */
export function dollars(nano: bigint): number {
  return Number(`${nano / NANO}.${(nano % NANO).toString().padStart(9, '0')}`);
}
