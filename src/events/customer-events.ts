/**
 * The events about a change of a customer's account, for its organization. Pure: an event follows from the account
 * before the change and after it.
 */

import type { CustomerEvent } from '../contract/event-data.ts';
import { type Account, owedBalance, periodNumber } from '../domain/account.ts';
import { balanceFall, crossings, lowBalance } from '../domain/alerts.ts';
import type { Call, CallOutcome } from '../domain/call.ts';
import { lacksPrice } from '../domain/correct-call.ts';
import type { RecordedDenial } from '../domain/denial.ts';
import type { CallId } from '../domain/ids.ts';
import { meterLabel } from '../domain/meter-names.ts';
import { formatUsd } from '../domain/money.ts';
import { NEVER_MS } from '../domain/period.ts';
import { DAY_MS } from '../platform/time.ts';

/** The most reports about calls without a price on a day, each for a model and a reason. More are not reported. */
const UNPRICED_TOLD_MAX = 20;

/** What the change of an account tells, in the order in which it happened. `null` before: the customer is new. */
export function deriveEvents(before: Account | null, after: Account): CustomerEvent[] {
  if (before === after) return [];
  return [...subscriptionEvents(before, after), ...meterEvents(before, after), ...balanceEvents(before, after)];
}

function subscriptionEvents(before: Account | null, after: Account): CustomerEvent[] {
  const { customerId, subscription } = after;
  const { planId, usagePlanVersionId } = subscription.plan;
  if (before === null) return [{ type: 'customer.created', data: { customerId, planId, usagePlanVersionId } }];
  if (before.subscription === subscription) return [];
  const events: CustomerEvent[] = [];
  const previous = before.subscription.plan;
  if (previous.usagePlanVersionId !== usagePlanVersionId)
    events.push({
      type: 'customer.plan_changed',
      data: {
        customerId,
        planId,
        usagePlanVersionId,
        previousPlanId: previous.planId,
        previousUsagePlanVersionId: previous.usagePlanVersionId,
      },
    });
  if (periodNumber(before) !== periodNumber(after))
    events.push({
      type: 'customer.replenished',
      data: {
        customerId,
        planId,
        periodStartedAt: new Date(subscription.lastReplenishedAtMs).toISOString(),
        periodEndsAt: periodEndsAt(after),
      },
    });
  return events;
}

function meterEvents(before: Account | null, after: Account): CustomerEvent[] {
  const { customerId, subscription, meters } = after;
  const { plan } = subscription.plan;
  const was = before
    ? { plan: before.subscription.plan.plan, defaults: before.alerts, consumed: before.meters.consumed }
    : { plan, defaults: after.alerts, consumed: {} };
  return crossings(was, { plan, defaults: after.alerts, consumed: meters.consumed }).map(
    ({ meter, threshold, crossed, used, limit }) => {
      const label = meterLabel(plan, meter);
      const named = { meter, ...(label !== null && { meterLabel: label }) };
      const data = { customerId, ...named, threshold, used, periodEndsAt: periodEndsAt(after) };
      return crossed !== null && limit !== null
        ? { type: 'meter.threshold_reached', data: { ...data, crossed, limit } }
        : { type: 'meter.recovered', data: { ...data, limit } };
    },
  );
}

function balanceEvents(before: Account | null, after: Account): CustomerEvent[] {
  if (before === null || before.wallet === after.wallet) return [];
  const { customerId, subscription } = after;
  const { plan } = subscription.plan;
  if (!plan.payg.enabled) return [];
  const [was, balance] = [owedBalance(before), owedBalance(after)];
  const below = lowBalance(plan, after.alerts);
  const fall = balanceFall({ below, before: was, after: balance });
  const data = { customerId, balanceUsd: formatUsd(balance) };
  const events: CustomerEvent[] = [];
  if (fall === 'exhausted') events.push({ type: 'balance.exhausted', data });
  if (fall === 'low') events.push({ type: 'balance.low', data: { ...data, belowUsd: formatUsd(below ?? 0n) } });
  if (was >= 0n && balance < 0n) events.push({ type: 'balance.overdrawn', data });
  return events;
}

/**
 * The first denial of a meter in a period, with the account that remembers it. A denial for which no meter is the reason is
 * the first of its code. `null` if there was one before.
 */
export function firstDenial(
  account: Account,
  { code, meter, also }: RecordedDenial,
  { callId, feature }: { callId: CallId; feature?: string | undefined },
): { account: Account; event: CustomerEvent } | null {
  const { customerId, denied = [] } = account;
  const reason = meter ?? code;
  if (denied.includes(reason)) return null;
  const others = also && {
    also: also.map(({ resetsAtMs, ...limit }) => ({
      ...limit,
      resetsAt: resetsAtMs === null ? null : new Date(resetsAtMs).toISOString(),
    })),
  };
  const data = { customerId, callId, code, meter: meter ?? null, ...others, feature: feature ?? null };
  return {
    account: { ...account, denied: [...denied, reason] },
    event: { type: 'call.denied', data: { ...data, periodEndsAt: periodEndsAt(account) } },
  };
}

/**
 * The first call of a model, reason and day that ended without a price, with the account that remembers it. `null` if
 * there was one before, if more than the price is missing, or if no model ran or was reported.
 */
export function firstUnpriced(
  account: Account,
  { callId, feature, credit }: Pick<Call, 'callId' | 'feature' | 'credit'>,
  outcome: CallOutcome,
  nowMs: number,
): { account: Account; event: CustomerEvent } | null {
  const { price, modelUsed, providerUsed, calls } = outcome;
  if (price.status === 'FINAL' || modelUsed === null || calls === 0 || !lacksPrice(outcome)) return null;
  const day = Math.floor(nowMs / DAY_MS);
  const { told = [] } = account.unpriced?.day === day ? account.unpriced : {};
  const { reason } = price;
  const what = `${modelUsed} ${reason}`;
  if (told.includes(what) || told.length >= UNPRICED_TOLD_MAX) return null;
  const atStakeUsd = formatUsd(BigInt(credit?.heldAtEndNanoUsd ?? 0));
  const data = { customerId: account.customerId, callId, modelUsed, providerUsed, reason, atStakeUsd };
  return {
    account: { ...account, unpriced: { day, told: [...told, what] } },
    event: { type: 'call.unpriced', data: { ...data, feature: feature ?? null } },
  };
}

function periodEndsAt({ subscription: { nextReplenishAtMs } }: Account): string | null {
  return nextReplenishAtMs >= NEVER_MS ? null : new Date(nextReplenishAtMs).toISOString();
}
