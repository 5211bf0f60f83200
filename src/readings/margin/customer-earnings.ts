/**
 * The cost and the earnings of customers in a period of whole hours, from D1. The period does not reach back further
 * than usage is kept, and future time earns nothing. While D1 does not have a new customer yet, the customer's object
 * provides its plan.
 */

import { keptPart, withRetentionDefaults } from '../../config/kept-part.ts';
import { findOrganizationRow } from '../../config/organizations.ts';
import type { Retention } from '../../contract/operator.ts';
import { accruedNanoUsd, pricePerPeriod } from '../../domain/accrual.ts';
import type { CustomerId, CustomerKey, OrganizationId } from '../../domain/ids.ts';
import type { NanoUsd } from '../../domain/money.ts';
import type { Env } from '../../env.ts';
import type { AskedCustomers } from '../../history/asked-customers.ts';
import { type Part, sumCustomerEarnings } from '../../history/earnings.ts';
import { findPlanSpans, findVersionPrices, type PlanSpan, type VersionPrice } from '../../history/plan-time.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import { DAY_MS } from '../../platform/time.ts';
import { computeEarnings, type Earnings, sumEarnings } from './earnings.ts';

export interface Window {
  fromMs: number;
  toMs: number;
}

export interface CustomerEarnings {
  total: Earnings;
  /** Every part of the period, in order. */
  days: (Earnings & { startMs: number })[];
  /** Whether the price of every plan that the customer had in the period is known. */
  isPlanPriced: boolean;
}

/** By UTC day. `null` if the customer does not exist. */
export async function readCustomerEarnings(
  env: Env,
  { organizationId, customerId }: CustomerKey,
  { fromMs, toMs }: Window,
  nowMs: number,
): Promise<CustomerEarnings | null> {
  const days: Part[] = [];
  for (let startMs = fromMs; startMs < toMs; startMs = days.at(-1)?.endMs ?? toMs)
    days.push({ startMs, endMs: Math.min(toMs, (Math.floor(startMs / DAY_MS) + 1) * DAY_MS) });
  return readCustomerDays(env, { organizationId, customerId }, days, nowMs);
}

/** By days without gaps between them. `null` if the customer does not exist. */
export async function readCustomerDays(
  env: Env,
  { organizationId, customerId }: CustomerKey,
  days: readonly Part[],
  nowMs: number,
): Promise<CustomerEarnings | null> {
  const retention = await retentionIn(env, organizationId);
  const kept = days.map((day) => keptDay(day, retention, nowMs));
  const [measured, plans] = await Promise.all([
    sumCustomerEarnings(env, organizationId, [customerId], kept),
    readPlans(env, organizationId, [customerId], kept[0]?.startMs ?? nowMs),
  ]);
  const plan = plans.get(customerId) ?? (await readNewcomerPlans(env, { organizationId, customerId }));
  if (plan === null) return null;
  const earnings = kept.map(({ startMs, endMs }, place) => ({
    startMs: days[place]?.startMs ?? startMs,
    ...computeEarnings(
      measured.get(customerId)?.get(place),
      plan.accrued({ fromMs: startMs, toMs: Math.min(endMs, nowMs) }),
    ),
  }));
  const [fromMs, toMs] = [kept[0]?.startMs ?? nowMs, Math.min(kept.at(-1)?.endMs ?? nowMs, nowMs)];
  return { total: sumEarnings(earnings), days: earnings, isPlanPriced: plan.isPriced({ fromMs, toMs }) };
}

/**
 * Adds whether the price of every plan that the customer had in the period is known, and whether the customer had a
 * plan.
 */
export type PageEarnings = Earnings & Pick<CustomerEarnings, 'isPlanPriced'> & { isSubscribed: boolean };

