/**
 * The needs that the begin of a unified call adds to its caller's request: the tier of the named model, the
 * capabilities besides text that the vendor's request uses, and, if the model has no price, that credit does not pay.
 *
 * `vendorBody` names the parts of the request that are not sent because the model refuses them.
 *
 * Before the vendor is asked, the model is the one of the vendor's request, or the one that the caller reports. A call
 * that names none has no price.
 */

import { findModelLimits, type ModelLimits } from '../../catalog/limits.ts';
import { resolvePrice } from '../../catalog/prices.ts';
import { currentCatalog } from '../../config/catalog.ts';
import type { OrganizationConfig } from '../../config/credentials.ts';
import type { CallRequest } from '../../contract/unified-call.ts';
import type { CallBound, Gap } from '../../domain/bound.ts';
import { withDefaultTier } from '../../domain/entitlements.ts';
import type { Capability } from '../../domain/plan.ts';
import { tierOfPrice } from '../../domain/price.ts';
import { computeCost, type ResolvedPrice } from '../../domain/pricing.ts';
import { assertedTier, type Tier } from '../../domain/tiers.ts';
import { takeUsage } from '../../domain/usage.ts';
import { kindAt, type VendorKind } from '../../domain/vendor-kind.ts';
import { choosePricingMode } from '../../metering/begin-call.ts';
import type { Caller } from '../../metering/caller.ts';
import { requestedCapabilities } from '../../vendors/capabilities.ts';
import { asksToThink, withoutEffort } from '../../vendors/effort.ts';
import { isCounted, type PromptToCount } from '../../vendors/prompt-counter.ts';
import { type BoundedRequest, boundedRequest } from '../demand/call-bound.ts';
import { endpointAt } from '../demand/endpoints.ts';
import { withOutputBound } from '../demand/output.ts';
import { asAllowed } from '../demand/safe.ts';
import { type FollowedPrompt, followedPrompts, versionHeaders } from './counted-prompts.ts';
import { requestedModel } from './requested-model.ts';

type VendorRequest = NonNullable<CallRequest['vendor']>;

export interface VendorNeeds extends BoundedRequest {
  requested: NonNullable<CallRequest['requested']>;
  /** The tier that will pay; `undefined` if it is not known. */
  tier: Tier | undefined;
  needs: Capability[];
}

export async function vendorNeeds({ env, organization, defer }: Caller, request: CallRequest): Promise<VendorNeeds> {
  const { vendor, usage, requested = {} } = request;
  const { catalog } = await currentCatalog(env, defer);
  const model = vendor && requestedModel(vendor);
  const modelUsed = vendor ? model : usage?.modelUsed;
  const reported = { modelUsed, providerUsed: vendor ? vendor.provider : usage?.providerUsed };
  const price = await resolvePrice(catalog, organization.prices, reported, Date.now());
  const priced = price.available && vendor ? tierOfPrice(price.card) : undefined;
  const tier = usage?.isPremium === undefined ? priced : assertedTier(usage.isPremium);
  const limits: Partial<ModelLimits> = model === undefined ? {} : findModelLimits(catalog, model, Date.now());
  const needs = vendor ? requestedCapabilities({ path: vendor.url, model, body: vendor.body ?? {} }) : [];
  return {
    requested: {
      ...withImpliedTier(requested, tier),
      ...Object.fromEntries(needs.map((capability) => [capability, true])),
    },
    tier,
    needs,
    ...(vendor
      ? inVendorBody(
          boundedRequest(
            {
              provider: vendor.provider,
              kind: kindOfRequest(organization, vendor),
              // A region that the caller states counts, whatever the address says.
              address: usage?.region === undefined ? vendor.url : undefined,
              model,
              path: vendor.url,
              body: vendor.body ?? {},
              headers: Object.keys(vendor.headers ?? {}),
              price,
              limits,
              tier: tier ?? null,
              onDowngrade: false,
              inSteps: false,
              thinks: limits.reasons === true && asksToThink(vendor.body ?? {}),
              isCounted: vendor.method === 'POST' && isCounted(kindOfRequest(organization, vendor), vendor.url),
              asIs: false,
            },
            choosePricingMode(request) ?? 'standard',
            organization,
          ),
        )
      : { bound: reportedBound(price, request, organization.allowUnpricedModels), following: null }),
  };
}

/** The bound of a request within ours: its fields are members of `vendor.body`. */
function inVendorBody({ bound, following }: BoundedRequest): BoundedRequest {
  const { gap, searchGap, choices } = bound;
  const placed = ({ param, ...rest }: Gap): Gap =>
    param === undefined ? rest : { ...rest, param: placeInVendor(param) };
  return {
    bound: {
      ...bound,
      ...(gap && { gap: placed(gap) }),
      ...(searchGap && { searchGap: placed(searchGap) }),
      ...(choices && { choices: { ...choices, param: placeInVendor(choices.param) } }),
    },
    following,
  };
}

