/**
 * The usage of the first organizations for the overview: what each cost and called in the last 30 days, beside the 30
 * days before them.
 */

import { keptPart, usageKeptSinceMs } from '../config/kept-part.ts';
import type { Organization } from '../contract/operator.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { sumUsage } from '../history/usage.ts';
import { log } from '../platform/log.ts';
import { DAY_MS, HOUR_MS } from '../platform/time.ts';

/** UTC days, today included. */
export const OVERVIEW_DAYS = 30;
/** A call has one of four outcomes. */
const OUTCOMES_MAX = 4;

/** What calls came to in some days. */
export interface UsageTotals {
  /** Calls that ended or were denied, as everywhere in usage. */
  calls: number;
  failedCalls: number;
  deniedCalls: number;
  unpricedCalls: number;
  costNanoUsd: NanoUsd;
  /** The part of the cost from calls whose usage is partial or estimated. */
  provisionalCostNanoUsd: NanoUsd;
}

export interface OrganizationUsage {
  organization: Organization;
  /** `null` if its figures could not be read. */
  figures: {
    now: UsageTotals;
    /** The same days, up to the same hour, 30 days earlier; `null` if they are no longer kept. */
    before: UsageTotals | null;
    callsByDay: number[];
  } | null;
}

export function readServiceUsage(
  env: Env,
  organizations: readonly Organization[],
  nowMs: number,
): Promise<OrganizationUsage[]> {
  return Promise.all(
    organizations.map(async (organization) => {
      try {
        return { organization, figures: await readFigures(env, organization, nowMs) };
      } catch (error) {
        // The other organizations are shown all the same.
        log('warn', 'organization_usage_not_read', { organizationId: organization.organizationId }, error);
        return { organization, figures: null };
      }
    }),
  );
}

async function readFigures(env: Env, organization: Organization, nowMs: number) {
  const { organizationId } = organization;
  const fromMs = nowMs - (nowMs % DAY_MS) - (OVERVIEW_DAYS - 1) * DAY_MS;
  const days = Array.from({ length: OVERVIEW_DAYS }, (_, place) => {
    const startMs = fromMs + place * DAY_MS;
    return { startMs, endMs: startMs + DAY_MS };
  });
  const period = keptPart({ fromMs, toMs: fromMs + OVERVIEW_DAYS * DAY_MS }, organization, nowMs);
  const [beforeMs, untilMs] = [fromMs, nowMs - (nowMs % HOUR_MS) + HOUR_MS].map(
    (atMs) => atMs - OVERVIEW_DAYS * DAY_MS,
  );
  const earlier = { fromMs: beforeMs ?? 0, toMs: untilMs ?? 0 };
  const isKept = usageKeptSinceMs(organization, nowMs) <= earlier.fromMs;
  const [now, before] = await Promise.all([
    sumUsage(env, organizationId, period, ['day', 'outcome'], OUTCOMES_MAX, days),
    isKept ? sumUsage(env, organizationId, earlier, ['outcome'], OUTCOMES_MAX) : null,
  ]);
  const callsByDay = days.map(() => 0);
  for (const { key, calls } of now.day) callsByDay[Number(key)] = calls;
  return { now: totalsOfOutcomes(now.outcome), before: before && totalsOfOutcomes(before.outcome), callsByDay };
}

type OutcomeSums = Omit<UsageTotals, 'failedCalls' | 'deniedCalls'> & { key: string };

function totalsOfOutcomes(outcomes: readonly OutcomeSums[]): UsageTotals {
  return addTotals(
    outcomes.map(({ key, ...sums }) => ({
      ...sums,
      failedCalls: key === 'FAILED' ? sums.calls : 0,
      deniedCalls: key === 'NOT_ALLOWED' ? sums.calls : 0,
    })),
  );
}

export function addTotals(parts: readonly UsageTotals[]): UsageTotals {
  const sum = (of: (part: UsageTotals) => number) => parts.reduce((total, part) => total + of(part), 0);
  const nano = (of: (part: UsageTotals) => NanoUsd) => parts.reduce((total, part) => total + of(part), 0n);
  return {
    calls: sum(({ calls }) => calls),
    failedCalls: sum(({ failedCalls }) => failedCalls),
    deniedCalls: sum(({ deniedCalls }) => deniedCalls),
    unpricedCalls: sum(({ unpricedCalls }) => unpricedCalls),
    costNanoUsd: nano(({ costNanoUsd }) => costNanoUsd),
    provisionalCostNanoUsd: nano(({ provisionalCostNanoUsd }) => provisionalCostNanoUsd),
  };
}
