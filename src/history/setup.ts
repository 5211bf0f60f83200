/**
 * Whether D1 has the data of a working deployment, and the progress of an organization towards its first call.
 */

import { and, desc, eq, gt, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { configDatabase, type Database, database, databaseNames, namedDatabase } from '../config/database.ts';
import type { CallStatus } from '../domain/call.ts';
import type { CallId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { apiKeys, calls, customers, planVersions, usageHours, vendorCredentials, webhooks } from './schema/index.ts';

/** A known cost is searched for in this many of the newest calls, and this many hours of usage. */
const ROWS_SEARCHED_MAX = 1_000;

/** Whether some organization has a usable key. Throws if the tables are missing. */
export async function hasConfiguration(env: Env): Promise<boolean> {
  const rows = await configDatabase(env)
    .select({ one: sql`1` })
    .from(apiKeys)
    .where(isNull(apiKeys.revokedAtMs))
    .limit(1);
  return rows.length > 0;
}

/** Whether any organization has a customer: the first call creates one. */
export async function hasCustomers(env: Env): Promise<boolean> {
  for (const name of databaseNames(env)) {
    const rows = await namedDatabase(env, name).select({ one: sql`1` }).from(customers).limit(1);
    if (rows.length > 0) return true;
  }
  return false;
}

export interface OrganizationConfigured {
  plan: boolean;
  key: boolean;
  vendor: boolean;
  webhook: boolean;
}

/** The configured parts of an organization. A key counts while it is usable. */
export async function findConfigured(
  env: Env,
  organizationId: OrganizationId,
  nowMs: number,
): Promise<OrganizationConfigured> {
  const db = configDatabase(env);
  const [plan, key, vendor, webhook] = await Promise.all([
    hasRow(db, planVersions, eq(planVersions.organizationId, organizationId)),
    hasRow(
      db,
      apiKeys,
      and(
        eq(apiKeys.organizationId, organizationId),
        isNull(apiKeys.revokedAtMs),
        or(isNull(apiKeys.expiresAtMs), gt(apiKeys.expiresAtMs, nowMs)),
      ),
    ),
    hasRow(db, vendorCredentials, eq(vendorCredentials.organizationId, organizationId)),
    hasRow(db, webhooks, eq(webhooks.organizationId, organizationId)),
  ]);
  return { plan, key, vendor, webhook };
}

export interface OrganizationCalled {
  /** The newest call that lists still show. */
  last: { callId: CallId; status: CallStatus } | null;
  /** Whether there was a call; sums remember it longer than lists. */
  called: boolean;
  /** Whether a call ended with a known cost. */
  priced: boolean;
}

export async function findCalled(env: Env, organizationId: OrganizationId): Promise<OrganizationCalled> {
  const db = await database(env, organizationId);
  const hours = eq(usageHours.organizationId, organizationId);
  const [last] = await db
    .select({ callId: calls.callId, status: calls.status })
    .from(calls)
    .where(eq(calls.organizationId, organizationId))
    .orderBy(desc(calls.startedAtMs))
    .limit(1);
  const called = last !== undefined || (await hasRow(db, usageHours, hours));
  if (!called) return { last: null, called, priced: false };
  const newest = db
    .select({ costNanoUsd: calls.costNanoUsd })
    .from(calls)
    .where(eq(calls.organizationId, organizationId))
    .orderBy(desc(calls.startedAtMs))
    .limit(ROWS_SEARCHED_MAX)
    .as('newest');
  const summed = db
    .select({ costUsd: usageHours.costUsd, costRestNanoUsd: usageHours.costRestNanoUsd })
    .from(usageHours)
    .where(hours)
    .limit(ROWS_SEARCHED_MAX)
    .as('summed');
  const [priced] = await db.select({ one: sql`1` }).from(newest).where(isNotNull(newest.costNanoUsd)).limit(1);
  const [sum] = priced
    ? [priced]
    : await db
        .select({ one: sql`1` })
        .from(summed)
        .where(or(gt(summed.costUsd, 0), gt(summed.costRestNanoUsd, 0)))
        .limit(1);
  return { last: last ? { ...last, status: last.status as CallStatus } : null, called, priced: sum !== undefined };
}

async function hasRow(db: Database, table: SQLiteTable, where: SQL | undefined): Promise<boolean> {
  const rows = await db.select({ one: sql`1` }).from(table).where(where).limit(1);
  return rows.length > 0;
}
