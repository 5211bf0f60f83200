/**
 * Identifies the operator of a request, by the operator token or by Cloudflare Access; and decides whether the role is
 * enough.
 */

import { findOperator } from '../config/operators.ts';
import { type Result, refuse } from '../contract/errors.ts';
import { includesRole, type OperatorRole } from '../contract/roles.ts';
import type { Env } from '../env.ts';
import { accessApplication, verifyAccessToken } from '../platform/access-token.ts';
import { unreadable } from '../platform/unavailable.ts';

export interface Operator {
  /** The name in the event log. */
  name: string;
  /** `null`: Access let the person in, but no admin has given a role. */
  role: OperatorRole | null;
}

/** The holder of the operator token. */
export const TOKEN_OPERATOR: Operator = { name: 'operator', role: 'admin' };

/** The operator of a token of Access; `null` if Access is not configured, or the token is not valid. */
export async function namedOperator(env: Env, token: string | undefined, nowMs: number): Promise<Operator | null> {
  const application = accessApplication(env.ACCESS_TEAM_DOMAIN, env.ACCESS_AUD);
  if (!application || token === undefined) return null;
  const name = await verifyAccessToken(application, token, nowMs);
  if (name === null) return null;
  try {
    return { name, role: (await findOperator(env, name))?.role ?? null };
  } catch (error) {
    throw unreadable(error);
  }
}

export function requireRole({ name, role }: Operator, requiredRole: OperatorRole): Result {
  if (role !== null && includesRole(role, requiredRole)) return { ok: true };
  const held = role === null ? 'has no role; an admin gives one' : `has the role ${role}`;
  return refuse('OPERATOR_ROLE_REQUIRED', `this needs the role ${requiredRole}, and ${name} ${held}`, {
    members: { reason: 'OPERATOR_ROLE_REQUIRED', requiredRole, role },
  });
}

/**
 * The key space of an operator's idempotency keys for an operation: each named operator has keys of their own, so that
 * nobody gets an answer of another operator, such as a new API key.
 */
export function idempotencySpace(operationId: string, { name }: Operator): string {
  return name === TOKEN_OPERATOR.name ? operationId : `${operationId} ${name}`;
}
