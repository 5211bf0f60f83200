/**
 * The filters of the list of customers that need more than a customer's row: use of a model that ends, no profit,
 * failing calls. Each becomes a condition of the one query, so that all of them combine.
 */

import { keptPart } from '../../config/kept-part.ts';
import type { ListCustomersQuery } from '../../contract/customers.ts';
import { RADAR_HORIZON_DAYS } from '../../contract/model-radar.ts';
import type { Retention } from '../../contract/operator.ts';
import { asCustomerId, type CustomerId, type OrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';
import type { CustomerFilter } from '../../history/customers.ts';
import { sumUsage } from '../../history/usage.ts';
import { DAY_MS } from '../../platform/time.ts';
import { readCustomersEarnings } from '../margin/customer-earnings.ts';
import type { RadarModel } from '../radar/models.ts';
import { radarView, readModelsOnRadar } from '../radar/read-radar.ts';

/** The organization whose list it is. */
export interface ListScope {
  env: Env;
  organization: { organizationId: OrganizationId; retention: Retention };
  defer: (work: Promise<unknown>) => void;
}

/** The most customers whose margin is looked at: those with the highest cost. */
export const UNPROFITABLE_AMONG_MAX = 200;
/** The most names of models that end: those that end first. */
const ENDING_NAMES_MAX = 50;
/** UTC days, today included. */
const FAILING_DAYS = 7;
export const COST_DAYS = 30;

/** The start of the first of so many UTC days, the last of which is today. */
export function sinceDays(days: number, nowMs: number): number {
  return nowMs - (nowMs % DAY_MS) - (days - 1) * DAY_MS;
}

export const failedSince = (nowMs: number) => sinceDays(FAILING_DAYS, nowMs);

export async function buildCustomerFilter(
  scope: ListScope,
  query: Omit<ListCustomersQuery, 'limit' | 'cursor' | 'sort'>,
  nowMs: number,
): Promise<CustomerFilter> {
  const { failing, endingModel, unprofitable, ...filter } = query;
  const [ending, customerIds] = await Promise.all([
    endingModel === undefined ? null : readEndingNames(scope, nowMs),
    unprofitable === undefined ? null : findUnprofitable(scope, nowMs),
  ]);
  return {
    ...filter,
    ...(failing !== undefined && { failing: { share: failing, sinceMs: failedSince(nowMs) } }),
    ...(ending && {
      uses: { models: [...ending.keys()], sinceMs: sinceDays(COST_DAYS, nowMs), wanted: endingModel === true },
    }),
    ...(customerIds && { among: { customerIds, wanted: unprofitable === true } }),
  };
}

/** The models in use that end or have ended, by the names under which they were used. */
export async function readEndingNames(
  { env, organization, defer }: ListScope,
  nowMs: number,
): Promise<Map<string, RadarModel>> {
  const { view } = await radarView(env, defer, RADAR_HORIZON_DAYS, nowMs);
  const models = await readModelsOnRadar(env, organization, view);
  const names = models
    .filter(({ reasons }) => reasons.includes('ENDING') || reasons.includes('RETIRED'))
    .flatMap((model) => model.names.map((name) => [name, model] as const));
  return new Map(names.slice(0, ENDING_NAMES_MAX));
}

/** If the price of the plan is not known, the margin is not known either. */
async function findUnprofitable(
  { env, organization: { organizationId, retention } }: ListScope,
  nowMs: number,
): Promise<CustomerId[]> {
  const days = { fromMs: sinceDays(COST_DAYS, nowMs), toMs: sinceDays(1, nowMs) + DAY_MS };
  const window = keptPart(days, retention, nowMs);
  const { customer } = await sumUsage(env, organizationId, window, ['customer'], UNPROFITABLE_AMONG_MAX);
  const customerIds = customer.map(({ key }) => asCustomerId(key));
  const earnings = await readCustomersEarnings(env, organizationId, customerIds, window, nowMs);
  return customerIds.filter((customerId) => {
    const own = earnings.get(customerId);
    return own?.isPlanPriced && own.marginNanoUsd < 0n;
  });
}
