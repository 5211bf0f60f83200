/**
 * Use case: an organization's usage over a period, from D1, and how current the data are.
 */

import { findDatabaseName } from '../../config/database.ts';
import { keptPart } from '../../config/kept-part.ts';
import { accept, badRequest } from '../../contract/errors.ts';
import type { AnswerTo } from '../../contract/operations.ts';
import { type Figures, GROUPS_MAX, type SummaryQuery, type UsageSummaryData } from '../../contract/usage-summary.ts';
import { asCustomerId } from '../../domain/ids.ts';
import { usdFromNano } from '../../domain/money.ts';
import { sumUsage, type UsageSums } from '../../history/usage.ts';
import { addFigures } from '../../history/usage-figures.ts';
import type { Caller } from '../../metering/caller.ts';
import { projectorState } from '../../objects/projectors.ts';
import { askedDays } from './asked-days.ts';

/** Normal delay of the projection: the customer's object gathers changes, and then the projector does. */
const PROJECTION_DELAY_MS = 5_000;
const LISTED = ['customer', 'feature', 'model', 'provider', 'outcome'] as const;

const ZERO: UsageSums = {
  calls: 0,
  unpricedCalls: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  searches: 0,
  provisionalCalls: 0,
  provisionalCostNanoUsd: 0n,
  costNanoUsd: 0n,
  chargedNanoUsd: 0n,
};

export async function readUsageSummary(
  { env, organization }: Caller,
  query: SummaryQuery,
): Promise<AnswerTo<'readUsageSummary'>> {
  const nowMs = Date.now();
  const days = askedDays(query, nowMs);
  if ('path' in days) return badRequest(days);
  const [fromMs, toMs] = [days[0]?.startMs ?? nowMs, days.at(-1)?.endMs ?? nowMs];
  // An hour belongs to the day in which it starts, even if days do not begin on a full hour.
  const part = keptPart({ fromMs, toMs }, organization.retention, nowMs);
  const filter = { ...part, customerId: query.customerId, feature: query.feature };
  const { organizationId } = organization;
  const [groups, projectors] = await Promise.all([
    // One group more than the list holds shows whether more exist.
    sumUsage(env, organizationId, filter, ['day', ...LISTED], GROUPS_MAX + 1, days),
    // Without the projectors the report still works; it only lacks the backlog.
    findDatabaseName(env, organizationId)
      .then((name) => projectorState(env, [name], { organizationId }))
      .catch(() => null),
  ]);
  const customers = projectors?.waiting.lateCustomers ?? 0;
  const oldestMs = customers === 0 ? nowMs : (projectors?.waiting.oldestMs ?? nowMs);
  const byDay = new Map(groups.day.map(({ key, ...sums }) => [Number(key), sums]));
  const shown = (dimension: (typeof LISTED)[number]) => groups[dimension].slice(0, GROUPS_MAX);
  const orNull = (key: string) => (key === '' ? null : key);
  const data: UsageSummaryData = {
    period: { startedAt: iso(fromMs), endedAt: iso(toMs) },
    completeSince: iso(part.fromMs),
    timezone: query.timezone,
    currency: 'USD',
    asOf: iso(Math.min(nowMs - PROJECTION_DELAY_MS, oldestMs)),
    backlog: { customers, ageSeconds: Math.ceil((nowMs - oldestMs) / 1000) },
    totals: present(groups.day.reduce(addFigures<UsageSums>, ZERO)),
    byDay: days.map(({ label, startMs, endMs }, index) => ({
      date: label,
      startedAt: iso(startMs),
      endedAt: iso(endMs),
      ...present(byDay.get(index) ?? ZERO),
    })),
    byCustomer: shown('customer').map((group) => ({ customerId: asCustomerId(group.key), ...present(group) })),
    byFeature: shown('feature').map((group) => ({ feature: orNull(group.key), ...present(group) })),
    byModel: shown('model').map((group) => ({ model: orNull(group.key), ...present(group) })),
    byProvider: shown('provider').map((group) => ({ provider: orNull(group.key), ...present(group) })),
    byOutcome: shown('outcome').map((group) => ({
      outcome: group.key as UsageSummaryData['byOutcome'][number]['outcome'],
      ...present(group),
    })),
    truncated: LISTED.filter((dimension) => groups[dimension].length > GROUPS_MAX),
  };
  return accept('USAGE_SUMMARY_READ', data, nowMs);
}

function present({
  calls,
  unpricedCalls,
  inputTokens,
  cachedInputTokens,
  outputTokens,
  reasoningTokens,
  searches,
  provisionalCalls,
  provisionalCostNanoUsd,
  costNanoUsd,
}: UsageSums): Figures {
  return {
    calls,
    unpricedCalls,
    inputTokens,
    cachedInputTokens,
    outputTokens,
    reasoningTokens,
    searches,
    costUSD: usdFromNano(costNanoUsd),
    costUsdNano: costNanoUsd.toString(),
    provisionalCalls,
    provisionalCostUSD: usdFromNano(provisionalCostNanoUsd),
    provisionalCostUsdNano: provisionalCostNanoUsd.toString(),
  };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
