/**
 * Replays a history into a customer's object: each event is a real command at its own time. Each night runs the work of
 * an alarm: housekeeping, settlement, hand-over to a projector.
 */

import type { Catalog } from '../../src/catalog/model.ts';
import { resolvePrice } from '../../src/catalog/prices.ts';
import type { Answer } from '../../src/contract/errors.ts';
import { type BegunCall, type DemoEvent, simulateEvents } from '../../src/demo/events.ts';
import type { DemoCustomer } from '../../src/demo/people.ts';
import type { OrganizationId } from '../../src/domain/ids.ts';
import type { TierModels } from '../../src/domain/model-mappings.ts';
import type { PlanVersion } from '../../src/domain/plan.ts';
import { NO_USAGE } from '../../src/domain/usage.ts';
import type { Env } from '../../src/env.ts';
import { DAY_MS } from '../../src/platform/time.ts';
import * as calls from '../customer/commands/calls.ts';
import type { Context } from '../customer/commands/context.ts';
import { grant } from '../customer/commands/credits.ts';
import { increment } from '../customer/commands/meters.ts';
import { debit } from '../customer/commands/settlement.ts';
import * as subscription from '../customer/commands/subscription.ts';
import { handOver } from '../customer/hand-over.ts';
import type { CustomerStore } from '../customer/store.ts';

const NANO_PER_USD = 1_000_000_000n;
/** Rounds of work per night. One round is enough for the rows and charges of a day. */
const ROUNDS_MAX = 50;

export interface Stage {
  store: CustomerStore;
  objectId: string;
  env: Env;
  deadlineSeconds: Context['deadlineSeconds'];
  organizationId: OrganizationId;
  plans: ReadonlyMap<string, PlanVersion>;
  models: TierModels | null;
  catalog: Catalog;
}

/** Replays the history up to `untilMs`. Returns the number of calls. */
export async function replayHistory(stage: Stage, customer: DemoCustomer, untilMs: number): Promise<number> {
  const events = withEnds(simulateEvents(customer, untilMs), untilMs);
  const first = events[0]?.atMs ?? untilMs;
  provision(stage, customer, first);
  let nightMs = first - (first % DAY_MS) + DAY_MS;
  for (const event of events) {
    // Each round advances a day, so this ends at the day of the event.
    for (; nightMs <= event.atMs; nightMs += DAY_MS) await night(stage, nightMs);
    if (event.kind === 'end') await end(stage, event.call, event.atMs);
    else tell(stage, customer, event);
  }
  await night(stage, untilMs);
  return events.filter(({ kind }) => kind === 'call').length;
}

type Told = DemoEvent | { kind: 'end'; atMs: number; call: BegunCall };

/** Calls end at their own time, between other events; calls that end after `untilMs` stay open. */
function withEnds(events: readonly DemoEvent[], untilMs: number): Told[] {
  const ends = events.flatMap((event) =>
    event.kind === 'call' && !event.forgotten && event.endsAtMs < untilMs
      ? [{ kind: 'end' as const, atMs: event.endsAtMs, call: event }]
      : [],
  );
  return [...events, ...ends].toSorted((one, other) => one.atMs - other.atMs);
}

function at({ store, objectId, deadlineSeconds }: Stage, nowMs: number): Context {
  return { store, objectId, deadlineSeconds, reports: false, nowMs, newId: () => crypto.randomUUID() };
}

function provision(stage: Stage, customer: DemoCustomer, atMs: number): void {
  const { organizationId, models } = stage;
  const answer = subscription.provision(at(stage, atMs), {
    organizationId,
    customerId: customer.customerId,
    defaultPlan: JSON.stringify(stagedPlan(stage, customer.planId)),
    alerts: null,
    contact: contactDetails(customer),
    idempotencyKey: null,
    fingerprint: '',
    ...(models && { models }),
  });
  must(answer);
}

