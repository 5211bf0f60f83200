/**
 * Use cases: change a customer's plan, and start a new usage cycle now.
 */

import { findPlan } from '../config/plans.ts';
import type { ChangePlanRequest } from '../contract/customers.ts';
import { refuse } from '../contract/errors.ts';
import type { AnswerTo } from '../contract/operations.ts';
import type { CustomerId } from '../domain/ids.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import type { Caller } from './caller.ts';
import { type BodyKeys, hashPayload, requestKey } from './idempotency.ts';

export async function changePlan(
  { env, organization }: Caller,
  customerId: CustomerId,
  request: ChangePlanRequest,
  headerKey: string | null,
): Promise<AnswerTo<'changePlan'>> {
  const { organizationId, models } = organization;
  const found = await findPlan(env, organizationId, request.planId);
  if (!found) return refuse('PLAN_NOT_FOUND', 'planId: no such plan');
  const fingerprint = await hashPayload(request);
  const idempotencyKey = requestKey(headerKey, request);
  return ask(customerByName(env, { organizationId, customerId }), (customer) =>
    customer.switchPlan({
      organizationId,
      target: found.newest,
      isArchived: found.isArchived,
      strategy: request.strategy,
      idempotencyKey,
      fingerprint,
      ...(models && { models }),
    }),
  );
}

export async function replenishCustomer(
  { env, organization }: Caller,
  customerId: CustomerId,
  request: BodyKeys,
  headerKey: string | null,
): Promise<AnswerTo<'replenishCustomer'>> {
  const { organizationId, models } = organization;
  const fingerprint = await hashPayload(request);
  const idempotencyKey = requestKey(headerKey, request);
  return ask(customerByName(env, { organizationId, customerId }), (customer) =>
    customer.replenish({ organizationId, idempotencyKey, fingerprint, ...(models && { models }) }),
  );
}