/** For the customers of a page, or for all. A customer that D1 does not know is left out. */
export async function readCustomersEarnings(
  env: Env,
  organizationId: OrganizationId,
  asked: AskedCustomers,
  window: Window,
  nowMs: number,
): Promise<Map<CustomerId, PageEarnings>> {
  if (asked.length === 0) return new Map();
  const { fromMs: startMs, toMs: endMs } = keptPart(window, await retentionIn(env, organizationId), nowMs);
  const [measured, plans] = await Promise.all([
    sumCustomerEarnings(env, organizationId, asked, [{ startMs, endMs }]),
    readPlans(env, organizationId, asked, startMs),
  ]);
  const untilMs = Math.min(endMs, nowMs);
  return new Map(
    [...plans].map(([customerId, plan]) => {
      const earnings = computeEarnings(
        measured.get(customerId)?.get(0),
        plan.accrued({ fromMs: startMs, toMs: untilMs }),
      );
      const isPlanPriced = plan.isPriced({ fromMs: startMs, toMs: untilMs });
      return [customerId, { ...earnings, isPlanPriced, isSubscribed: plan.isHeld({ fromMs: startMs, toMs: untilMs }) }];
    }),
  );
}

async function retentionIn(env: Env, organizationId: OrganizationId): Promise<Retention> {
  return withRetentionDefaults((await findOrganizationRow(env, organizationId))?.retention ?? null);
}

function keptDay(day: Part, retention: Retention, nowMs: number): Part {
  const { fromMs, toMs } = keptPart({ fromMs: day.startMs, toMs: day.endMs }, retention, nowMs);
  return { startMs: fromMs, endMs: toMs };
}

interface CustomerPlans {
  isHeld(window: Window): boolean;
  accrued(window: Window): NanoUsd;
  isPriced(window: Window): boolean;
}

async function readPlans(
  env: Env,
  organizationId: OrganizationId,
  asked: AskedCustomers,
  fromMs: number,
): Promise<Map<CustomerId, CustomerPlans>> {
  const spans = await findPlanSpans(env, organizationId, asked, fromMs);
  const versions = new Set([...spans.values()].flat().map(({ usagePlanVersionId }) => usagePlanVersionId));
  const prices = await findVersionPrices(env, organizationId, [...versions]);
  return new Map([...spans].map(([customerId, own]) => [customerId, customerPlans(own, prices)]));
}

/**
 * For a customer that D1 does not have yet, as if it always had its present plan. `null` if the customer does not
 * exist.
 */
async function readNewcomerPlans(env: Env, { organizationId, customerId }: CustomerKey): Promise<CustomerPlans | null> {
  const history = await ask(customerByName(env, { organizationId, customerId }), (customer) =>
    customer.readHistory({ organizationId, columns: [], recentColumns: [] }),
  );
  if (!history) return null;
  const { createdAtMs, subscription } = history.account;
  const { plan, canceledAtMs } = subscription;
  const { usagePlanVersionId } = plan;
  const span = { usagePlanVersionId, startMs: createdAtMs, endMs: canceledAtMs ?? Number.POSITIVE_INFINITY };
  return customerPlans([span], await findVersionPrices(env, organizationId, [usagePlanVersionId]));
}

function customerPlans(spans: readonly PlanSpan[], prices: ReadonlyMap<string, VersionPrice>): CustomerPlans {
  const within = ({ fromMs, toMs }: Window) =>
    spans.flatMap(({ usagePlanVersionId, startMs, endMs }) => {
      const [start, end] = [Math.max(startMs, fromMs), Math.min(endMs, toMs)];
      const found = prices.get(usagePlanVersionId);
      return start < end ? [{ start, end, price: found ? pricePerPeriod(found) : null }] : [];
    });
  return {
    isHeld: (window) => within(window).length > 0,
    accrued: (window) =>
      within(window).reduce(
        (sum, { start, end, price }) => sum + (price ? accruedNanoUsd(price, { fromMs: start, toMs: end }) : 0n),
        0n,
      ),
    isPriced: (window) => within(window).every(({ price }) => price !== null),
  };
}
