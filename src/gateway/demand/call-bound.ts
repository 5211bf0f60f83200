/**
 * The most that a request to a model may use and cost, before it is sent; and why credit does not pay for it, if it
 * does not.
 */
import type { ModelLimits } from '../../catalog/limits.ts';
import {
  type BilledUses,
  type CallBound,
  costOfPrompt,
  type Demand,
  type Gap,
  type NeededRate,
  type OpenCost,
  openCosts,
  promptCost,
} from '../../domain/bound.ts';
import { type Component, isUse, type RateCard } from '../../domain/price.ts';
import { cardFor, type PricingMode, type ResolvedPrice } from '../../domain/pricing.ts';
import type { Tier } from '../../domain/tiers.ts';
import { NO_USAGE } from '../../domain/usage.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { isFormFile } from '../../platform/form-file.ts';
import type { Fields } from '../../vendors/usage/figures.ts';
import { findExtras } from './demand.ts';
import { endpointAt } from './endpoints.ts';
import { IMAGE_FIELDS, inputBound } from './input.ts';
import { recordingLength } from './media-tokens.ts';
import { hasOutputBound, outputAsked } from './output.ts';
import { searchesAtLeast } from './safe.ts';
import type { SoundLength } from './sound-length.ts';

const SPEECH = /(?:^|\/)audio\/speech$/;
/**
 * Speech of 15 characters a second, at 1,250 tokens a minute: 1.5 cents at 12 USD per million tokens, as
 * developers.openai.com/api/docs/pricing estimates it. Rounded up.
 */
const SPEECH_TOKENS_PER_CHARACTER = 1.5;

export interface RequestToModel {
  /** The provider that the organization or the request names; `undefined` if neither does. */
  provider: string | undefined;
  kind: VendorKind;
  /** The vendor's name of the model; `undefined` if the request names none. */
  model: string | undefined;
  /** The caller's name of the model, if it differs. */
  modelKey?: string;
  /** The path of the endpoint's address. */
  path: string;
  /** The vendor's address; absent if it is not known. */
  address?: string | undefined;
  body: Fields;
  /** The vendor gets another body, which Callmeter has not read. */
  isUnread?: boolean;
  /** The names of headers that the caller chooses. */
  headers?: readonly string[];
  price: ResolvedPrice;
  limits: Partial<ModelLimits>;
  tier: Tier | null;
  onDowngrade: boolean;
  /** The output is passed on while it is made, and all of it shows. */
  inSteps: boolean;
  /** The request asks its model to think, and the model may. */
  thinks?: boolean;
  /** The output is passed on while it is made, and not all of it shows. */
  fitsBalance?: boolean;
  /** The vendor counts the prompt of the request for free. */
  isCounted?: boolean;
  /** The vendor gets the request unchanged: nothing in it can be made safe. */
  asIs: boolean;
}

/** Uses without a rate or a bound that the organization lets credit pay for. */
export interface OpenToCredit {
  allowUnpricedModels: boolean;
  /** Names of fields and components, or `*`. */
  creditOpen: readonly string[];
}

export function callBound(request: RequestToModel, mode: PricingMode, opened: OpenToCredit): CallBound {
  return boundedRequest(request, mode, opened).bound;
}

/**
 * The most that a request may use and cost, and the most that can follow a beginning of it that the vendor has counted.
 */
export interface BoundedRequest {
  bound: CallBound;
  /**
   * The most tokens that the messages after the first 0, 1, 2, ... of them add, if they have a bound; `null` if the
   * same messages need not be the same prompt.
   */
  following: readonly (number | null)[] | null;
}

