/**
 * The operator creates a customer, changes its plan, and starts a new usage cycle. The use cases are those of the
 * organization; their commands to the object are idempotent, so a change is made there first and then logged.
 */

import type { z } from 'zod';
import type { ChangePlanData, ProvisionCustomerData } from '../contract/customers.ts';
import type { Answer } from '../contract/errors.ts';
import type { operations } from '../contract/operations.ts';
import type { OperatorAction } from '../contract/operator-actions.ts';
import type { CustomerKey, OrganizationId } from '../domain/ids.ts';
import type { Caller } from '../metering/caller.ts';
import { changePlan, replenishCustomer } from '../metering/change-plan.ts';
import { provisionCustomer, readUsage } from '../metering/customers.ts';
import { asOrganization } from './caller.ts';
import { type Change, commitChange, type OperatorRequest } from './change.ts';

type CreateBody = z.infer<typeof operations.operatorCreateCustomer.body>;
type PlanBody = z.infer<typeof operations.operatorChangePlan.body>;

/** A customer that exists is answered as it is, and nothing is logged. */
export function operatorCreateCustomer(
  request: OperatorRequest,
  organizationId: OrganizationId,
  body: CreateBody,
  defer: Caller['defer'],
): Promise<Answer<ProvisionCustomerData>> {
  return commitFor(request, organizationId, defer, async (caller, idempotencyKey) => {
    const answer = await provisionCustomer(caller, body, idempotencyKey);
    if (!answer.ok || !answer.data.newCustomer) return answer;
    const { usagePlanVersionId } = answer.data.subscription;
    return logged('customer.create', organizationId, body.customerId, null, { ...body, usagePlanVersionId }, answer);
  });
}

export function operatorChangePlan(
  request: OperatorRequest,
  { organizationId, customerId }: CustomerKey,
  body: PlanBody,
  defer: Caller['defer'],
): Promise<Answer<ChangePlanData>> {
  return commitFor(request, organizationId, defer, async (caller, idempotencyKey) => {
    const before = await readUsage(caller, customerId);
    if (!before.ok) return before;
    const answer = await changePlan(caller, customerId, body, idempotencyKey);
    if (!answer.ok) return answer;
    const was = planOf(before.data.subscription);
    const now = { ...planOf(answer.data.subscription), strategy: body.strategy };
    return logged('customer.change_plan', organizationId, customerId, was, now, answer);
  });
}

export function operatorReplenish(
  request: OperatorRequest,
  { organizationId, customerId }: CustomerKey,
  defer: Caller['defer'],
): Promise<Answer<ChangePlanData>> {
  return commitFor(request, organizationId, defer, async (caller, idempotencyKey) => {
    const before = await readUsage(caller, customerId);
    if (!before.ok) return before;
    const answer = await replenishCustomer(caller, customerId, {}, idempotencyKey);
    if (!answer.ok) return answer;
    const [was, now] = [before.data.subscription, answer.data.subscription].map((subscription) => ({
      ...planOf(subscription),
      nextReplenishAt: subscription.nextReplenishAt,
    }));
    return logged('customer.replenish', organizationId, customerId, was, now, answer);
  });
}

/** The object may be asked twice, and must count once: every attempt has the same key. */
function commitFor<Data>(
  request: OperatorRequest,
  organizationId: OrganizationId,
  defer: Caller['defer'],
  decide: (caller: Caller, idempotencyKey: string) => Promise<Answer<Data> | Change<Data>>,
): Promise<Answer<Data>> {
  const idempotencyKey = request.idempotencyKey ?? crypto.randomUUID();
  return commitChange<Data>(request, () =>
    asOrganization(request.env, organizationId, defer, (caller) => decide(caller, idempotencyKey)),
  );
}

type Subscription = ChangePlanData['subscription'];

function planOf({ usagePlanVersionId, pending }: Subscription) {
  return { usagePlanVersionId, pending: pending ?? null };
}

function logged<Data>(
  action: OperatorAction,
  organizationId: OrganizationId,
  subject: string,
  before: unknown,
  after: unknown,
  answer: Extract<Answer<Data>, { ok: true }>,
): Change<Data> {
  const { result, data } = answer;
  return { action, organizationId, subject, before, after, statements: [], replaces: false, code: result.code, data };
}
