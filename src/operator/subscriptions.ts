/**
 * The operator creates a customer, changes its plan, and starts a new usage cycle. The use cases are those of the
 * organization; their commands to the object are idempotent, so a change is made there first and then logged.
 */

import { type DataOf, operations } from '../contract/operations.ts';
import { changePlan, replenishCustomer } from '../metering/change-plan.ts';
import { provisionCustomer, readUsage } from '../metering/customers.ts';
import { asTenant, change } from './operation.ts';

/** A customer that exists is answered as it is, and nothing is logged. */
export const operatorCreateCustomer = change(operations.operatorCreateCustomer, {
  action: 'customer.create',
  subject: ({ body }) => body.customerId,
  decide: ({ body, ...request }) =>
    asTenant(request, async (caller) => {
      const answer = await provisionCustomer(caller, body, keyOf(request));
      if (!answer.ok) return answer;
      const { data, replayed } = answer;
      if (!data.newCustomer) return { unchanged: data, replayed };
      const { usagePlanVersionId } = data.subscription;
      return { before: null, after: { ...body, usagePlanVersionId }, data };
    }),
});

export const operatorChangePlan = change(operations.operatorChangePlan, {
  action: 'customer.change_plan',
  subject: ({ params }) => params.customerId,
  decide: ({ params: { customerId }, body, ...request }) =>
    asTenant(request, async (caller) => {
      const before = await readUsage(caller, customerId);
      if (!before.ok) return before;
      const answer = await changePlan(caller, customerId, body, keyOf(request));
      if (!answer.ok) return answer;
      return {
        before: planOf(before.data.subscription),
        after: { ...planOf(answer.data.subscription), strategy: body.strategy },
        data: answer.data,
      };
    }),
});

export const operatorReplenish = change(operations.operatorReplenish, {
  action: 'customer.replenish',
  subject: ({ params }) => params.customerId,
  decide: ({ params: { customerId }, ...request }) =>
    asTenant(request, async (caller) => {
      const before = await readUsage(caller, customerId);
      if (!before.ok) return before;
      const answer = await replenishCustomer(caller, customerId, {}, keyOf(request));
      if (!answer.ok) return answer;
      const cycleOf = (subscription: Subscription) => ({
        ...planOf(subscription),
        nextReplenishAt: subscription.nextReplenishAt,
      });
      return {
        before: cycleOf(before.data.subscription),
        after: cycleOf(answer.data.subscription),
        data: answer.data,
      };
    }),
});

/** The object may be asked twice, and must count once. */
function keyOf({ idempotencyKey }: { idempotencyKey: string | null }): string {
  return idempotencyKey ?? crypto.randomUUID();
}

type Subscription = DataOf<typeof operations.operatorChangePlan>['subscription'];

function planOf({ usagePlanVersionId, pending }: Subscription) {
  return { usagePlanVersionId, pending: pending ?? null };
}