/** Like `callBound`, for a prompt whose beginning may have been counted. */
export function boundedRequest(request: RequestToModel, mode: PricingMode, opened: OpenToCredit): BoundedRequest {
  const { provider, kind, model = '', modelKey = model, path, body, price, limits, tier, onDowngrade } = request;
  const { headers = [], isUnread = false, asIs, address } = request;
  const { fillsContext, ...extras } = findExtras({ kind, model, path, body, isUnread, headers, asIs, address });
  const input = inputBound({ kind, model, body, contextTokens: limits.contextTokens, fillsContext });
  const { perAnswer, answers, choices } = outputAsked(body, path);
  // The tokens of a model that is not billed by tokens are not counted.
  const hasTokens = !price.available || price.card.rates.some(({ component }) => !isUse(component));
  const outputTokens = hasTokens ? smallest(perAnswer, limits.maxOutputTokens) : 0;
  const [inputTokens, inputTokensMax] = hasTokens ? [input.estimate, input.atMost] : [0, 0];
  const seconds = recordedSeconds(body);
  const demand: Demand = {
    ...extras,
    inputTokens: input.atMost,
    rates: [
      ...extras.rates,
      ...(hasTokens ? [INPUT_RATES] : []),
      ...(hasTokens && outputTokens !== 0 ? [OUTPUT_RATES] : []),
    ],
    uses: {
      ...extras.uses,
      // A model that draws in a conversation may bill by the picture.
      ...(extras.output.includes('imageOutput') && { images: Math.max(extras.uses.images ?? 0, answers) }),
      ...(seconds.atMost !== null && seconds.atMost > 0 && { audioSeconds: seconds.atMost }),
    },
    ...(mode === 'batch' && price.available && { serviceTiers: [hasBatchRates(price.card) ? 'batch' : 'standard'] }),
  };
  const uses = price.available ? billedUses(price.card, demand, seconds.estimate) : {};
  const usesMax = price.available ? billedUses(price.card, demand, seconds.atMost ?? seconds.estimate) : {};
  const open = price.available ? openCosts(price.card, demand) : [];
  const unbounded = seconds.atMost === null && price.available && charges(price.card, 'audioSeconds');
  const isTextAtWill = hasOutputBound(path) ? asIs : endpointAt(path)?.answers === 'text';
  const lacksBound = isTextAtWill && outputTokens === null;
  const notIncluded = price.available ? openCostTexts(price.card, demand) : [];
  const gap = findGap(
    request,
    [...open, ...(unbounded ? [UNBOUNDED_RECORDING] : []), ...(lacksBound ? [UNBOUNDED_OUTPUT] : [])],
    opened,
  );
  const usage = { ...NO_USAGE, inputTokens: inputTokensMax, responseTokens: 1, ...usesMax };
  // Only text shows as it is made.
  const inSteps = request.inSteps && extras.output.length === 0;
  const searches = searchBound(request, demand, opened);
  const prompt = price.available && !unbounded ? promptCost(price.card, demand, mode) : null;
  const bound: CallBound = {
    ...(modelKey !== '' && { model: modelKey }),
    tier,
    ...(onDowngrade && { onDowngrade }),
    outputTokens,
    ...(!hasOutputBound(path) && { cannotBeLowered: true }),
    answers,
    inSteps,
    ...(request.thinks && { thinks: true }),
    ...(request.fitsBalance && hasOutputBound(path) && { fitsBalance: true }),
    cost: prompt && costOfPrompt(prompt, demand.inputTokens),
    ...(prompt && hasTokens && { prompt }),
    // The vendor's counter does not see content that the vendor finds or stores itself.
    ...(prompt && hasTokens && request.isCounted && !fillsContext && { countable: true }),
    ...(gap && { gap }),
    ...(notIncluded.length > 0 && { notIncluded }),
    uses: demand.uses,
    ...searches,
    ...(choices && { choices }),
    ifLost: {
      ...(provider !== undefined && { providerUsed: provider }),
      ...(model !== '' && { modelUsed: model }),
      inputTokens,
      inputTokensMax,
      ...(Object.keys(usesMax).length > 0 && { uses, usesMax }),
      ...(SPEECH.test(path) && hasTokens && { outputTokens: spokenTokens(body) }),
      price: price.available ? { available: true, card: cardFor(price.card, usage) } : price,
    },
  };
  // The vendor may change its stored content, except an earlier response.
  const { previous_response_id: earlier, ...withoutEarlier } = body;
  const isKnown =
    !fillsContext ||
    (typeof earlier === 'string' &&
      !findExtras({ kind, model, path, body: withoutEarlier, isUnread, headers, asIs }).fillsContext);
  return { bound, following: isKnown && input.isAllHere ? input.following : null };
}

const INPUT_RATES: NeededRate = { of: ['input', 'imageInput', 'audioInput'] };
const OUTPUT_RATES: NeededRate = { of: ['output', 'imageOutput', 'audioOutput'] };
const UNBOUNDED_RECORDING: OpenCost = {
  code: 'BOUND_UNKNOWN',
  component: 'audioSeconds',
  name: 'component:audioSeconds',
  param: 'file',
};

