/**
 * The operator creates a customer, previews and makes a plan change, and starts a new usage cycle. Changes run the
 * organization's use cases; their commands to the object are idempotent, so a change is made there first and then
 * logged.
 */

import { findPlan } from '../config/plans.ts';
import { complete } from '../contract/complete.ts';
import type { PlanChangePreview } from '../contract/customers.ts';
import { planIsArchived, refuse } from '../contract/errors.ts';
import { warnedOfCredit } from '../contract/funding-warnings.ts';
import { type DataOf, operations } from '../contract/operations.ts';
import { type Account, changePlan as changeAccount, mayMoveTo, replenishDue } from '../domain/account.ts';
import { summarizeAll } from '../domain/allowances.ts';
import { changePlan, replenishCustomer } from '../metering/change-plan.ts';
import { provisionCustomer, readUsage } from '../metering/customers.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { asTenant, change, read } from './operation.ts';

/** An existing customer is answered unchanged, and nothing is logged. */
export const operatorCreateCustomer = change(operations.operatorCreateCustomer, {
  action: 'customer.create',
  subject: ({ body }) => body.customerId,
  decide: ({ body, ...request }) =>
    asTenant(request, async (caller) => {
      const answer = await provisionCustomer(caller, body, request.onceKey);
      if (!answer.ok) return answer;
      const { data, replayed } = answer;
      if (!data.newCustomer) return { unchanged: complete(data), replayed };
      const { usagePlanVersionId } = data.subscription;
      return { before: null, after: { ...body, usagePlanVersionId }, data: complete(data) };
    }),
});

export const operatorChangePlan = change(operations.operatorChangePlan, {
  action: 'customer.change_plan',
  subject: ({ params }) => params.customerId,
  decide: ({ params: { customerId }, body, ...request }) =>
    asTenant(request, async (caller) => {
      const before = await readUsage(caller, customerId);
      if (!before.ok) return before;
      const answer = await changePlan(caller, customerId, body, request.onceKey);
      if (!answer.ok) return answer;
      return {
        before: subscribedPlan(before.data.subscription),
        after: { ...subscribedPlan(answer.data.subscription), strategy: body.strategy },
        data: complete(answer.data),
      };
    }),
});

/** The effect that a change would have now, by the same rule that makes it. */
export const previewPlanChange = read(
  operations.previewPlanChange,
  async ({ env, params: { org, customerId }, query: { planId, strategy } }) => {
    const [found, history] = await Promise.all([
      findPlan(env, org, planId),
      ask(customerByName(env, { organizationId: org, customerId }), (customer) =>
        customer.readHistory({ organizationId: org, columns: [], recentColumns: [] }),
      ),
    ]);
    if (!found) return refuse('PLAN_NOT_FOUND', 'planId: no such plan');
    if (!history) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
    const { newest, isArchived } = found;
    const before: Account = history.account;
    if (!mayMoveTo(before, newest, isArchived)) return planIsArchived('planId');
    const changed = changeAccount(before, newest, strategy, Date.now());
    const { pending, nextReplenishAtMs, canceledAtMs } = changed.subscription;
    return {
      isChange: changed !== before,
      usagePlanVersionId: newest.usagePlanVersionId,
      appliesAt: pending && new Date(nextReplenishAtMs).toISOString(),
      dropsScheduled: before.subscription.pending !== null && pending === null,
      canceled: canceledAtMs !== null,
      before: previewState(before),
      after: previewState(pending ? replenishDue(changed, nextReplenishAtMs) : changed),
      ...warnedOfCredit(changed),
    };
  },
);

function previewState({ subscription, meters }: Account): PlanChangePreview['after'] {
  const { plan, nextReplenishAtMs } = subscription;
  return {
    usagePlanVersionId: plan.usagePlanVersionId,
    nextReplenishAt: new Date(nextReplenishAtMs).toISOString(),
    meters: summarizeAll(plan.plan, meters),
  };
}

export const operatorReplenish = change(operations.operatorReplenish, {
  action: 'customer.replenish',
  subject: ({ params }) => params.customerId,
  decide: ({ params: { customerId }, ...request }) =>
    asTenant(request, async (caller) => {
      const before = await readUsage(caller, customerId);
      if (!before.ok) return before;
      const answer = await replenishCustomer(caller, customerId, {}, request.onceKey);
      if (!answer.ok) return answer;
      const billingCycle = (subscription: Subscription) => ({
        ...subscribedPlan(subscription),
        nextReplenishAt: subscription.nextReplenishAt,
      });
      return {
        before: billingCycle(before.data.subscription),
        after: billingCycle(answer.data.subscription),
        data: complete(answer.data),
      };
    }),
});

type Subscription = DataOf<typeof operations.operatorChangePlan>['subscription'];

function subscribedPlan({ usagePlanVersionId, pending }: Subscription) {
  return { usagePlanVersionId, pending: pending ?? null };
}
