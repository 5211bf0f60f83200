/**
 * A plan change by the operator: a preview, computed by the rule that makes the change, and the change itself.
 */
import type { ChangePlanData, ChangePlanRequest } from '../contract/customers.ts';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import { type Account, type ChangeStrategy, changePlan, replenishDue } from '../domain/account.ts';
import type { PlanVersion } from '../domain/plan.ts';
import type { Caller } from '../metering/caller.ts';
import { changePlan as changeCustomersPlan } from '../metering/change-plan.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import type { OperatorRequest } from '../operator/change.ts';
import { findNewestPlan } from '../storage/plans.ts';
import { byOperator } from './by-operator.ts';

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
  const [target, history] = await Promise.all([
    findNewestPlan(env, organizationId, planId),
    ask(customerByName(env, organizationId, customerId), (customer) =>
      customer.readHistory({ organizationId, columns: [], recentColumns: [] }),
    ),
  ]);
  if (!target) return refuse('PLAN_NOT_FOUND', 'planId: no such plan');
  if (!history) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
  const before = history.account;
  const after = changePlan(before, target, strategy, nowMs);
  const { pending, nextReplenishAtMs } = after.subscription;
  const replenished = pending ? replenishDue(after, nextReplenishAtMs) : null;
  return accept('PLAN_CHANGE_PREVIEWED', { target, strategy, before, after, replenished }, nowMs);
}

/** Changes the plan and records an operator event. */
export function changePlanByOperator(
  request: OperatorRequest,
  caller: Caller,
  customerId: string,
  change: ChangePlanRequest,
): Promise<Answer<ChangePlanData>> {
  const { organizationId } = caller.organization;
  return byOperator(
    request,
    { action: 'customer.change_plan', organizationId, subject: customerId, before: null },
    () => changeCustomersPlan(caller, customerId, change, request.idempotencyKey),
    ({ subscription }) => ({ planId: change.planId, strategy: change.strategy, subscription }),
  );
}
