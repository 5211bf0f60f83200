/**
 * The condition that finds rows of one customer, of one organization, or of everybody.
 */
import type { Whose } from '../../src/objects/projector-commands.ts';

export function conditionOf({ organizationId, customerId }: Whose): { condition: string; values: string[] } {
  if (organizationId === undefined) return { condition: 'true', values: [] };
  if (customerId === undefined) return { condition: 'organization_id = ?', values: [organizationId] };
  return { condition: 'organization_id = ? AND customer_id = ?', values: [organizationId, customerId] };
}
