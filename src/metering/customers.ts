/**
 * Use cases: provision a customer, and read what a customer has now.
 */
import type { CustomerUsageData, ProvisionCustomerData, ProvisionCustomerRequest } from '../contract/customers.ts';
import { type Answer, refuse } from '../contract/errors.ts';
import { ask, claimKey, customerByName, releaseKey } from '../storage/objects.ts';
import type { Caller } from './caller.ts';
import { explicitKey, fingerprintOf } from './idempotency.ts';

/** Keeps these keys apart from call ids in the directory: no call id has a space. */
const PROVISION_NAMESPACE = 'provision ';

export async function provisionCustomer(
  { env, organization }: Caller,
  request: ProvisionCustomerRequest,
  headerKey: string | null,
): Promise<Answer<ProvisionCustomerData>> {
  const { organizationId, defaultPlan, models } = organization;
  const { customerName, ...described } = request;
  const friendlyName = request.customerFriendlyName ?? customerName;
  const fingerprint = await fingerprintOf({ ...described, customerFriendlyName: friendlyName });
  const idempotencyKey = explicitKey(headerKey, request);
  const key = idempotencyKey === null ? null : PROVISION_NAMESPACE + idempotencyKey;
  const claim = key === null ? null : await claimKey(env, organizationId, key, request.customerId);
  if (claim && claim.customerId !== request.customerId) {
    return refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');
  }
  const answer = await ask(customerByName(env, organizationId, request.customerId), (customer) =>
    customer.provision({
      organizationId,
      customerId: request.customerId,
      defaultPlan: defaultPlan && JSON.stringify(defaultPlan),
      contact: { friendlyName, email: request.customerEmail, stripeCustomerId: request.stripeCustomerId },
      idempotencyKey,
      fingerprint,
      ...(models && { models }),
    }),
  );
  if (!answer.ok && key !== null && claim?.fresh) await releaseKey(env, organizationId, key, request.customerId);
  return answer;
}

export function readUsage({ env, organization }: Caller, customerId: string): Promise<Answer<CustomerUsageData>> {
  const { organizationId, models } = organization;
  return ask(customerByName(env, organizationId, customerId), (customer) =>
    customer.readUsage({ organizationId, ...(models && { models }) }),
  );
}
