/**
 * The figures that the list of customers shows beside the rows of one page: cost of 30 days by day and against the 30
 * days before, margin, failed calls, models that end, and the beginning of its usage period.
 */

import { usageKeptSinceMs } from '../../config/kept-part.ts';
import type { CustomerId } from '../../domain/ids.ts';
import type { NanoUsd } from '../../domain/money.ts';
import { type CustomerCourse, readCustomerCourses } from '../../history/customer-course.ts';
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { type PageEarnings, readCustomersEarnings } from '../margin/customer-earnings.ts';
import type { RadarModel } from '../radar/models.ts';
import { COST_DAYS, failedSince, type ListScope, sinceDays } from './filters.ts';

export interface CustomerFigures {
  /** The beginning of the usage period; `null` if D1 does not know the customer yet. */
  periodFromMs: number | null;
  /** The cost of the last 30 UTC days, today included. */
  costNanoUsd: NanoUsd;
  calls: number;
  unpricedCalls: number;
  dayCosts: NanoUsd[];
  /** The same days, up to the same hour, 30 days earlier; `null` if they are no longer kept. */
  costBeforeNanoUsd: NanoUsd | null;
  /** Absent for a customer that D1 does not know yet. */
  earnings: PageEarnings | undefined;
  /** The completed and failed calls of the last seven UTC days. */
  recentCalls: number;
  recentlyFailed: number;
  endingModels: RadarModel[];
}

/** `ending` has the models that end, by the names under which they were used. */
export async function readCustomerFigures(
  scope: ListScope,
  customerIds: readonly CustomerId[],
  ending: ReadonlyMap<string, RadarModel>,
  nowMs: number,
): Promise<Map<CustomerId, CustomerFigures>> {
  const { env, organization } = scope;
  const { organizationId, retention } = organization;
  const fromMs = sinceDays(COST_DAYS, nowMs);
  const days = Array.from({ length: COST_DAYS + 1 }, (_, day) => fromMs + day * DAY_MS);
  const [beforeMs, untilMs] = [fromMs, nowMs - (nowMs % HOUR_MS) + HOUR_MS].map((atMs) => atMs - COST_DAYS * DAY_MS);
  const keptSinceMs = usageKeptSinceMs(retention, nowMs);
  const isKept = keptSinceMs <= (beforeMs ?? 0);
  const query = {
    customerIds,
    borders: [beforeMs ?? 0, untilMs ?? 0, ...days].map((atMs) => Math.max(atMs, keptSinceMs)),
    failedSinceMs: failedSince(nowMs),
    models: [...ending.keys()],
    modelsSinceMs: fromMs,
  };
  const [courses, earnings] = await Promise.all([
    readCustomerCourses(env, organizationId, query),
    readCustomersEarnings(env, organizationId, customerIds, { fromMs, toMs: fromMs + COST_DAYS * DAY_MS }, nowMs),
  ]);
  return new Map(
    [...courses].map(([customerId, course]) => [
      customerId,
      { ...buildFigures(course, ending, isKept), earnings: earnings.get(customerId) },
    ]),
  );
}

function buildFigures(
  { periodFromMs, spans, models, recentCalls, recentlyFailed }: CustomerCourse,
  ending: ReadonlyMap<string, RadarModel>,
  isKept: boolean,
): Omit<CustomerFigures, 'earnings'> {
  // The first two are the days before, and the time between them and the present days.
  const [before, , ...days] = spans;
  return {
    periodFromMs,
    costNanoUsd: days.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n),
    calls: days.reduce((sum, { calls }) => sum + calls, 0),
    unpricedCalls: days.reduce((sum, { unpricedCalls }) => sum + unpricedCalls, 0),
    dayCosts: days.map(({ costNanoUsd }) => costNanoUsd),
    costBeforeNanoUsd: isKept ? (before?.costNanoUsd ?? 0n) : null,
    recentCalls,
    recentlyFailed,
    // Names of the same model count once.
    endingModels: [...new Set(models.flatMap((name) => ending.get(name) ?? []))],
  };
}
