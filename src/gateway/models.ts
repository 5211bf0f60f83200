/**
 * From the models that a request names to the attempts that can be made: vendor, the vendor's own name of the model,
 * and the tier whose allowance will pay.
 *
 * A vendor without credentials, or without the endpoint that is asked for, is no attempt. Nothing is asked of a vendor
 * here.
 */

import { type Match, matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import { resolvePrice } from '../catalog/prices.ts';
import { vendorProvider } from '../contract/vendors.ts';
import { isPremiumPrice } from '../domain/pricing.ts';
import type { Tier } from '../domain/tiers.ts';
import type { OrganizationConfig } from '../storage/credentials.ts';
import type { Failure } from './answer.ts';

export type Endpoint = 'chat/completions' | 'responses' | 'embeddings';

export interface Attempt {
  provider: string;
  baseUrl: string;
  /** As the vendor calls it. */
  model: string;
  /** `provider/model`. */
  modelKey: string;
  /** Whose allowance pays. */
  tier: Tier;
  /** What it costs is known. */
  priced: boolean;
  /** The tier is said at the end of the call, because the price alone would not tell it. */
  assertsTier: boolean;
  /** Only where the plan offers standard models for a premium allowance that is used up. */
  onDowngrade: boolean;
  /** Levels of reasoning effort; absent where the catalog does not say. */
  efforts: readonly string[] | undefined;
}

/** Attempts of one request. */
export const ATTEMPTS_MAX = 10;
/** Our own names for the organization's mapping. */
export const MAPPED_PREFIX = 'service/';

/** Endpoints that a vendor does not offer in OpenAI's form. */
const NOT_OFFERED: Readonly<Record<string, readonly Endpoint[]>> = {
  anthropic: ['responses', 'embeddings'],
  google: ['responses'],
};

/** A model at a vendor. */
export interface NamedModel {
  provider: string;
  model: string;
}

interface Wanted extends NamedModel {
  /** Of a mapped model: the mapping decides. */
  tier: Tier | null;
  onDowngrade: boolean;
}

/** The attempts in the order in which they are made; or why there are none. */
export async function resolveAttempts(
  organization: OrganizationConfig,
  catalog: Catalog,
  endpoint: Endpoint,
  names: readonly string[],
  nowMs: number,
): Promise<Attempt[] | Failure> {
  const attempts: Attempt[] = [];
  let obstacle: Failure | null = null;
  for (const name of new Set(names)) {
    const wanted = wantedBy(organization, catalog, name);
    if (wanted.length === 0) return modelNotFound(name);
    for (const model of wanted) {
      const found = obstacleTo(organization, endpoint, model);
      obstacle ??= found;
      if (found === null && attempts.length < ATTEMPTS_MAX)
        attempts.push(await attemptOf(organization, catalog, model, nowMs));
    }
  }
  // Standard models that stand in for premium ones are no attempt of their own.
  if (attempts.some(({ onDowngrade }) => !onDowngrade)) return attempts;
  return obstacle ?? { status: 400, code: 'BAD_REQUEST', message: 'no model is left to try', param: 'model' };
}

export function modelNotFound(name: string): Failure {
  const hint = name.startsWith(MAPPED_PREFIX) ? 'no model is mapped to it' : 'name it as provider/model';
  return {
    status: 404,
    code: 'model_not_found',
    message: `the model ${JSON.stringify(name)} is not known; ${hint}`,
    param: 'model',
  };
}

/** Whose model a name means, and what its vendor calls it; `null` where that is not certain. */
export function nameModel({ vendors }: OrganizationConfig, catalog: Catalog, name: string): NamedModel | null {
  const slash = name.indexOf('/');
  if (slash < 0) {
    const match = matchModel(catalog, name);
    return match && { provider: match.model.provider, model: vendorName(match, name) };
  }
  const prefix = name.slice(0, slash);
  const model = name.slice(slash + 1);
  if (model === '' || prefix === MAPPED_PREFIX.slice(0, -1)) return null;
  // Google's models are often called by the family's name; any other prefix is a vendor's.
  if (prefix === 'gemini' && !vendors.has(prefix)) return { provider: 'google', model };
  return vendorProvider.safeParse(prefix).success ? { provider: prefix, model } : null;
}

/** The spelling that was asked for where it is the vendor's own, else the catalog's. */
function vendorName({ model, strategy }: Match, asked: string): string {
  const pinned = strategy === 'snapshot' && asked.length > model.model.length;
  return strategy === 'exact' || strategy === 'alias' || pinned ? asked : model.model;
}

/** The models that a name means, in order; none where that is not certain. */
export function wantedBy(organization: OrganizationConfig, catalog: Catalog, name: string): Wanted[] {
  if (name !== 'service/standard' && name !== 'service/premium') {
    const named = nameModel(organization, catalog, name);
    return named ? [{ ...named, tier: null, onDowngrade: false }] : [];
  }
  const mapped = (tier: Tier, onDowngrade: boolean): Wanted[] =>
    (organization.models?.[tier] ?? []).flatMap((entry) => {
      const named = nameModel(organization, catalog, entry);
      return named ? [{ ...named, tier, onDowngrade }] : [];
    });
  if (name === 'service/standard') return mapped('standard', false);
  const premium = mapped('premium', false);
  return premium.length === 0 ? [] : [...premium, ...mapped('standard', true)];
}

function obstacleTo({ vendors }: OrganizationConfig, endpoint: Endpoint, { provider }: NamedModel): Failure | null {
  if (!vendors.has(provider)) {
    const message = `the organization has no credentials for the vendor ${JSON.stringify(provider)}`;
    return { status: 400, code: 'VENDOR_NOT_CONFIGURED', message, param: 'model' };
  }
  if (!NOT_OFFERED[provider]?.includes(endpoint)) return null;
  const other = endpoint === 'responses' ? '; use /v1/chat/completions' : '';
  return {
    status: 400,
    code: 'ENDPOINT_NOT_OFFERED',
    message: `the vendor ${provider} does not offer /v1/${endpoint}${other}`,
    param: 'model',
  };
}

async function attemptOf(
  organization: OrganizationConfig,
  catalog: Catalog,
  wanted: Wanted,
  nowMs: number,
): Promise<Attempt> {
  const { provider, model, tier, onDowngrade } = wanted;
  const vendor = organization.vendors.get(provider);
  if (!vendor) throw new Error('an attempt has a vendor with credentials');
  const price = await resolvePrice(catalog, organization.prices, { modelUsed: model, providerUsed: provider }, nowMs);
  const priced: Tier = price.available && isPremiumPrice(price.card) ? 'premium' : 'standard';
  return {
    provider,
    baseUrl: vendor.baseUrl,
    model,
    modelKey: `${provider}/${model}`,
    tier: tier ?? priced,
    priced: price.available,
    assertsTier: tier !== null || !price.available,
    onDowngrade,
    efforts: matchModel(catalog, model)?.model.reasoningEfforts,
  };
}
