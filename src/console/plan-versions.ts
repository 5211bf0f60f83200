/**
 * The content of the plan version that a customer has, from plans that a page has read.
 */
import { planIdOf } from '../domain/plan.ts';
import type { PlanDetail } from '../operator/plans.ts';

/** The newest version stands for one that is no longer listed; `undefined` if the page does not have the plan. */
export function planAtVersion(
  plans: readonly PlanDetail[],
  usagePlanVersionId: string,
): PlanDetail['plan'] | undefined {
  const detail = plans.find(({ planId }) => planId === planIdOf(usagePlanVersionId));
  return detail?.versions.find((one) => one.usagePlanVersionId === usagePlanVersionId)?.plan ?? detail?.plan;
}
