/** Ids for internal functions that tests call themselves. */
import { asCustomerId, asOrganizationId, type CustomerKey } from '../../src/domain/ids.ts';

export function customerKey(organizationId: string, customerId: string): CustomerKey {
  return { organizationId: asOrganizationId(organizationId), customerId: asCustomerId(customerId) };
}
