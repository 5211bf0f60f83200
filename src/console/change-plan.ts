/**
 * The preview of a plan change, computed by the rule that makes the change.
 */
import type { ChangePlanRequest } from '../contract/customers.ts';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import { type Account, type ChangeStrategy, changePlan, replenishDue } from '../domain/account.ts';
import type { PlanVersion } from '../domain/plan.ts';
import type { Caller } from '../metering/caller.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { findOfferedPlan } from '../storage/plans.ts';

export interface PlanChangePreview {
  target: PlanVersion;
  strategy: ChangeStrategy;
  before: Account;
  /** The account right after the change. */
  after: Account;
  /** The account right after the next replenishment, where the change applies then. */
  replenished: Account | null;
}

/** The account after a change at `nowMs`, as a preview. */
export async function previewPlanChange(
  { env, organization }: Caller,
  customerId: string,
  { planId, strategy }: Pick<ChangePlanRequest, 'planId' | 'strategy'>,
  nowMs: number,
): Promise<Answer<PlanChangePreview>> {
  const { organizationId } = organization;
  const [offered, history] = await Promise.all([
    findOfferedPlan(env, organizationId, planId, 'planId'),
    ask(customerByName(env, organizationId, customerId), (customer) =>
      customer.readHistory({ organizationId, columns: [], recentColumns: [] }),
    ),
  ]);
  if (!offered.ok) return offered;
  if (!history) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
  const target = offered.plan;
  const before = history.account;
  const after = changePlan(before, target, strategy, nowMs);
  const { pending, nextReplenishAtMs } = after.subscription;
  const replenished = pending ? replenishDue(after, nextReplenishAtMs) : null;
  return accept('PLAN_CHANGE_PREVIEWED', { target, strategy, before, after, replenished }, nowMs);
}
