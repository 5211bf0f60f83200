/**
 * Use case: the course of an organization's usage over a period, by the models that cost the most, beside the period of
 * the same length before it.
 */
import type { OrganizationId } from '../../domain/ids.ts';
import type { NanoUsd } from '../../domain/money.ts';
import type { Env } from '../../env.ts';
import type { UsageFilter } from '../../history/usage.ts';
import { type CourseUsage, findUsageCourse, STEP_MS, type Step } from '../../history/usage-course.ts';
import { DAY_MS } from '../../platform/time.ts';

/** Periods that are shorter than this are shown by hour. */
const DAYS_BY_HOUR_BELOW = 3;

/** One value for each step. */
export interface Course {
  calls: number[];
  /** Ended calls without a price, which the cost lacks. */
  unpricedCalls: number[];
  inputTokens: number[];
  outputTokens: number[];
  costNanoUsd: NanoUsd[];
}

export interface UsageCourse {
  step: Step;
  /** The start of each step. */
  startsMs: number[];
  /** Whether the last step is still running. */
  isLastOpen: boolean;
  all: Course;
  /** The requested models, and the total of all others. */
  models: (Course & { model: string })[];
  others: Course;
  before: Course;
}

/** The period has whole UTC days. `models` names those that the chart shows. */
export async function readUsageCourse(
  env: Env,
  organizationId: OrganizationId,
  filter: UsageFilter,
  models: readonly string[],
  nowMs: number,
): Promise<UsageCourse> {
  const { fromMs, toMs } = filter;
  const step: Step = toMs - fromMs < DAYS_BY_HOUR_BELOW * DAY_MS ? 'hour' : 'day';
  const earlier = { ...filter, fromMs: 2 * fromMs - toMs, toMs: fromMs };
  const [usage, usageBefore] = await Promise.all([
    findUsageCourse(env, organizationId, filter, step, models),
    findUsageCourse(env, organizationId, earlier, step, []),
  ]);
  // Hours that have not begun are not in the chart.
  const length = Math.ceil((Math.min(toMs, Math.max(nowMs, fromMs + 1)) - fromMs) / STEP_MS[step]);
  const startsMs = Array.from({ length }, (_, place) => fromMs + place * STEP_MS[step]);
  const all = buildCourse(usage, null, length);
  const named = models.map((model) => ({ model, ...buildCourse(usage, model, length) }));
  return {
    step,
    startsMs,
    isLastOpen: (startsMs.at(-1) ?? 0) + STEP_MS[step] > nowMs,
    all,
    models: named,
    others: named.reduce<Course>(less, all),
    before: buildCourse(usageBefore, null, length),
  };
}

function buildCourse(usage: readonly CourseUsage[], model: string | null, length: number): Course {
  const byPlace = new Map(usage.filter((one) => one.model === model).map((one) => [one.place, one]));
  const values = <Value>(of: (one: CourseUsage) => Value, none: Value) =>
    Array.from({ length }, (_, place) => {
      const one = byPlace.get(place);
      return one ? of(one) : none;
    });
  return {
    calls: values(({ calls }) => calls, 0),
    unpricedCalls: values(({ unpricedCalls }) => unpricedCalls, 0),
    inputTokens: values(({ inputTokens }) => inputTokens, 0),
    outputTokens: values(({ outputTokens }) => outputTokens, 0),
    costNanoUsd: values(({ costNanoUsd }) => costNanoUsd, 0n),
  };
}

function less(course: Course, part: Course): Course {
  const numbers = (values: number[], of: number[]) => values.map((value, place) => value - (of[place] ?? 0));
  return {
    calls: numbers(course.calls, part.calls),
    unpricedCalls: numbers(course.unpricedCalls, part.unpricedCalls),
    inputTokens: numbers(course.inputTokens, part.inputTokens),
    outputTokens: numbers(course.outputTokens, part.outputTokens),
    costNanoUsd: course.costNanoUsd.map((value, place) => value - (part.costNanoUsd[place] ?? 0n)),
  };
}
