/**
 * Use cases: the margin of an organization, and of one of its customers, over the requested days.
 */

import { chargesKeptSinceMs, keptPart } from '../../config/kept-part.ts';
import { accept, badRequest, refuse } from '../../contract/errors.ts';
import type { CustomerMarginData, MarginData, MarginFigures, MarginQuery } from '../../contract/margin.ts';
import type { AnswerTo } from '../../contract/operations.ts';
import type { Retention } from '../../contract/operator.ts';
import { GROUPS_MAX } from '../../contract/usage-summary.ts';
import type { CustomerId } from '../../domain/ids.ts';
import { type NanoUsd, usdFromNano } from '../../domain/money.ts';
import { GROUPINGS, type Grouping } from '../../history/organization-earnings.ts';
import type { Reader } from '../../metering/caller.ts';
import type { LocalDay } from '../calendar.ts';
import { askedDays } from '../usage/asked-days.ts';
import { readCustomerDays, type Window } from './customer-earnings.ts';
import { type Earnings, marginPercent } from './earnings.ts';
import { readOrganizationMargin } from './organization-margin.ts';

/** Lists of groupings that are not asked for are empty, and plans are `null`. */
export async function readMargin(
  { env, organization }: Reader,
  query: MarginQuery,
  by: readonly Grouping[] = GROUPINGS,
): Promise<AnswerTo<'readOrganizationMargin'>> {
  const nowMs = Date.now();
  const days = askedDays(query, nowMs);
  if ('path' in days) return badRequest(days);
  const { organizationId, retention } = organization;
  const asked = daysPeriod(days, nowMs);
  const read = await readOrganizationMargin(env, organizationId, keptPart(asked, retention, nowMs), {
    by,
    groupsMax: GROUPS_MAX,
    nowMs,
  });
  const { total, plans, features, models, truncated, customers, customersWithoutPrice } = read;
  const data: MarginData = {
    ...presentAsked(asked, query, retention, nowMs),
    ...{ customers, customersWithoutPrice },
    totals: present(total),
    byPlan:
      plans === null
        ? null
        : plans.slice(0, GROUPS_MAX).map(({ planId, name, ...plan }) => ({
            ...{ planId, name, customers: plan.customers, customersWithoutPrice: plan.customersWithoutPrice },
            ...present(plan),
          })),
    byFeature: features.map(({ key, ...feature }) => ({ feature: key === '' ? null : key, ...present(feature) })),
    byModel: models.map(({ key, ...model }) => ({ model: key === '' ? null : key, ...present(model) })),
    truncated: [...((plans?.length ?? 0) > GROUPS_MAX ? ['plan'] : []), ...truncated],
  };
  return accept('MARGIN_READ', data, nowMs);
}

export async function readCustomerMargin(
  { env, organization }: Reader,
  customerId: CustomerId,
  query: MarginQuery,
): Promise<AnswerTo<'readCustomerMargin'>> {
  const nowMs = Date.now();
  const days = askedDays(query, nowMs);
  if ('path' in days) return badRequest(days);
  const { organizationId, retention } = organization;
  const asked = daysPeriod(days, nowMs);
  const read = await readCustomerDays(env, { organizationId, customerId }, days, nowMs);
  if (!read) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
  const data: CustomerMarginData = {
    customerId,
    ...presentAsked(asked, query, retention, nowMs),
    planPriceKnown: read.isPlanPriced,
    totals: present(read.total),
    byDay: days.map(({ label, startMs, endMs }, place) => ({
      date: label,
      startedAt: iso(startMs),
      endedAt: iso(endMs),
      ...present(read.days[place] as Earnings),
    })),
  };
  return accept('CUSTOMER_MARGIN_READ', data, nowMs);
}

export function daysPeriod(days: readonly LocalDay[], nowMs: number): Window {
  return { fromMs: days[0]?.startMs ?? nowMs, toMs: days.at(-1)?.endMs ?? nowMs };
}

export function presentAsked(asked: Window, { timezone }: MarginQuery, retention: Retention, nowMs: number) {
  return {
    period: { startedAt: iso(asked.fromMs), endedAt: iso(asked.toMs) },
    completeSince: iso(chargesKeptSinceMs(asked, retention, nowMs)),
    timezone,
    currency: 'USD' as const,
  };
}

export function present(earnings: Earnings): MarginFigures {
  const { calls, unpricedCalls, costNanoUsd, chargedNanoUsd, planNanoUsd, revenueNanoUsd, marginNanoUsd } = earnings;
  return {
    calls,
    unpricedCalls,
    ...amount('cost', costNanoUsd),
    ...amount('charged', chargedNanoUsd),
    ...amount('plan', planNanoUsd),
    ...amount('revenue', revenueNanoUsd),
    ...amount('margin', marginNanoUsd),
    marginPercent: marginPercent({ marginNanoUsd, revenueNanoUsd }),
  };
}

/** The nearest number of dollars, and the exact amount. */
function amount<Name extends string>(name: Name, nano: NanoUsd) {
  return { [`${name}USD`]: usdFromNano(nano), [`${name}UsdNano`]: nano.toString() } as Record<`${Name}USD`, number> &
    Record<`${Name}UsdNano`, string>;
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
