/**
 * API keys and their data: one D1 read gives the key's permissions and its organization's configuration.
 */

import { and, desc, eq, isNull, lt, type SQL, sql } from 'drizzle-orm';
import { buildRates, type OwnPrice, type OwnPrices } from '../catalog/prices.ts';
import type { KeyLimits } from '../contract/key-limits.ts';
import type { Retention } from '../contract/operator.ts';
import { type KeyPrefix, LEGACY_PERMISSIONS, type LegacyGrant, type Scope, SERVER_SCOPES } from '../contract/scopes.ts';
import type { ClientScope } from '../contract/sessions.ts';
import type { CustomerId, KeyId, OrganizationId } from '../domain/ids.ts';
import { aliasModels, type TierModels, tierModels } from '../domain/model-mappings.ts';
import type { Alerts, PlanVersion } from '../domain/plan.ts';
import { DEFAULT_SAMPLING_POLICY } from '../domain/sampling.ts';
import type { VendorKind } from '../domain/vendor-kind.ts';
import type { Env } from '../env.ts';
import { remember } from '../platform/isolate-memory.ts';
import { log } from '../platform/log.ts';
import { HOUR_MS } from '../platform/time.ts';
import { hasChangedSince } from './change-marks.ts';
import { ConfigCache } from './config-cache.ts';
import { configDatabase } from './database.ts';
import { withRetentionDefaults } from './kept-part.ts';
import { PRICES_MAX } from './prices.ts';
import { type VersionedPolicy, versionedPolicy } from './sampling.ts';
import { apiKeys, organizationPrices, organizations, planVersions, vendorCredentials } from './schema/index.ts';
import type { TokenHolder } from './session-token.ts';
import { VENDORS_MAX, withKind } from './vendors.ts';

export interface OrganizationConfig {
  organizationId: OrganizationId;
  /** The newest version of the plan that new customers get. */
  defaultPlan: PlanVersion | null;
  /** The models that are mapped to the tiers. */
  models: TierModels | null;
  /** The models of its named aliases. */
  aliases: ReadonlyMap<string, readonly string[]>;
  /** The organization's own prices, by model key. */
  prices: OwnPrices;
  /** The organization's access to vendors, by provider. */
  vendors: ReadonlyMap<string, VendorCredential>;
  /** Origins of the vendors' addresses. */
  vendorOrigins: readonly string[];
  /** Sessions, and calls that credit pays, may use models whose price is not known. */
  allowUnpricedModels: boolean;
  /** The costs without a bound or a rate that credit may pay for, in the form of `contract/credit-open.ts`. */
  creditOpen: readonly string[];
  /** The address at which its customers buy more; `null` if there is none. */
  upgradeUrl: string | null;
  /** The most bytes of its samples. */
  sampleBytesMax: number;
  /** Days for which its history is kept. */
  retention: Retention;
  /** The alerts of plans that set none; `null` if it has none of its own. */
  alerts: Alerts | null;
  /** The policy that selects calls to store for review. */
  sampling: VersionedPolicy;
}

export interface VendorCredential {
  baseUrl: string;
  kind: VendorKind;
  /** Encrypted; see `openVendorKey`. */
  sealedKey: string;
  /** A cost that the vendor itself reports is the call's cost. */
  useReportedCost: boolean;
  /** Headers that each request gets. */
  headers: Readonly<Record<string, string>>;
  /** Paths that are open to callers, in the form of `domain/open-paths.ts`. */
  passthrough: readonly string[];
}

export interface Credential {
  keyId: KeyId;
  permissions: ReadonlySet<Scope | LegacyGrant>;
  organization: OrganizationConfig;
  /** The models and features that the key may be used for; absent if it has no limits. */
  limits?: KeyLimits | undefined;
  /** The key works before this instant; `null` means without an end. */
  expiresAtMs: number | null;
  /** Present if a session token was sent instead of the key: its session. */
  session?: Session;
}

export interface Session extends TokenHolder {
  customerId: CustomerId;
  scopes: readonly ClientScope[];
  /** The feature and tags of each of its calls. */
  feature?: string | undefined;
  tags?: string[] | undefined;
  /** The models that it may use; absent if it may use any. */
  models?: readonly string[] | undefined;
}

/** The use of a key is recorded when it is read, if the last record is this old. */
const USE_RECORDED_MS = HOUR_MS;
/** The most keys that one isolate remembers. */
const CREDENTIALS_MAX = 10_000;

const cache = remember(() => new ConfigCache<Credential>(CREDENTIALS_MAX));

/** The credential of a key, by the SHA-256 of its value; `null` for an unknown, revoked or expired one. */
export async function findCredential(
  env: Env,
  keyHash: string,
  defer: (work: Promise<unknown>) => void,
): Promise<Credential | null> {
  const load = () => loadCredential(env, eq(apiKeys.keyHash, keyHash), defer);
  return unlessExpired(await cache.value.get(keyHash, env.CONFIG_TTL_MS, load, defer, askForChange(env)));
}

/** The credential of the key that a session was issued for; `null` for a revoked or expired one. */
export async function findCredentialById(
  env: Env,
  keyId: KeyId,
  defer: (work: Promise<unknown>) => void,
): Promise<Credential | null> {
  const load = () => loadCredential(env, eq(apiKeys.keyId, keyId), defer);
  return unlessExpired(await cache.value.get(`id ${keyId}`, env.CONFIG_TTL_MS, load, defer, askForChange(env)));
}

const askForChange =
  (env: Env) =>
  ({ organization }: Credential, readAtMs: number) =>
    hasChangedSince(env, organization.organizationId, readAtMs);

