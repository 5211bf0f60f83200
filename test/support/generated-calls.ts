/**
 * Generated calls of models: a request of each form to each kind of vendor that has it, on models with the catalog's
 * prices, with own prices of few and of many rates, and with strict ones.
 */
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import { findModelLimits, type ModelLimits } from '../../src/catalog/limits.ts';
import { type OwnPrice, ownPriceKey, resolvePrice } from '../../src/catalog/prices.ts';
import { OWN_FIELDS } from '../../src/contract/gateway/requests.ts';
import type { CallBound } from '../../src/domain/bound.ts';
import { buildRate, COMPONENTS, type Component, isUse, type RateConditions } from '../../src/domain/price.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import { callBound } from '../../src/gateway/demand/call-bound.ts';
import { endpointAt, fieldsAt } from '../../src/gateway/demand/endpoints.ts';
import {
  type AttemptTerms,
  type Dialect,
  formAt,
  type ModelRequest,
  type VendorForm,
} from '../../src/gateway/dialects/dialect.ts';
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts';
import { PieceBytes } from '../../src/platform/byte-source.ts';
import type { FormFile } from '../../src/platform/form-file.ts';
import { chooseEffort } from '../../src/vendors/effort.ts';
import type { Random } from '../crash/random.ts';
import { type Json, MadeFile, makeRequest } from './request-generator.ts';
import type { RequestForm } from './request-types.ts';

/** The vendors of the organization, by their names. */
export const GENERATED_VENDORS = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  openrouter: 'openrouter',
  maker: 'compatible',
} as const satisfies Record<string, VendorKind>;
export type GeneratedVendor = keyof typeof GENERATED_VENDORS;

/** The vendors themselves, the least risky: a request that is bounded there is bounded behind any proxy. */
const ADDRESSES: Partial<Record<VendorKind, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  openrouter: 'https://openrouter.ai/api/v1',
};

/** The operations that are asked for, by form. */
const OPERATIONS: Readonly<Record<RequestForm, readonly (keyof typeof DIALECTS)[]>> = {
  chat: ['createChatCompletion'],
  responses: ['createResponse'],
  compact: ['compactResponse'],
  messages: ['createMessage'],
  generateContent: ['generateContent', 'streamGenerateContent'],
  completions: ['createCompletion'],
  embeddings: ['createEmbedding'],
  embedContent: ['embedContent'],
  batchEmbedContents: ['batchEmbedContents'],
  images: ['createImage'],
  imageEdits: ['createImageEdit'],
  speech: ['createSpeech'],
  transcriptions: ['createTranscription'],
  translations: ['createTranslation'],
  moderations: ['createModeration'],
};
/** The kinds of models of a form. */
const MODELS: Partial<Record<RequestForm, RegExp>> = {
  completions: /completion/,
  embeddings: /embedding/,
  embedContent: /embedding/,
  batchEmbedContents: /embedding/,
  images: /image/,
  imageEdits: /image/,
  speech: /speech/,
  transcriptions: /transcription/,
  translations: /transcription/,
  moderations: /moderation/,
};
export const REQUEST_FORMS = Object.keys(OPERATIONS) as RequestForm[];
/** Conversations are asked for more often, because they can hold most. */
const FORMS: readonly RequestForm[] = [
  ...(['chat', 'responses', 'messages', 'generateContent'] as const).flatMap((form) => [form, form, form, form]),
  ...REQUEST_FORMS,
];

export type Pricing = 'catalog' | 'few' | 'strict' | 'many';
/** USD per million, in words of the operator's API. */
export interface OwnComponent {
  component: Component;
  per: 1_000_000;
  usd: string;
  when?: RateConditions;
}

export interface GeneratedCall {
  form: RequestForm;
  operation: keyof typeof DIALECTS;
  dialect: Dialect;
  provider: GeneratedVendor;
  kind: VendorKind;
  model: string;
  pricing: Pricing;
  body: Json;
}

const CONDITIONS: readonly (RateConditions | undefined)[] = [
  undefined,
  { serviceTier: 'flex' },
  { serviceTier: 'priority' },
  { serviceTier: 'ultrafast' },
  { speed: 'fast' },
  { promptTokensAbove: 2_000 },
  { region: 'us' },
  { region: 'us', promptTokensAbove: 2_000 },
];
/** A price by tokens has none of these. */
const BY_UNIT: ReadonlySet<Component> = new Set(['images', 'characters', 'audioSeconds']);
/** Every tier, speed, length of prompt and region has its own rates, all different. */
const MANY: readonly OwnComponent[] = CONDITIONS.flatMap((when, place) =>
  COMPONENTS.filter((component) => !isUse(component) || (when === undefined && !BY_UNIT.has(component))).map(
    (component, index): OwnComponent => ({
      component,
      per: 1_000_000,
      usd: `${1 + place * 3 + ((index * 7) % 11)}.${index}`,
      ...(when && { when }),
    }),
  ),
);
const FEW: readonly OwnComponent[] = [
  { component: 'input', per: 1_000_000, usd: '20' },
  { component: 'output', per: 1_000_000, usd: '178' },
];
export const OWN_COMPONENTS: Readonly<Record<Exclude<Pricing, 'catalog'>, readonly OwnComponent[]>> = {
  few: FEW,
  strict: FEW,
  many: MANY,
};

/** The price of a model, by its position in the list of models: the same for all calls of a run. */
export function choosePricing(provider: GeneratedVendor, model: string): Pricing {
  if (provider === 'maker') return model.startsWith('many') ? 'many' : model.startsWith('strict') ? 'strict' : 'few';
  const place = catalog.models.findIndex((known) => model.endsWith(known.model));
  return (['catalog', 'catalog', 'few', 'strict', 'many'] as const)[Math.max(0, place) % 5] ?? 'catalog';
}