function placeInVendor(param: string): string {
  if (param === 'query') return 'vendor.url';
  return param === 'headers' ? 'vendor.headers' : `vendor.body.${param}`;
}

/** A call that already ran costs the usage that is reported of it. */
function reportedBound(price: ResolvedPrice, request: CallRequest, allowUnpriced: boolean): CallBound {
  const { usage } = takeUsage(request.usage ?? {});
  const priced = price.available ? computeCost(price.card, usage, choosePricingMode(request) ?? 'standard') : null;
  const cost = priced?.known
    ? { inputNanoUsd: priced.cost.totalNanoUsd.toString(), outputNanoUsdPerMillion: '0' }
    : null;
  const model = request.usage?.modelUsed ?? null;
  const gap: Gap = { code: 'MODEL_NOT_PRICED', model, component: 'model' };
  const isClosed = !price.available && !allowUnpriced;
  return {
    tier: null,
    outputTokens: usage.responseTokens,
    answers: 1,
    inSteps: false,
    cost,
    ...(isClosed && { gap }),
  };
}

/**
 * The kind of the vendor that a request goes to: by its host, or else by the registered vendor at its origin. If
 * several are registered there, the request's name decides, or else the vendor whose address the request's begins with.
 */
export function kindOfRequest(organization: OrganizationConfig, { url, provider }: VendorRequest): VendorKind {
  const known = kindAt(url);
  if (known !== null) return known;
  const there = registeredAt(organization, url);
  const registered =
    there.find(([name]) => name === provider) ??
    there.find(([, { baseUrl }]) => url.startsWith(`${baseUrl}/`)) ??
    there[0];
  return registered?.[1].kind ?? 'compatible';
}

/** The organization's vendors at the origin of an address. */
function registeredAt({ vendors }: OrganizationConfig, url: string) {
  const origin = URL.parse(url)?.origin;
  return [...vendors].filter(([, { baseUrl }]) => URL.parse(baseUrl)?.origin === origin);
}

/** The prompt of a request to one of the organization's vendors; `null` if nothing can be known of its tokens. */
export async function followedPrompt(
  { env, organization }: Caller,
  { customerId, vendor }: Pick<CallRequest, 'customerId' | 'vendor'>,
  { bound, following }: BoundedRequest,
): Promise<FollowedPrompt | null> {
  if (!vendor?.body || registeredAt(organization, vendor.url).length === 0) return null;
  const { organizationId } = organization;
  const { provider, url, body, headers = {} } = vendor;
  const { origin, pathname, searchParams } = new URL(url);
  // A key is not part of it.
  const query = [...searchParams].filter(([name]) => name !== 'key');
  const terms = [provider ?? null, origin, pathname, query, requestedModel(vendor) ?? null, versionHeaders(headers)];
  const attempt = { bound, following, kind: kindOfRequest(organization, vendor), terms };
  const prompts = await followedPrompts(env, { organizationId, customerId, path: url, body, attempts: [attempt] });
  return prompts[0] ?? null;
}

/**
 * The vendor's request as the caller wrote it, without an effort that the model would refuse, and with at most so many
 * answer tokens and searches. If credit pays, the request can incur only uses that were counted.
 */
export async function vendorBody(
  { env, organization, defer }: Caller,
  vendor: VendorRequest,
  { perAnswer, searches, onCredit }: { perAnswer: number | null; searches: number | null; onCredit: boolean },
): Promise<{ body: VendorRequest['body']; changed: readonly string[] }> {
  const model = requestedModel(vendor);
  if (vendor.body === undefined) return { body: undefined, changed: [] };
  const { efforts }: Partial<ModelLimits> =
    model === undefined ? {} : findModelLimits((await currentCatalog(env, defer)).catalog, model, Date.now());
  const body = efforts?.length === 0 ? withoutEffort(vendor.body) : vendor.body;
  const kind = kindOfRequest(organization, vendor);
  const bounded = perAnswer === null ? body : withOutputBound(body, { kind, path: vendor.url }, perAnswer);
  const endpoint = endpointAt(vendor.url);
  return endpoint
    ? asAllowed(bounded, { endpoint: endpoint.name, kind, searches, onCredit })
    : { body: bounded, changed: [] };
}

/** The request that the vendor would get, for its own count of the prompt; `null` without a body. */
export async function promptToCount(caller: Caller, vendor: VendorRequest): Promise<PromptToCount | null> {
  const { body } = await vendorBody(caller, vendor, { perAnswer: null, searches: null, onCredit: false });
  const { url, headers = {} } = vendor;
  return body === undefined ? null : { kind: kindOfRequest(caller.organization, vendor), url, headers, body };
}

/** Adds the tier that will pay. A caller who requested nothing requested the standard tier, whatever is added here. */
function withImpliedTier(requested: VendorNeeds['requested'], tier: Tier | undefined): VendorNeeds['requested'] {
  return tier ? { ...requested, [tier]: true } : withDefaultTier(requested);
}