function tell(stage: Stage, customer: DemoCustomer, event: DemoEvent): void {
  const { organizationId } = stage;
  const context = at(stage, event.atMs);
  const unkeyed = { organizationId, idempotencyKey: null, fingerprint: '' };
  switch (event.kind) {
    case 'call':
      begin(stage, customer, event);
      break;
    case 'increment': {
      const { slot, amount, feature } = event;
      must(increment(context, { ...unkeyed, eventId: crypto.randomUUID(), request: { slot, amount, feature } }));
      break;
    }
    case 'credit': {
      const { kind, amount, reference, expiresInDays } = event.credit;
      const exact = kind === 'USD' ? BigInt(amount) * NANO_PER_USD : BigInt(amount);
      const expiresAtMs = expiresInDays === undefined ? null : event.atMs + expiresInDays * DAY_MS;
      must(grant(context, { ...unkeyed, unit: kind, amount: exact.toString(), expiresAtMs, reference }));
      break;
    }
    case 'upgrade':
      must(
        subscription.switchPlan(context, {
          ...unkeyed,
          target: stagedPlan(stage, event.planId),
          isArchived: false,
          strategy: 'IMMEDIATE_PRORATED',
        }),
      );
  }
}

function begin(stage: Stage, customer: DemoCustomer, { atMs, hash, user, feature, model, tag }: BegunCall): void {
  const { organizationId, models } = stage;
  const answer = calls.begin(at(stage, atMs), {
    organizationId,
    customerId: customer.customerId,
    defaultPlan: JSON.stringify(stagedPlan(stage, customer.planId)),
    alerts: null,
    contact: contactDetails(customer),
    key: { source: 'derived', hash },
    fingerprint: hash,
    request: {
      customerUserId: user,
      feature: feature.feature,
      tags: [tag],
      requested: { [model.tier]: true, ...(feature.searchShare > 0 && { search: true }) },
      pricingMode: 'standard',
    },
    ...(models && { models }),
    tierHints: {},
    callType: 'standard',
  });
  must(answer);
}

/** Ends a call as an application would: with the model of the allowed tier, and not at all if the call was denied. */
async function end(stage: Stage, call: BegunCall, atMs: number): Promise<void> {
  const { store, organizationId, catalog, models } = stage;
  const begun = store.derivedCall(call.hash, call.hash).call?.call;
  if (begun?.status !== 'IN_PROGRESS') return;
  const { provider, model } = begun.allowed[call.model.tier] ? call.model : fallback(models);
  const price = await resolvePrice(catalog, new Map(), { modelUsed: model, providerUsed: provider }, atMs);
  const { usage, originalTokens, error } = call;
  const answer = calls.end(at(stage, atMs), {
    organizationId,
    callId: begun.callId,
    idempotencyKey: null,
    fingerprint: call.hash,
    price,
    report: {
      providerUsed: provider,
      modelUsed: model,
      usage: { ...NO_USAGE, ...usage },
      ...(error && { error }),
      ...(originalTokens !== null && {
        promptCompression: {
          provider: 'heuristic',
          originalTokens,
          compressedTokens: usage.inputTokens,
          techniques: ['whitespace', 'filler'],
        },
      }),
    },
  });
  must(answer);
}

/** The first model of the standard tier, on which a downgraded call runs. */
function fallback(models: TierModels | null): { provider: string; model: string } {
  const model = models?.standard[0];
  if (model === undefined) throw new Error('the demo organization has models of the standard tier');
  return { provider: model.split('/')[0] ?? '', model };
}

async function night(stage: Stage, nowMs: number): Promise<void> {
  const { store, objectId, env } = stage;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    subscription.housekeep(at(stage, nowMs));
    debit(store, false, nowMs);
    await handOver({ store, env, objectId, now: () => nowMs, isAlone: true });
    const { failures, lastError } = store.delivery();
    if (failures > 0) throw new Error(`the history does not reach a projector: ${lastError}`);
    if (store.outboxState().pending === 0 && store.countCharges() === 0) return;
  }
  throw new Error('the night does not end');
}

function stagedPlan({ plans }: Stage, planId: string): PlanVersion {
  const plan = plans.get(planId);
  if (!plan) throw new Error(`the demo organization has no plan ${planId}`);
  return plan;
}

function contactDetails({ customerId, name }: DemoCustomer) {
  return { friendlyName: name, email: `billing@${customerId}.example` };
}

function must(answer: Answer<unknown>): void {
  if (!answer.ok) throw new Error(`the history was refused: ${answer.refusal.code} ${answer.refusal.message}`);
}
