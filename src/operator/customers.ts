/**
 * A customer as the operator sees it, and the operator's hand on a subscription.
 */
import type { CustomerUsageData } from '../contract/customers.ts';
import type { Answer } from '../contract/errors.ts';
import type { OperatorCustomer } from '../contract/operator.ts';
import type { Env } from '../env.ts';
import { ask, customerByName } from '../storage/objects.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

export async function inspectCustomer(env: Env, organizationId: string, customerId: string): Promise<Answer<OperatorCustomer>> {
  const organization = await findOrganization(env, organizationId);
  if (!organization) return noOrganization();
  const command = { organizationId, ...(organization.models && { models: organization.models }) };
  return ask(customerByName(env, organizationId, customerId), (customer) => customer.inspect(command));
}

/** The object's own command is idempotent, so the change is made there first and then logged. */
export function setCanceled(
  request: OperatorRequest,
  organizationId: string,
  customerId: string,
  canceled: boolean,
): Promise<Answer<CustomerUsageData>> {
  return commitChange<CustomerUsageData>(request, async () => {
    const organization = await findOrganization(request.env, organizationId);
    if (!organization) return noOrganization();
    const command = { organizationId, ...(organization.models && { models: organization.models }) };
    const address = customerByName(request.env, organizationId, customerId);
    const before = await ask(address, (customer) => customer.readUsage(command));
    if (!before.ok) return before;
    const after = await ask(address, (customer) => customer.setCanceled({ ...command, canceled }));
    if (!after.ok) return after;
    return {
      action: canceled ? 'customer.cancel' : 'customer.reactivate',
      organizationId,
      subject: customerId,
      before: { canceled: before.data.canceled },
      after: { canceled: after.data.canceled },
      statements: [],
      replaces: false,
      code: after.result.code,
      data: after.data,
    };
  });
}
