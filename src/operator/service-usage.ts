/**
 * The usage of the first organizations for the overview: each organization by itself, and the course of all together by
 * model.
 */

import { keptPart } from '../config/kept-part.ts';
import type { Organization } from '../contract/operator.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { sumUsage, type UsageGroup } from '../history/usage.ts';
import { log } from '../platform/log.ts';
import { DAY_MS } from '../platform/time.ts';
import { readModelUses } from '../readings/radar/read-radar.ts';
import { readUsageCourse, sumCourses, type UsageCourse } from '../readings/usage/course.ts';

export const OVERVIEW_DAYS = 30;

export interface DayUsage {
  startMs: number;
  calls: number;
  unpricedCalls: number;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: NanoUsd;
  /** The part of the cost from calls whose usage is partial or estimated. */
  provisionalCostNanoUsd: NanoUsd;
}

/** The most groups of a feature or customer and organization in the rankings. */
const GROUPS_MAX = 12;
/** The most models that the charts name: those with the highest cost. */
const CHARTED_MODELS_MAX = 3;

/** The usage of a model; all models are included, so that those without a price are not left out. */
type ModelUsage = Pick<UsageGroup, 'key' | 'calls' | 'unpricedCalls' | 'costNanoUsd'>;

export interface OrganizationUsage {
  organization: Organization;
  /** Its figures could not be read: they are missing here. */
  unread: boolean;
  days: DayUsage[];
  models: ModelUsage[];
  features: UsageGroup[];
  customers: UsageGroup[];
}

export interface ServiceUsage {
  organizations: OrganizationUsage[];
  /** The course of the organizations that could be read; `null` if none could. */
  course: UsageCourse | null;
}

export async function readServiceUsage(
  env: Env,
  organizations: readonly Organization[],
  nowMs: number,
): Promise<ServiceUsage> {
  const usage = await Promise.all(organizations.map((organization) => readUsage(env, organization, nowMs)));
  const models = highestCost(usage.flatMap((one) => one.models));
  const courses = await Promise.all(
    usage.filter(({ unread }) => !unread).map(({ organization }) => readCourse(env, organization, models, nowMs)),
  );
  const [first, ...others] = courses.filter((course) => course !== null);
  return { organizations: usage, course: first ? sumCourses([first, ...others]) : null };
}

/** If the figures of one organization cannot be read, the others are shown all the same. */
async function readUsage(env: Env, organization: Organization, nowMs: number): Promise<OrganizationUsage> {
  const { organizationId } = organization;
  const days = lastDays(nowMs);
  try {
    const [sums, models] = await Promise.all([
      sumDays(env, organization, days, nowMs),
      readModelUses(env, { organizationId, retention: organization }, nowMs),
    ]);
    return { organization, unread: false, days, models, ...sums };
  } catch (error) {
    log('warn', 'organization_usage_not_read', { organizationId }, error);
    return { organization, unread: true, days: lastDays(nowMs), models: [], features: [], customers: [] };
  }
}

async function sumDays(env: Env, organization: Organization, days: DayUsage[], nowMs: number) {
  const { organizationId } = organization;
  const borders = days.map(({ startMs }) => ({ startMs, endMs: startMs + DAY_MS }));
  const dimensions = ['day', 'feature', 'customer'] as const;
  const period = keptPart(overviewPeriod(days), organization, nowMs);
  const { day, feature, customer } = await sumUsage(env, organizationId, period, dimensions, GROUPS_MAX, borders);
  for (const group of day) addTo(days[Number(group.key)], group);
  return { features: feature, customers: customer };
}

async function readCourse(
  env: Env,
  { organizationId }: Organization,
  models: readonly string[],
  nowMs: number,
): Promise<UsageCourse | null> {
  try {
    return await readUsageCourse(env, organizationId, overviewPeriod(lastDays(nowMs)), models, nowMs);
  } catch (error) {
    log('warn', 'organization_course_not_read', { organizationId }, error);
    return null;
  }
}

function highestCost(models: readonly ModelUsage[]): string[] {
  return [...Map.groupBy(models, ({ key }) => key)]
    .map(([key, same]) => ({ key, costNanoUsd: same.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n) }))
    .sort((a, b) => (a.costNanoUsd < b.costNanoUsd ? 1 : a.costNanoUsd > b.costNanoUsd ? -1 : 0))
    .slice(0, CHARTED_MODELS_MAX)
    .map(({ key }) => key);
}

function lastDays(nowMs: number): DayUsage[] {
  const firstMs = nowMs - (nowMs % DAY_MS) - (OVERVIEW_DAYS - 1) * DAY_MS;
  return Array.from({ length: OVERVIEW_DAYS }, (_, index) => emptyDay(firstMs + index * DAY_MS));
}

function overviewPeriod([first]: readonly DayUsage[]): { fromMs: number; toMs: number } {
  const fromMs = first?.startMs ?? 0;
  return { fromMs, toMs: fromMs + OVERVIEW_DAYS * DAY_MS };
}

/** The days of all organizations together. */
export function sumOfDays(usage: readonly OrganizationUsage[]): DayUsage[] {
  const days = usage[0]?.days.map(({ startMs }) => emptyDay(startMs)) ?? [];
  for (const one of usage) for (const [index, day] of one.days.entries()) addTo(days[index], day);
  return days;
}

function emptyDay(startMs: number): DayUsage {
  return {
    startMs,
    calls: 0,
    unpricedCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    costNanoUsd: 0n,
    provisionalCostNanoUsd: 0n,
  };
}

function addTo(day: DayUsage | undefined, usage: Omit<DayUsage, 'startMs'>): void {
  if (!day) return;
  day.calls += usage.calls;
  day.unpricedCalls += usage.unpricedCalls;
  day.inputTokens += usage.inputTokens;
  day.outputTokens += usage.outputTokens;
  day.costNanoUsd += usage.costNanoUsd;
  day.provisionalCostNanoUsd += usage.provisionalCostNanoUsd;
}