/** A remembered credential also ends at its instant. */
function unlessExpired(credential: Credential | null): Credential | null {
  return credential?.expiresAtMs != null && credential.expiresAtMs <= Date.now() ? null : credential;
}

async function loadCredential(
  env: Env,
  isKey: SQL,
  defer: (work: Promise<unknown>) => void,
): Promise<Credential | null> {
  const [row] = await configDatabase(env)
    .select({ key: apiKeys, organization: organizations, plan: planVersions })
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.organizationId, apiKeys.organizationId))
    .leftJoin(planVersions, isDefaultPlan())
    .where(and(isKey, isNull(apiKeys.revokedAtMs)));
  if (!row) return null;
  const { key, organization, plan } = row;
  const nowMs = Date.now();
  if (nowMs - (key.lastUsedAtMs ?? 0) >= USE_RECORDED_MS) defer(recordUse(env, key.keyId, nowMs));
  return {
    keyId: key.keyId,
    permissions: new Set(key.scopes ?? historicalPermissions(key.prefix as KeyPrefix)),
    ...((key.models ?? key.features) && { limits: { models: key.models, features: key.features } }),
    expiresAtMs: key.expiresAtMs,
    organization: await buildConfig(env, organization, plan),
  };
}

/** Best effort. If several isolates find the hour over, only one writes. */
async function recordUse(env: Env, keyId: KeyId, nowMs: number): Promise<void> {
  try {
    await configDatabase(env)
      .update(apiKeys)
      .set({ lastUsedAtMs: nowMs })
      .where(and(eq(apiKeys.keyId, keyId), lt(sql`COALESCE(${apiKeys.lastUsedAtMs}, 0)`, nowMs - USE_RECORDED_MS / 2)));
  } catch (error) {
    log('warn', 'key_use_not_recorded', { keyId }, error);
  }
}

/** The configuration of an organization, for work that continues without a request; `null` if it does not exist. */
export async function loadOrganization(env: Env, organizationId: OrganizationId): Promise<OrganizationConfig | null> {
  const [row] = await configDatabase(env)
    .select({ organization: organizations, plan: planVersions })
    .from(organizations)
    .leftJoin(planVersions, isDefaultPlan())
    .where(eq(organizations.organizationId, organizationId));
  return row ? buildConfig(env, row.organization, row.plan) : null;
}

/** Joins the newest version of the organization's default plan. */
function isDefaultPlan(): SQL | undefined {
  const newest = sql`(SELECT MAX(newest.version) FROM plan_versions newest
    WHERE newest.organization_id = ${organizations.organizationId} AND newest.plan_id = ${organizations.defaultPlanId})`;
  return and(
    eq(planVersions.organizationId, organizations.organizationId),
    eq(planVersions.planId, organizations.defaultPlanId),
    eq(planVersions.version, newest),
  );
}

async function buildConfig(
  env: Env,
  {
    organizationId,
    models,
    sampling,
    allowUnpricedModels,
    creditOpen,
    upgradeUrl,
    sampleBytesMax,
    retention,
    alerts,
  }: typeof organizations.$inferSelect,
  plan: typeof planVersions.$inferSelect | null,
): Promise<OrganizationConfig> {
  const db = configDatabase(env);
  const [prices, vendors] = await db.batch([
    db
      .select()
      .from(organizationPrices)
      .where(eq(organizationPrices.organizationId, organizationId))
      .orderBy(desc(organizationPrices.effectiveFromMs))
      .limit(PRICES_MAX),
    db.select().from(vendorCredentials).where(eq(vendorCredentials.organizationId, organizationId)).limit(VENDORS_MAX),
  ]);
  return {
    organizationId,
    defaultPlan: plan && {
      planId: plan.planId,
      usagePlanVersionId: plan.usagePlanVersionId,
      version: plan.version,
      plan: plan.content,
    },
    models: models && tierModels(models),
    aliases: models ? aliasModels(models) : new Map(),
    prices: groupOwnPrices(prices),
    vendors: new Map(
      vendors.map(withKind).map(({ provider, baseUrl, kind, sealedKey, useReportedCost, headers, passthrough }) => [
        provider,
        {
          baseUrl,
          kind,
          sealedKey,
          useReportedCost,
          headers: headers ?? {},
          passthrough: passthrough ?? [],
        },
      ]),
    ),
    vendorOrigins: vendors.map(({ baseUrl }) => new URL(baseUrl).origin),
    allowUnpricedModels,
    creditOpen,
    upgradeUrl,
    sampleBytesMax,
    retention: withRetentionDefaults(retention),
    alerts,
    sampling: await versionedPolicy(sampling ?? DEFAULT_SAMPLING_POLICY),
  };
}

/** By model; the price of each that came into force last is first. */
function groupOwnPrices(rows: readonly (typeof organizationPrices.$inferSelect)[]): OwnPrices {
  const prices = new Map<string, OwnPrice[]>();
  for (const { modelKey, effectiveFromMs, snapshotId, rates } of rows) {
    // An own price holds in every region, unless it or the catalog has rates for one.
    const card = { snapshotId, provider: OWN_PROVIDER, modelKey, rates: buildRates(rates), regionalPercent: 100 };
    const price = { fromMs: effectiveFromMs, card, strict: rates.strict };
    prices.set(modelKey, [...(prices.get(modelKey) ?? []), price]);
  }
  return prices;
}

/** The provider of own prices. */
const OWN_PROVIDER = 'organization';

function historicalPermissions(prefix: KeyPrefix): readonly (Scope | LegacyGrant)[] {
  return prefix === 'utk-' ? SERVER_SCOPES : LEGACY_PERMISSIONS[prefix];
}
