/**
 * Use cases: provision a customer, and read a customer's present state.
 */

import type { ProvisionCustomerRequest } from '../contract/customers.ts';
import { refuse } from '../contract/errors.ts';
import type { AnswerTo } from '../contract/operations.ts';
import { asCallId, type CustomerId } from '../domain/ids.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { underClaim } from '../objects/claims.ts';
import type { Caller } from './caller.ts';
import { explicitKey, hashPayload } from './idempotency.ts';
import { claimForProvisioning } from './stripe-customers.ts';

/** Separates these keys from call ids in the directory: no call id contains a space. */
const PROVISION_NAMESPACE = 'provision ';

export async function provisionCustomer(
  caller: Caller,
  request: ProvisionCustomerRequest,
  headerKey: string | null,
): Promise<AnswerTo<'provisionCustomer'>> {
  const { env, organization } = caller;
  const { organizationId, defaultPlan, alerts, models } = organization;
  const { customerName, ...described } = request;
  const friendlyName = request.customerFriendlyName ?? customerName;
  const fingerprint = await hashPayload({ ...described, customerFriendlyName: friendlyName });
  const idempotencyKey = explicitKey(headerKey, request);
  const { customerId } = request;
  const foreign = await claimForProvisioning(caller, customerId, request.stripeCustomerId);
  if (foreign) return foreign;
  const provision = (): Promise<AnswerTo<'provisionCustomer'>> =>
    ask(customerByName(env, { organizationId, customerId }), (customer) =>
      customer.provision({
        organizationId,
        customerId,
        defaultPlan: defaultPlan && JSON.stringify(defaultPlan),
        alerts,
        contact: { friendlyName, email: request.customerEmail, stripeCustomerId: request.stripeCustomerId },
        idempotencyKey,
        fingerprint,
        ...(models && { models }),
      }),
    );
  if (idempotencyKey === null) return provision();
  const answer = await underClaim(
    env,
    // The directory has these keys among its call ids.
    { organizationId, key: asCallId(PROVISION_NAMESPACE + idempotencyKey), customerId },
    // An existing customer stays: provisioning under another key would have left the same customer.
    { command: provision, toOutcome: (provisioned) => provisioned, undo: async () => undefined },
  );
  return answer ?? refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');
}

export async function readUsage({ env, organization }: Caller, customerId: CustomerId): Promise<AnswerTo<'readUsage'>> {
  const { organizationId, models } = organization;
  const answer = await ask(customerByName(env, { organizationId, customerId }), (customer) =>
    customer.readUsage({ organizationId, ...(models && { models }) }),
  );
  // The object refuses for no other reason.
  return answer.ok ? answer : unknownCustomer();
}

/** Readings answer for a canceled customer, so there is no subscription only if the customer was never seen. */
export const unknownCustomer = () =>
  refuse('SUBSCRIPTION_NOT_FOUND', 'no such customer', { members: { reason: 'CUSTOMER_NOT_FOUND' } });
