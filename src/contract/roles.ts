/**
 * The rights of a named operator. A role includes the roles before it; the operator token has the role of an admin.
 */
import { z } from 'zod';

export const ROLES = ['viewer', 'editor', 'admin'] as const;

export type OperatorRole = (typeof ROLES)[number];

export const ROLE_MEANINGS: Record<OperatorRole, string> = {
  viewer: 'reads configuration, customers, usage, calls and events',
  editor: 'also changes plans, customers, credits, mappings, prices and sampling, corrects calls, and reads samples',
  admin: 'also creates organizations, keys and webhooks, sets vendors, catalog and operators, exports, and erases',
};

export const OperatorRole = z
  .enum(ROLES)
  .describe(ROLES.map((role) => `\`${role}\` ${ROLE_MEANINGS[role]}`).join('; '));

export function includesRole(held: OperatorRole, required: OperatorRole): boolean {
  return ROLES.indexOf(held) >= ROLES.indexOf(required);
}