/** With so many models of each vendor and form, at most. */
export function generateCall(random: Random, modelsMax = Number.POSITIVE_INFINITY): GeneratedCall {
  for (;;) {
    const form = random.pick(FORMS);
    const operation = random.pick(OPERATIONS[form]);
    const dialect = DIALECTS[operation] as unknown as Dialect;
    const providers = (Object.keys(GENERATED_VENDORS) as GeneratedVendor[]).filter((name) =>
      dialect.isOfferedBy(GENERATED_VENDORS[name]),
    );
    const provider = random.pick(providers);
    const kind = GENERATED_VENDORS[provider];
    const models = listModels(provider, form, modelsMax);
    if (models.length === 0) continue;
    const model = random.pick(models);
    const endpoint = endpointAt(dialect.endpoint);
    if (!endpoint) throw new Error(`${dialect.endpoint} has no table`);
    const body = makeRequest({ form, table: fieldsAt(endpoint, kind), random });
    return { form, operation, dialect, provider, kind, model, pricing: choosePricing(provider, model), body };
  }
}

/**
 * The models that the catalog has a price for, or an operator gave one; if there are many, a few from the whole list.
 */
export function listModels(provider: GeneratedVendor, form: RequestForm, modelsMax: number): string[] {
  const kind = MODELS[form] ?? /chat/;
  if (provider === 'maker') return ['few-1', 'strict-1', 'many-1', 'many-image-1'];
  const known = catalog.models.filter((model) => kind.test(model.kind) && model.pricing !== undefined);
  const names =
    provider === 'openrouter'
      ? known.map(({ provider: maker, model }) => `${maker}/${model}`)
      : known.filter((model) => model.provider === provider).map(({ model }) => model);
  const step = Math.max(1, Math.ceil(names.length / modelsMax));
  return names.filter((_, place) => place % step === 0);
}

/** The time of the catalog's prices. */
export const PRICED_AT_MS = Date.UTC(2026, 10, 27);
const OPENED = { allowUnpricedModels: false, creditOpen: [] };

/** A call that credit may pay for. */
export interface BoundedCall {
  ok: true;
  request: ModelRequest;
  bound: CallBound;
  price: Extract<ResolvedPrice, { available: true }>;
  limits: ModelLimits;
  /** How the vendor is asked. */
  form: VendorForm;
  terms: AttemptTerms;
}

/** The bound of a call, or the reason of its refusal. */
export async function boundCall(call: GeneratedCall): Promise<BoundedCall | { ok: false; why: string }> {
  const { dialect, provider, kind, model } = call;
  const asked = dialect.addressed?.(model, () => 'sse') ?? { model: `${provider}/${model}` };
  const parsed = dialect.operation.body.safeParse({ ...asked, ...asReceived(call.body) });
  if (!parsed.success) return { ok: false, why: 'BAD_REQUEST' };
  const own = new Set(OWN_FIELDS);
  const fields = Object.entries(parsed.data).filter(([name]) => !own.has(name));
  const request = Object.fromEntries(fields) as ModelRequest;
  const limits = findModelLimits(catalog, model, PRICED_AT_MS);
  const { effort } = chooseEffort(dialect.effortAsked(request), 'HIGH', limits.efforts);
  const terms = { model, effort, ceiling: undefined, outputTokensMax: limits.maxOutputTokens, addsUsage: true };
  const form = formAt(dialect, kind);
  if (form.refused?.(request, terms)) return { ok: false, why: 'not translatable' };
  const price = await resolveGenerated(provider, model);
  const address = ADDRESSES[kind];
  const toModel = { provider, kind, address, model, path: dialect.endpoint, body: request, price, limits };
  const whose = { tier: null, onDowngrade: false, inSteps: false, asIs: false };
  const bound = callBound({ ...toModel, ...whose }, 'standard', OPENED);
  if (bound.gap) return { ok: false, why: `${bound.gap.code} ${bound.gap.component}` };
  if (!bound.cost || !price.available) throw new Error('credit pays, and there is no price');
  return { ok: true, request, bound, price, limits, form, terms };
}

/** The price of a model, its own one as the operator sets it. */
export function resolveGenerated(provider: GeneratedVendor, model: string): Promise<ResolvedPrice> {
  const pricing = choosePricing(provider, model);
  const modelKey = `${provider}/${model}`;
  const own = new Map<string, OwnPrice[]>();
  if (pricing !== 'catalog') {
    const rates = OWN_COMPONENTS[pricing].map(({ component, usd, per, when }) => buildRate(component, usd, per, when));
    const card = { snapshotId: `own/${modelKey}@1`, provider: 'own', modelKey, rates, regionalPercent: 100 };
    const key = ownPriceKey(catalog, modelKey, PRICED_AT_MS);
    own.set(key, [{ fromMs: 0, card, strict: pricing === 'strict' }]);
  }
  return resolvePrice(catalog, own, { modelUsed: model, providerUsed: provider }, PRICED_AT_MS);
}

/** The body as the service has it: fields of a form are files, and else text. */
function asReceived(body: Json): Json {
  const values = Object.values(body).flat();
  if (!values.some((value) => value instanceof MadeFile)) return body;
  const one = (value: unknown) =>
    value instanceof MadeFile ? formFileOf(value) : typeof value === 'object' ? JSON.stringify(value) : String(value);
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      // A field that comes once is no list.
      const [first, ...others] = [value].flat().map(one);
      return [name, others.length > 0 ? [first, ...others] : first];
    }),
  );
}

function formFileOf({ name, type, content }: MadeFile): FormFile {
  const bytes = content.byteLength;
  return {
    fileName: name,
    contentType: type,
    bytes,
    head: content.subarray(0, 64),
    content: new PieceBytes([content], bytes),
  };
}
