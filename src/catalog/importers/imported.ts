/**
 * A model of an upstream list in the catalog's terms, and the rules that all importers share.
 *
 * Parsing is lenient, acceptance strict: an entry that cannot be parsed, is not a model of a known provider's own API,
 * or is a variant of one is skipped with a reason. A price of zero counts as unknown, except for moderation, which is
 * free, and for the output of embeddings, which have none.
 */
import { z } from 'zod';
import type { CatalogModel, CatalogPricing, CatalogRates, Provider } from '../model.ts';

export type ImportedPricing = Omit<CatalogPricing, 'source' | 'scheduled'>;

export interface ImportedModel {
  provider: Provider;
  model: string;
  displayName?: string;
  family?: string;
  kind: string;
  preview: boolean;
  releasedAt?: string;
  /** Absent if the input or output price is unknown. */
  pricing?: ImportedPricing;
  contextTokens?: number;
  /** A limit of the input; the context is at least as large. */
  inputTokens?: number;
  maxOutputTokens?: number;
  modalities?: CatalogModel['modalities'];
  capabilities: string[];
  endpoints?: string[];
  reasoningEfforts?: string[];
  /** Whether upstream marks it as deprecated or gives an end date. */
  ending: boolean;
  /** The end date. The import does not take it: a person reads the provider's page first. */
  shutdownAt?: string;
}

export interface Skipped {
  /** The upstream's name of the model. */
  name: string;
  reason: string;
}

/** A parsed upstream list. */
export interface Upstream {
  url: string;
  models: ImportedModel[];
  skipped: Skipped[];
}

/** Rates of an upstream in USD per million tokens. */
export type StatedRates = Partial<Record<keyof CatalogRates, number | null | undefined>>;

/** A price or limit of an upstream: both `null` and absent mean unknown. */
export const amount = z.number().nonnegative().max(1_000_000).nullish();
export const limit = z.number().int().nonnegative().max(1_000_000_000).nullish();

/**
 * Converts USD per token to USD per million tokens by moving the decimal point: `1.25e-7` is `0.125`, not
 * `0.12499999999999999`.
 */
export function perMillion(perToken: number | null | undefined): number | undefined {
  if (perToken === null || perToken === undefined) return undefined;
  const [digits = '0', exponent = '0'] = String(perToken).split('e');
  return Number(`${digits}e${Number(exponent) + 6}`);
}

/** Rates of a model that bills text. */
export type TextRates = CatalogRates & Required<Pick<CatalogRates, 'inputUsdPerMillion' | 'outputUsdPerMillion'>>;

/** The rates of a model, or `null` if the input or output rate is unknown. */
export function knownRates(kind: string, stated: StatedRates): TextRates | null {
  const input = known(stated.inputUsdPerMillion, kind === 'moderation');
  const output = kind === 'embedding' ? 0 : known(stated.outputUsdPerMillion, kind === 'moderation');
  if (input === undefined || output === undefined) return null;
  const cached = known(stated.cachedInputUsdPerMillion);
  const write = known(stated.cacheWriteUsdPerMillion);
  return {
    inputUsdPerMillion: input,
    outputUsdPerMillion: output,
    ...(cached !== undefined && cached <= input && { cachedInputUsdPerMillion: cached }),
    ...(write !== undefined && { cacheWriteUsdPerMillion: write }),
  };
}

/** A known limit; zero means unknown. */
export function knownLimit(tokens: number | null | undefined): number | undefined {
  return tokens || undefined;
}

/** A rate rounded to a nano-USD, which removes binary fractions' rounding errors. */
export function known(usdPerMillion: number | null | undefined, zeroIsAPrice = false): number | undefined {
  if (usdPerMillion === null || usdPerMillion === undefined) return undefined;
  const exact = Number(usdPerMillion.toFixed(9));
  return exact > 0 || zeroIsAPrice ? exact : undefined;
}

/** Names that are not separate models. */
const NOT_MODELS: [RegExp, string][] = [
  [/[^\x21-\x7e]/, 'is no model name'],
  [/^ft:/, 'is a fine-tuned model'],
  [/\//, 'is a variant of a model: a region, a speed or a size'],
];

export function whyNoModel(name: string): string | null {
  return NOT_MODELS.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

const KINDS: [RegExp, string][] = [
  [/embedding/, 'embedding'],
  [/moderation/, 'moderation'],
  [/transcri|whisper/, 'transcription'],
  [/\btts\b/, 'speech'],
  [/\brealtime\b|\blive\b|native-audio/, 'realtime'],
  [/\bimage\b|imagen|dall-e|nano-banana/, 'image'],
  [/\bveo\b|\bsora\b/, 'video'],
  [/lyria/, 'music'],
];

/** The kind of model according to its name; `undefined` if the name does not show it, as for most chat models. */
export function kindByName(name: string): string | undefined {
  return KINDS.find(([pattern]) => pattern.test(name))?.[1];
}

export function isPreview(name: string): boolean {
  return /\b(preview|exp|experimental|beta)\b/.test(name);
}

/** Structured outputs imply JSON mode, except at Anthropic, which has none. */
export function withImplied(provider: Provider, capabilities: Iterable<string>): string[] {
  const all = new Set(capabilities);
  if (provider !== 'anthropic' && all.has('structured_outputs')) all.add('json_mode');
  return [...all].sort();
}

/** Returns the list, or throws if no entry could be parsed: an unreadable list must not look empty. */
export function finish(of: string, upstream: Upstream): Upstream {
  if (upstream.models.length === 0)
    throw new Error(`this is no ${of} list: no model of OpenAI, Anthropic or Google can be read from it`);
  return upstream;
}
