/**
 * The cost and the earnings of an organization's usage in a period of whole hours: in total, by feature, by model, by
 * plan.
 *
 * For features and models, cost and charges are exact; the earnings of plans are shared equally over the completed
 * calls, because a plan pays for all of them. For a plan, the figures are those of its customers while they had it, to
 * the hour.
 */

import { accruedOfMonths, pricePerPeriod } from '../../domain/accrual.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { type NanoUsd, share } from '../../domain/money.ts';
import { planIdOf } from '../../domain/plan.ts';
import type { Env } from '../../env.ts';
import {
  type EarningsGroup,
  type Grouping,
  type OrganizationEarnings,
  readOrganizationEarnings,
} from '../../history/organization-earnings.ts';
import { findVersionPrices, type VersionPrice } from '../../history/plan-time.ts';
import type { Window } from './customer-earnings.ts';
import { computeEarnings, type Earnings, sumEarnings } from './earnings.ts';

/** The margin of a feature or a model; the key is empty if calls had none. */
interface GroupMargin extends Earnings {
  key: string;
}

interface PlanMargin extends Earnings {
  planId: string;
  /** The name in the newest version among its customers. */
  name: string;
  /** Customers who had a subscription in the period, and the number of them whose version has no accruing price. */
  customers: number;
  customersWithoutPrice: number;
}

export interface OrganizationMargin {
  total: Earnings;
  /** Highest cost first; empty if they were not asked for. */
  features: GroupMargin[];
  models: GroupMargin[];
  /** Highest cost first; `null` if the organization has too many customers, or plans were not asked for. */
  plans: PlanMargin[] | null;
  /** Lists with more groups than were asked for. */
  truncated: ('feature' | 'model')[];
  customers: number;
  customersWithoutPrice: number;
}

/** In total, and by the requested groupings. The window must be one whose usage is kept. */
export async function readOrganizationMargin(
  env: Env,
  organizationId: OrganizationId,
  window: Window,
  { by, groupsMax, nowMs }: { by: readonly Grouping[]; groupsMax: number; nowMs: number },
): Promise<OrganizationMargin> {
  const read = await readOrganizationEarnings(env, organizationId, window, {
    by,
    groupsMax: groupsMax + 1,
    untilMs: nowMs,
  });
  const versionIds = new Set([
    ...read.subscribers.keys(),
    ...read.planMonths.map(({ usagePlanVersionId }) => usagePlanVersionId),
    ...(read.versions ?? []).map(({ key }) => key),
  ]);
  const prices = await findVersionPrices(env, organizationId, [...versionIds]);
  const versions = [...versionIds].map((id) => buildVersion(id, read, prices));
  const sum = (of: (version: Version) => number) => versions.reduce((all, version) => all + of(version), 0);
  const planNanoUsd = versions.reduce((all, version) => all + version.planNanoUsd, 0n);
  const shared = (groups: readonly EarningsGroup[]) =>
    shareOutPlans(groups.slice(0, groupsMax), read.total, planNanoUsd);
  return {
    total: computeEarnings(read.total, planNanoUsd),
    features: shared(read.features),
    models: shared(read.models),
    plans: read.versions && planMargins(versions),
    truncated: (['feature', 'model'] as const).filter((name) => read[`${name}s`].length > groupsMax),
    customers: sum(({ customers }) => customers),
    customersWithoutPrice: sum((version) => (version.isPriced ? 0 : version.customers)),
  };
}

/** Each call has the same share; unlisted groups have the rest. */
function shareOutPlans(groups: readonly EarningsGroup[], total: EarningsGroup, planNanoUsd: NanoUsd): GroupMargin[] {
  const listed = groups.map(({ completedCalls }) => BigInt(completedCalls));
  const others = listed.reduce((rest, calls) => rest - calls, BigInt(total.completedCalls));
  const parts = total.completedCalls === 0 ? [] : share(planNanoUsd, [...listed, others]);
  return groups.map((group, place) => ({ key: group.key, ...computeEarnings(group, parts[place] ?? 0n) }));
}

interface Version {
  id: string;
  name: string;
  isPriced: boolean;
  customers: number;
  planNanoUsd: NanoUsd;
  earnings: Earnings;
}

function buildVersion(id: string, read: OrganizationEarnings, prices: ReadonlyMap<string, VersionPrice>): Version {
  const found = prices.get(id);
  const price = found ? pricePerPeriod(found) : null;
  // Changes that are only partly known could leave a negative amount.
  const months = read.planMonths.filter(
    ({ usagePlanVersionId, subscribedMs }) => usagePlanVersionId === id && subscribedMs > 0n,
  );
  const planNanoUsd = price ? accruedOfMonths(price, months) : 0n;
  const measured = read.versions?.find(({ key }) => key === id);
  return {
    id,
    name: found?.name ?? planIdOf(id),
    isPriced: price !== null,
    customers: read.subscribers.get(id) ?? 0,
    planNanoUsd,
    earnings: computeEarnings(measured, planNanoUsd),
  };
}

function planMargins(versions: readonly Version[]): PlanMargin[] {
  const byPlan = Map.groupBy(versions, ({ id }) => planIdOf(id));
  const plans = [...byPlan].map(([planId, own]) => ({
    planId,
    name: own.toSorted((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1)).at(-1)?.name ?? planId,
    customers: own.reduce((all, { customers }) => all + customers, 0),
    customersWithoutPrice: own.reduce((all, { customers, isPriced }) => all + (isPriced ? 0 : customers), 0),
    ...sumEarnings(own.map(({ earnings }) => earnings)),
  }));
  return plans.sort(
    (a, b) =>
      Number(b.costNanoUsd - a.costNanoUsd) ||
      Number(b.revenueNanoUsd - a.revenueNanoUsd) ||
      (a.planId < b.planId ? -1 : 1),
  );
}
