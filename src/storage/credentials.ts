/**
 * API keys and what comes with them: one D1 read gives the key's permissions and its organization's configuration.
 */
import { and, eq, isNull, sql } from 'drizzle-orm';
import { type KeyPrefix, LEGACY_PERMISSIONS, type LegacyGrant, type Scope, SERVER_SCOPES } from '../contract/scopes.ts';
import { nanoFromUsd } from '../domain/money.ts';
import type { PlanVersion } from '../domain/plan.ts';
import type { RateCard } from '../domain/pricing.ts';
import type { Env } from '../env.ts';
import { ConfigCache } from './config-cache.ts';
import { database } from './database.ts';
import { apiKeys, type ModelMappings, organizationPrices, organizations, planVersions } from './schema.ts';

export interface OrganizationConfig {
  organizationId: string;
  /** Newest version of the plan that new customers get. */
  defaultPlan: PlanVersion | null;
  models: ModelMappings | null;
  /** The organization's own prices, by the key that they are kept under. */
  prices: ReadonlyMap<string, RateCard>;
}

export interface Credential {
  keyId: string;
  permissions: ReadonlySet<Scope | LegacyGrant>;
  organization: OrganizationConfig;
}

/** Own prices of one organization that are in force. */
const PRICES_MAX = 1_000;
/** Keys that one isolate remembers. */
const CREDENTIALS_MAX = 10_000;

const cache = new ConfigCache<Credential>(CREDENTIALS_MAX);

/** The credential of a key, by the SHA-256 of its value; `null` for an unknown or revoked one. */
export function findCredential(env: Env, keyHash: string, defer: (work: Promise<unknown>) => void): Promise<Credential | null> {
  return cache.get(keyHash, env.CONFIG_TTL_MS, () => loadCredential(env, keyHash), defer);
}

async function loadCredential(env: Env, keyHash: string): Promise<Credential | null> {
  const newest = sql`(SELECT MAX(newest.version) FROM plan_versions newest
    WHERE newest.organization_id = ${organizations.organizationId} AND newest.plan_id = ${organizations.defaultPlanId})`;
  const db = database(env.DB);
  const [row] = await db
    .select({ key: apiKeys, models: organizations.models, plan: planVersions })
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.organizationId, apiKeys.organizationId))
    .leftJoin(
      planVersions,
      and(
        eq(planVersions.organizationId, organizations.organizationId),
        eq(planVersions.planId, organizations.defaultPlanId),
        eq(planVersions.version, newest),
      ),
    )
    .where(and(eq(apiKeys.keyHash, keyHash), isNull(apiKeys.revokedAtMs)));
  if (!row) return null;
  const { key, models, plan } = row;
  const prices = await db
    .select()
    .from(organizationPrices)
    .where(eq(organizationPrices.organizationId, key.organizationId))
    .limit(PRICES_MAX);
  return {
    keyId: key.keyId,
    permissions: new Set(key.scopes ?? historicalPermissions(key.prefix as KeyPrefix)),
    organization: {
      organizationId: key.organizationId,
      defaultPlan: plan && { planId: plan.planId, usagePlanVersionId: plan.usagePlanVersionId, version: plan.version, plan: plan.content },
      models,
      prices: new Map(prices.map((price) => [price.modelKey, cardOf(price)])),
    },
  };
}

function cardOf({ modelKey, snapshotId, rates }: typeof organizationPrices.$inferSelect): RateCard {
  const optional = (name: 'cachedInput' | 'cacheWrite', usd: number | undefined) => (usd === undefined ? {} : { [name]: nanoFromUsd(usd) });
  return {
    snapshotId,
    provider: 'organization',
    modelKey,
    rates: {
      input: nanoFromUsd(rates.inputUsdPerMillion),
      output: nanoFromUsd(rates.outputUsdPerMillion),
      ...optional('cachedInput', rates.cachedInputUsdPerMillion),
      ...optional('cacheWrite', rates.cacheWriteUsdPerMillion),
    },
    tiers: [],
  };
}

function historicalPermissions(prefix: KeyPrefix): readonly (Scope | LegacyGrant)[] {
  return prefix === 'utk-' ? SERVER_SCOPES : LEGACY_PERMISSIONS[prefix];
}
