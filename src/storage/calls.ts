/**
 * Calls in D1: the history that the objects no longer hold.
 */
import { and, eq } from 'drizzle-orm';
import type { Call } from '../domain/call.ts';
import type { Env } from '../env.ts';
import { database } from './database.ts';
import { calls } from './schema.ts';

export async function findOldCall(env: Env, organizationId: string, callId: string): Promise<Call | null> {
  const [row] = await database(env.DB)
    .select({ record: calls.record })
    .from(calls)
    .where(and(eq(calls.organizationId, organizationId), eq(calls.callId, callId)));
  return row ? (row.record as Call) : null;
}
