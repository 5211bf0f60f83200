/**
 * Generated calls of models: a request of each form to each kind of vendor that has it, on models with the catalog's
 * prices, with own prices of few and of many rates, and with strict ones.
 */
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import { endpointAt, fieldsAt } from '../../src/demand/endpoints.ts';
import { COMPONENTS, type Component, isUse, type RateConditions } from '../../src/domain/price.ts';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import type { Dialect } from '../../src/gateway/dialects/dialect.ts';
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts';
import type { Random } from '../crash/random.ts';
import { type Json, makeRequest } from './request-generator.ts';
import type { RequestForm } from './request-types.ts';

/** The vendors of the organization, by their names. */
export const GENERATED_VENDORS = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  openrouter: 'openrouter',
  acme: 'compatible',
} as const satisfies Record<string, VendorKind>;
export type GeneratedVendor = keyof typeof GENERATED_VENDORS;

/** The operations that are asked for, by form. */
const OPERATIONS: Readonly<Record<RequestForm, readonly (keyof typeof DIALECTS)[]>> = {
  chat: ['createChatCompletion'],
  responses: ['createResponse'],
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
];
/** Every tier, speed and length of prompt has rates of its own, each of them different. */
const MANY: readonly OwnComponent[] = CONDITIONS.flatMap((when, place) =>
  COMPONENTS.filter((component) => when === undefined || !isUse(component)).map(
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

/** What the price of a model is, by its place in the list of models: the same for all calls of a run. */
export function pricingOf(provider: GeneratedVendor, model: string): Pricing {
  if (provider === 'acme') return model.startsWith('many') ? 'many' : model.startsWith('strict') ? 'strict' : 'few';
  const place = catalog.models.findIndex((known) => model.endsWith(known.model));
  return (['catalog', 'catalog', 'few', 'strict', 'many'] as const)[Math.max(0, place) % 5] ?? 'catalog';
}

export function generateCall(random: Random): GeneratedCall {
  for (;;) {
    const form = random.pick(FORMS);
    const operation = random.pick(OPERATIONS[form]);
    const dialect = DIALECTS[operation] as unknown as Dialect;
    const providers = (Object.keys(GENERATED_VENDORS) as GeneratedVendor[]).filter((name) =>
      dialect.isOfferedBy(GENERATED_VENDORS[name]),
    );
    const provider = random.pick(providers);
    const kind = GENERATED_VENDORS[provider];
    const models = modelsOf(provider, form);
    if (models.length === 0) continue;
    const model = random.pick(models);
    const endpoint = endpointAt(dialect.endpoint);
    if (!endpoint) throw new Error(`${dialect.endpoint} has no table`);
    const body = makeRequest({ form, table: fieldsAt(endpoint, kind), random });
    return { form, operation, dialect, provider, kind, model, pricing: pricingOf(provider, model), body };
  }
}

/** Those that the catalog has a price for, or an operator gave one. */
export function modelsOf(provider: GeneratedVendor, form: RequestForm): string[] {
  const kind = MODELS[form] ?? /chat/;
  if (provider === 'acme') return ['few-1', 'strict-1', 'many-1', 'many-image-1'];
  const known = catalog.models.filter((model) => kind.test(model.kind) && model.pricing !== undefined);
  if (provider === 'openrouter') return known.map(({ provider: maker, model }) => `${maker}/${model}`);
  return known.filter((model) => model.provider === provider).map(({ model }) => model);
}
