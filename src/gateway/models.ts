/**
 * Resolves the models that a request names to the attempts that can be made: the vendor, the vendor's own name of the
 * model, and the tier whose allowance pays.
 *
 * A vendor without credentials, or without the endpoint, is not attempted, and neither is a model that the API key does
 * not open. No vendor is asked here.
 */

import { findModelLimits, type ModelLimits } from '../catalog/limits.ts';
import type { Catalog } from '../catalog/model.ts';
import { resolvePrice } from '../catalog/prices.ts';
import type { OrganizationConfig } from '../config/credentials.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import { MAPPED_PREFIX } from '../domain/model-mappings.ts';
import { tierOfPrice } from '../domain/price.ts';
import type { ResolvedPrice } from '../domain/pricing.ts';
import { DEFAULT_TIER, type Tier } from '../domain/tiers.ts';
import type { VendorKind } from '../domain/vendor-kind.ts';
import type { Caller } from '../metering/caller.ts';
import { keyModelLimit } from '../metering/key-limits.ts';
import { type Candidate, candidatesFor, type NamedModel } from '../metering/model-names.ts';
import type { Dialect } from './dialects/dialect.ts';
import { type Refused, refuseCall } from './error-envelope.ts';
import { retiredAt } from './retired.ts';

export interface Attempt {
  provider: string;
  kind: VendorKind;
  baseUrl: string;
  /** The vendor's name of the model; empty if the request names none. */
  model: string;
  /** `provider/model`; empty without a model. */
  modelKey: string;
  /** The tier whose allowance pays. */
  tier: Tier;
  /** The price from the catalog or from the organization. */
  price: ResolvedPrice;
  /** The end of the call must state the tier, because the price alone does not decide it. */
  assertsTier: boolean;
  /** Used only if the plan downgrades an exhausted premium allowance to standard models. */
  onDowngrade: boolean;
  limits: ModelLimits;
}

/** The properties of an endpoint that decide which vendors can be asked. */
export type OfferedEndpoint = Pick<Dialect, 'isOfferedBy' | 'takesModel' | 'alternative'> & {
  operation: { path: string };
};

/** The most attempts of one request. */
const ATTEMPTS_MAX = 10;

/** The attempts, in the order in which they are made. */
export async function resolveAttempts(
  caller: Pick<Caller, 'organization' | 'limits'>,
  catalog: Catalog,
  dialect: OfferedEndpoint,
  names: readonly string[],
  nowMs: number,
): Promise<{ ok: true; attempts: Attempt[] } | Refused> {
  const limit = keyModelLimit(caller, catalog, nowMs);
  const { organization } = caller;
  const attempts: Attempt[] = [];
  let firstObstacle: Refused | null = null;
  for (const name of new Set(names)) {
    const candidates = candidatesFor(organization, catalog, name, nowMs);
    if (candidates.length === 0) return modelNotFound(name);
    for (const candidate of candidates) {
      const path = name === names[0] ? 'model' : 'models';
      const obstacle =
        (limit && !limit.open.allows(name, candidate) ? limit.refuse(name, path) : null) ??
        obstacleTo(organization, dialect, candidate) ??
        retiredAt(organization, catalog, candidate, nowMs);
      firstObstacle ??= obstacle;
      if (obstacle === null && attempts.length < ATTEMPTS_MAX)
        attempts.push(await buildAttempt(organization, catalog, candidate, nowMs));
    }
  }
  // Standard models that only stand in for premium ones do not suffice alone.
  if (attempts.some(({ onDowngrade }) => !onDowngrade)) return { ok: true, attempts };
  return firstObstacle ?? refuseCall('BAD_REQUEST', 'no model is left to try', { param: 'model' });
}

export function modelNotFound(name: string): Refused {
  const hint = name.startsWith(MAPPED_PREFIX) ? 'no model is mapped to it' : 'name it as provider/model';
  const message = `the model ${JSON.stringify(name)} is not known; ${hint}`;
  return refuseCall('model_not_found', message, { param: 'model' });
}

/** Names the model that is asked. A name that does not fit into a header is left out. */
export function modelHeader({ modelKey }: Pick<Attempt, 'modelKey'>): Record<string, string> {
  return /^[\x21-\x7e]+$/.test(modelKey) ? { [GATEWAY_HEADERS.modelKey]: modelKey } : {};
}

function obstacleTo(
  { vendors }: OrganizationConfig,
  dialect: OfferedEndpoint,
  { provider, model }: NamedModel,
): Refused | null {
  const vendor = vendors.get(provider);
  if (!vendor) return vendorNotConfigured(provider, 'model');
  const { operation, alternative } = dialect;
  if (dialect.isOfferedBy(vendor.kind)) {
    if (dialect.takesModel?.(model) !== false) return null;
    const rule = 'must have only letters, digits and _ . ~ @ + -, and must not be . or ..';
    return refuseCall('BAD_REQUEST', `the model ${JSON.stringify(model)} ${rule}`, { param: 'model' });
  }
  const advice = alternative === null ? '' : `; use ${alternative}`;
  const message = `the vendor ${provider} does not offer ${operation.path}${advice}`;
  return refuseCall('ENDPOINT_NOT_OFFERED', message, { param: 'model' });
}

export function vendorNotConfigured(provider: string, param: string): Refused {
  const message = `the organization has no credentials for the vendor ${JSON.stringify(provider)}`;
  return refuseCall('VENDOR_NOT_CONFIGURED', message, { param });
}

/** The attempt of a vendor that has credentials, with its price at this time. */
export async function buildAttempt(
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
    kind: vendor.kind,
    baseUrl: vendor.baseUrl,
    model,
    modelKey: model && `${provider}/${model}`,
    tier: tier ?? priced,
    price,
    assertsTier: tier !== null || !price.available,
    onDowngrade,
    limits: findModelLimits(catalog, model, nowMs),
  };
}
