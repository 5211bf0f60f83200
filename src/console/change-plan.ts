/**
 * The preview of a plan change, computed by the rule that makes the change.
 */

import type { ChangePlanRequest } from '../contract/customers.ts';
import { type Answer, accept, planIsArchived, refuse } from '../contract/errors.ts';
import { type Account, type ChangeStrategy, changePlan, mayMoveTo, replenishDue } from '../domain/account.ts';
import type { CustomerId } from '../domain/ids.ts';
import type { PlanVersion } from '../domain/plan.ts';
import type { Caller } from '../metering/caller.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { findPlan } from '../storage/plans.ts';

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
  customerId: CustomerId,
  { planId, strategy }: Pick<ChangePlanRequest, 'planId' | 'strategy'>,
  nowMs: number,
): Promise<Answer<PlanChangePreview>> {
  const { organizationId } = organization;
  const [found, history] = await Promise.all([
    findPlan(env, organizationId, planId),
    ask(customerByName(env, { organizationId, customerId }), (customer) =>
      customer.readHistory({ organizationId, columns: [], recentColumns: [] }),
    ),
  ]);
  if (!found) return refuse('PLAN_NOT_FOUND', 'planId: no such plan');
  if (!history) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
  const { newest: target, isArchived } = found;
  const before = history.account;
  if (!mayMoveTo(before, target, isArchived)) return planIsArchived('planId');
  const after = changePlan(before, target, strategy, nowMs);
  const { pending, nextReplenishAtMs } = after.subscription;
  const replenished = pending ? replenishDue(after, nextReplenishAtMs) : null;
  return accept('PLAN_CHANGE_PREVIEWED', { target, strategy, before, after, replenished }, nowMs);
}
