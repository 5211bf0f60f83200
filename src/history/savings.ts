/**
 * The savings of prompt compression, summed from the calls in D1.
 */

import { and, desc, eq, gte, isNotNull, isNull, lt, type SQL, sql } from 'drizzle-orm';
import { database } from '../config/database.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { type NanoUsd, nanoOfParts } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { calls } from './schema/index.ts';

export interface SavingsSums {
  calls: number;
  unpricedCalls: number;
  originalTokens: number;
  compressedTokens: number;
  savedTokens: number;
  costAvoidedNanoUsd: NanoUsd;
}

/** As text, because D1 rounds numbers above 2^53. */
const sum = (column: SQL) => sql<string>`CAST(COALESCE(SUM(${column}), 0) AS TEXT)`;
const avoided = sql`${calls.costAvoidedNanoUsd}`;
const SAVED = sql`SUM(${calls.savedTokens})`;

const SUMS = {
  calls: sql<number>`COUNT(*)`.mapWith(Number),
  unpricedCalls: sql<number>`COUNT(*) - COUNT(${calls.costAvoidedNanoUsd})`.mapWith(Number),
  originalTokens: sum(sql`${calls.originalTokens}`).mapWith(Number),
  compressedTokens: sum(sql`${calls.compressedTokens}`).mapWith(Number),
  savedTokens: sum(sql`${calls.savedTokens}`).mapWith(Number),
  // In two parts, because the sum may exceed 64 bits.
  avoidedUsd: sum(sql`${avoided} / 1000000000`),
  avoidedRestNanoUsd: sum(sql`${avoided} % 1000000000`),
};

/** Savings of the calls that began in [fromMs, toMs) and were not reversed: in total, by feature and by technique. */
export async function sumSavings(
  env: Env,
  organizationId: OrganizationId,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  groupsMax: number,
) {
  const db = await database(env, organizationId);
  const recorded = and(
    eq(calls.organizationId, organizationId),
    gte(calls.startedAtMs, fromMs),
    lt(calls.startedAtMs, toMs),
    isNotNull(calls.originalTokens),
    isNull(calls.reversedAtMs),
  );
  const technique = sql`json_each(${calls.compressionTechniques}) AS technique`;
  const techniqueName = sql<string>`technique.value`;
  const [totals, byFeature, byTechnique] = await db.batch([
    db.select(SUMS).from(calls).where(recorded),
    db
      .select({ feature: calls.feature, ...SUMS })
      .from(calls)
      .where(recorded)
      .groupBy(calls.feature)
      .orderBy(desc(SAVED), calls.feature)
      .limit(groupsMax),
    db
      .select({ technique: techniqueName, ...SUMS })
      .from(calls)
      .innerJoin(technique, sql`true`)
      .where(recorded)
      .groupBy(techniqueName)
      .orderBy(desc(SAVED), techniqueName)
      .limit(groupsMax),
  ]);
  const [total] = totals;
  if (!total) throw new Error('a sum has one row');
  return {
    total: withExactCosts(total),
    byFeature: byFeature.map(withExactCosts),
    byTechnique: byTechnique.map(withExactCosts),
  };
}

function withExactCosts<Row extends { avoidedUsd: string; avoidedRestNanoUsd: string }>({
  avoidedUsd,
  avoidedRestNanoUsd,
  ...row
}: Row) {
  return { ...row, costAvoidedNanoUsd: nanoOfParts(avoidedUsd, avoidedRestNanoUsd) };
}