const UNBOUNDED_SEARCH: OpenCost = { code: 'BOUND_UNKNOWN', component: 'webSearch', name: 'component:webSearch' };
/** Neither the request nor the model bounds it, and no bound can be sent. */
const UNBOUNDED_OUTPUT: OpenCost = { code: 'BOUND_UNKNOWN', component: 'output', name: 'component:output' };

/** The most names that a cost lists. */
const NOT_INCLUDED_MAX = 20;

/** The open uses of the demand whose cost no report would show. */
function openCostTexts(card: RateCard, { open }: Demand): string[] {
  const names = open.map(({ component }) => component).filter((name) => !charges(card, name as Component));
  return [...new Set(names)].slice(0, NOT_INCLUDED_MAX);
}

/** The first cost that the organization does not open to credit. */
function findGap(
  { model: ofVendor, modelKey = ofVendor, price }: Pick<RequestToModel, 'model' | 'modelKey' | 'price'>,
  open: readonly OpenCost[],
  { allowUnpricedModels, creditOpen }: OpenToCredit,
): Gap | null {
  const model = modelKey || null;
  if (!price.available) {
    return allowUnpricedModels ? null : { code: 'MODEL_NOT_PRICED', model, component: 'model', param: 'model' };
  }
  const found = creditOpen.includes('*') ? undefined : open.find((cost) => !creditOpen.includes(cost.name));
  if (!found) return null;
  const { name: _name, ...cost } = found;
  return { ...cost, model };
}

/** How web searches are bounded, for a plan that limits them. */
function searchBound(
  { kind, model: ofVendor, modelKey = ofVendor, path, body, asIs }: RequestToModel,
  { uses, open }: Demand,
  { creditOpen }: OpenToCredit,
): Pick<CallBound, 'searchesAtLeast' | 'searchGap'> {
  const endpoint = endpointAt(path);
  if (uses.webSearch !== undefined) {
    const atLeast = endpoint && !asIs ? searchesAtLeast(body, endpoint.name, kind) : undefined;
    return atLeast === undefined ? {} : { searchesAtLeast: atLeast };
  }
  const unbounded = open.find(({ code, component }) => code === 'BOUND_UNKNOWN' && component === 'webSearch');
  const { name, ...gap } = unbounded ?? UNBOUNDED_SEARCH;
  // Their number is unknown at an endpoint that is in no table.
  const isOpen = unbounded === undefined && endpoint !== undefined;
  if (isOpen || creditOpen.includes('*') || creditOpen.includes(name)) return {};
  return { searchGap: { ...gap, model: modelKey || null } };
}

function hasBatchRates({ rates }: RateCard): boolean {
  return rates.some(({ when }) => when?.serviceTier === 'batch');
}

function spokenTokens({ input }: Fields): number {
  return Math.ceil((typeof input === 'string' ? input.length : 0) * SPEECH_TOKENS_PER_CHARACTER);
}

/**
 * The uses besides tokens that the request makes the vendor bill, with so many seconds, as far as the price charges for
 * them.
 */
function billedUses(card: RateCard, { uses: { images, characters } }: Demand, seconds: number): BilledUses {
  return {
    ...(images !== undefined && charges(card, 'images') && { images }),
    ...(characters !== undefined && charges(card, 'characters') && { characters }),
    ...(seconds > 0 && charges(card, 'audioSeconds') && { audioSeconds: seconds }),
  };
}

function charges({ rates }: RateCard, component: Component): boolean {
  return rates.some((rate) => rate.component === component);
}

/** The total length of the recordings of a form. */
function recordedSeconds(body: Fields): SoundLength {
  const files = Object.entries(body).flatMap(([field, value]) => (IMAGE_FIELDS.includes(field) ? [] : value));
  const recordings = files.filter(isFormFile).map(recordingLength);
  return {
    atMost: recordings.reduce<number | null>(
      (sum, { atMost }) => (sum === null || atMost === null ? null : sum + atMost),
      0,
    ),
    estimate: recordings.reduce((sum, { estimate }) => sum + estimate, 0),
  };
}

function smallest(...bounds: (number | null | undefined)[]): number | null {
  const known = bounds.filter((bound) => bound != null);
  return known.length === 0 ? null : Math.min(...known);
}
