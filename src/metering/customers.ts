/**
 * Use cases: provision a customer, and read what a customer has now.
 */
import type { CustomerUsageData, ProvisionCustomerData, ProvisionCustomerRequest } from '../contract/customers.ts';
import type { Answer } from '../contract/errors.ts';
import { ask, customerByName } from '../storage/objects.ts';
import type { Caller } from './caller.ts';
import { explicitKey, fingerprintOf } from './idempotency.ts';

export async function provisionCustomer(
  { env, organization }: Caller,
  request: ProvisionCustomerRequest,
  headerKey: string | null,
): Promise<Answer<ProvisionCustomerData>> {
  const { organizationId, defaultPlan, models } = organization;
  const { customerName, ...described } = request;
  const friendlyName = request.customerFriendlyName ?? customerName;
  const fingerprint = await fingerprintOf({ ...described, customerFriendlyName: friendlyName });
  return ask(customerByName(env, organizationId, request.customerId), (customer) =>
    customer.provision({
      organizationId,
      customerId: request.customerId,
      defaultPlan,
      contact: { friendlyName, email: request.customerEmail, stripeCustomerId: request.stripeCustomerId },
      idempotencyKey: explicitKey(headerKey, request),
      fingerprint,
      ...(models && { models }),
    }),
  );
}

export function readUsage({ env, organization }: Caller, customerId: string): Promise<Answer<CustomerUsageData>> {
  const { organizationId, models } = organization;
  return ask(customerByName(env, organizationId, customerId), (customer) =>
    customer.readUsage({ organizationId, ...(models && { models }) }),
  );
}
