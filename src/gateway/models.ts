/**
 * From the models that a request names to the attempts that can be made: the vendor, the vendor's own name of the
 * model, and the tier whose allowance pays.
 *
 * A vendor without credentials, or without the endpoint, is not attempted. No vendor is asked here.
 */

import { limitsOf, type ModelLimits } from '../catalog/limits.ts';
import { type Match, matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import { resolvePrice } from '../catalog/prices.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import { vendorProvider } from '../contract/vendors.ts';
import { MAPPED_PREFIX } from '../domain/model-mappings.ts';
import { tierOfPrice } from '../domain/price.ts';
import type { ResolvedPrice } from '../domain/pricing.ts';
import { DEFAULT_TIER, TIERS, type Tier } from '../domain/tiers.ts';
import type { OrganizationConfig } from '../storage/credentials.ts';
import type { Dialect } from './dialects/dialect.ts';
import { type Refused, refuseCall } from './error-envelope.ts';
import type { NamedModel } from './lifecycle-headers.ts';
import { retiredAt } from './retired.ts';

export interface Attempt {
  provider: string;
  baseUrl: string;
  /** As the vendor calls it; empty where the request names none. */
  model: string;
  /** `provider/model`; empty without a model. */
  modelKey: string;
  /** Whose allowance pays. */
  tier: Tier;
  /** Of the catalog or the organization. */
  price: ResolvedPrice;
  /** The end of the call must state the tier, because the price alone does not tell it. */
  assertsTier: boolean;
  /** Only when the plan downgrades an exhausted premium allowance to standard models. */
  onDowngrade: boolean;
  limits: ModelLimits;
}

/** What of an endpoint decides which vendors can be asked. */
export type OfferedEndpoint = Pick<Dialect, 'isOfferedBy' | 'alternative'> & { operation: { path: string } };

/** The most attempts of one request. */
export const ATTEMPTS_MAX = 10;

interface Candidate extends NamedModel {
  /** The tier that a mapped model is mapped to; `null` lets the price decide. */
  tier: Tier | null;
  onDowngrade: boolean;
}

/** The attempts, in the order in which they are made. */
export async function resolveAttempts(
  organization: OrganizationConfig,
  catalog: Catalog,
  dialect: OfferedEndpoint,
  names: readonly string[],
  nowMs: number,
): Promise<{ ok: true; attempts: Attempt[] } | Refused> {
  const attempts: Attempt[] = [];
  let firstObstacle: Refused | null = null;
  for (const name of new Set(names)) {
    const candidates = candidatesFor(organization, catalog, name, nowMs);
    if (candidates.length === 0) return modelNotFound(name);
    for (const candidate of candidates) {
      const obstacle =
        obstacleTo(organization, dialect, candidate) ?? retiredAt(organization, catalog, candidate, nowMs);
      firstObstacle ??= obstacle;
      if (obstacle === null && attempts.length < ATTEMPTS_MAX)
        attempts.push(await attemptOf(organization, catalog, candidate, nowMs));
    }
  }
  // Standard models that only stand in for premium ones are not enough by themselves.
  if (attempts.some(({ onDowngrade }) => !onDowngrade)) return { ok: true, attempts };
  return firstObstacle ?? refuseCall('BAD_REQUEST', 'no model is left to try', { param: 'model' });
}

export function modelNotFound(name: string): Refused {
  const hint = name.startsWith(MAPPED_PREFIX) ? 'no model is mapped to it' : 'name it as provider/model';
  const message = `the model ${JSON.stringify(name)} is not known; ${hint}`;
  return refuseCall('model_not_found', message, { param: 'model' });
}

/** The vendor of a named model, and what the vendor calls it; `null` where that is not certain. */
export function nameModel(
  { vendors }: OrganizationConfig,
  catalog: Catalog,
  name: string,
  nowMs: number,
): NamedModel | null {
  const slash = name.indexOf('/');
  if (slash < 0) {
    const match = matchModel(catalog, name, nowMs);
    return match && { provider: match.model.provider, model: vendorName(match, name) };
  }
  const prefix = name.slice(0, slash);
  const model = name.slice(slash + 1);
  if (model === '' || prefix === MAPPED_PREFIX.slice(0, -1)) return null;
  // People often prefix Google's models with the name of the family; any other prefix is a vendor.
  if (prefix === 'gemini' && !vendors.has(prefix)) return { provider: 'google', model };
  return vendorProvider.safeParse(prefix).success ? { provider: prefix, model } : null;
}

/** The requested spelling where it is the vendor's own, else the catalog's. */
function vendorName({ model, strategy }: Match, requested: string): string {
  const pinned = strategy === 'snapshot' && requested.length > model.model.length;
  return strategy === 'exact' || strategy === 'alias' || pinned ? requested : model.model;
}

/** The models that a name stands for, in order; empty where that is not certain. */
export function candidatesFor(
  organization: OrganizationConfig,
  catalog: Catalog,
  name: string,
  nowMs: number,
): Candidate[] {
  const named = (names: readonly string[], tier: Tier | null, onDowngrade: boolean): Candidate[] =>
    names.flatMap((one) => {
      const model = nameModel(organization, catalog, one, nowMs);
      return model ? [{ ...model, tier, onDowngrade }] : [];
    });
  const requested = mappedTier(name);
  if (requested === null) return named(aliased(organization, name) ?? [name], null, false);
  const mapped = (tier: Tier) => named(organization.models?.[tier] ?? [], tier, tier !== requested);
  const own = mapped(requested);
  const lower = TIERS.slice(0, TIERS.indexOf(requested)).reverse();
  return own.length === 0 ? [] : [...own, ...lower.flatMap(mapped)];
}

/** Says which model is asked. One whose name cannot travel in a header is left out. */
export function modelHeader({ modelKey }: Pick<Attempt, 'modelKey'>): Record<string, string> {
  return /^[\x21-\x7e]+$/.test(modelKey) ? { [GATEWAY_HEADERS.modelKey]: modelKey } : {};
}

/** The tier that `service/<tier>` names; `null` for any other name. */
export function mappedTier(name: string): Tier | null {
  return TIERS.find((tier) => name === `${MAPPED_PREFIX}${tier}`) ?? null;
}

/** The models of the named alias; `null` for a name that is none. */
export function aliased({ aliases }: OrganizationConfig, name: string): readonly string[] | null {
  return name.startsWith(MAPPED_PREFIX) ? (aliases.get(name.slice(MAPPED_PREFIX.length)) ?? null) : null;
}

function obstacleTo(
  { vendors }: OrganizationConfig,
  dialect: OfferedEndpoint,
  { provider }: NamedModel,
): Refused | null {
  if (!vendors.has(provider)) return vendorNotConfigured(provider, 'model');
  const { operation, alternative } = dialect;
  if (dialect.isOfferedBy(provider)) return null;
  const advice = alternative === null ? '' : `; use ${alternative}`;
  const message = `the vendor ${provider} does not offer ${operation.path}${advice}`;
  return refuseCall('ENDPOINT_NOT_OFFERED', message, { param: 'model' });
}

export function vendorNotConfigured(provider: string, param: string): Refused {
  const message = `the organization has no credentials for the vendor ${JSON.stringify(provider)}`;
  return refuseCall('VENDOR_NOT_CONFIGURED', message, { param });
}

/** The attempt of a vendor that has credentials, with its price at this time. */
export async function attemptOf(
  organization: OrganizationConfig,
  catalog: Catalog,
  candidate: Candidate,
  nowMs: number,
): Promise<Attempt> {
  const { provider, model, tier, onDowngrade } = candidate;
  const vendor = organization.vendors.get(provider);
  if (!vendor) throw new Error('an attempt has a vendor with credentials');
  const price = await resolvePrice(
    catalog,
    organization.prices,
    { modelUsed: model || undefined, providerUsed: provider },
    nowMs,
  );
  const priced: Tier = price.available ? tierOfPrice(price.card) : DEFAULT_TIER;
  return {
    provider,
    baseUrl: vendor.baseUrl,
    model,
    modelKey: model && `${provider}/${model}`,
    tier: tier ?? priced,
    price,
    assertsTier: tier !== null || !price.available,
    onDowngrade,
    limits: limitsOf(catalog, model, nowMs),
  };
}
