/**
 * What an upstream list says of one model, in the catalog's own words, and the rules that every importer shares.
 *
 * Upstreams are read leniently and believed narrowly: an entry that cannot be read, is no model of a known provider's
 * own API, or is a variant of one is skipped with a reason. A price of zero means unknown there, but for moderation,
 * which is free, and for the output of embeddings, which have none.
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
  /** Absent where input or output is unknown. */
  pricing?: ImportedPricing;
  contextTokens?: number;
  /** A limit of the input alone: the context is at least as large. */
  inputTokens?: number;
  maxOutputTokens?: number;
  modalities?: CatalogModel['modalities'];
  capabilities: string[];
  endpoints?: string[];
  reasoningEfforts?: string[];
  /** Upstream calls it deprecated or gives it an end. */
  ending: boolean;
}

export interface Skipped {
  /** The name upstream. */
  name: string;
  reason: string;
}

/** An upstream list as it was read. */
export interface Upstream {
  url: string;
  models: ImportedModel[];
  skipped: Skipped[];
}

/** Rates as an upstream states them, in USD per million tokens. */
export type StatedRates = Partial<Record<keyof CatalogRates, number | null | undefined>>;

/** Prices and limits of upstreams: `null` and absent both mean that nothing is said. */
export const amount = z.number().nonnegative().max(1_000_000).nullish();
export const limit = z.number().int().nonnegative().max(1_000_000_000).nullish();

/**
 * USD per token as USD per million tokens, by moving the decimal point: `1.25e-7` is `0.125`, not
 * `0.12499999999999999`.
 */
export function perMillion(perToken: number | null | undefined): number | undefined {
  if (perToken === null || perToken === undefined) return undefined;
  const [digits = '0', exponent = '0'] = String(perToken).split('e');
  return Number(`${digits}e${Number(exponent) + 6}`);
}

/** The rates of a model, or `null` where input or output is unknown. */
export function knownRates(kind: string, stated: StatedRates): CatalogRates | null {
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

/** A limit that is stated; zero says nothing. */
export function knownLimit(tokens: number | null | undefined): number | undefined {
  return tokens || undefined;
}

/** A rate to the nano-USD, without the dirt of binary fractions. */
export function known(usdPerMillion: number | null | undefined, zeroIsAPrice = false): number | undefined {
  if (usdPerMillion === null || usdPerMillion === undefined) return undefined;
  const exact = Number(usdPerMillion.toFixed(9));
  return exact > 0 || zeroIsAPrice ? exact : undefined;
}

/** Names that are not a model of their own. */
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

/** What a name says that the model is for; `undefined` where it says nothing, as most names of chat models. */
export function kindByName(name: string): string | undefined {
  return KINDS.find(([pattern]) => pattern.test(name))?.[1];
}

export function isPreview(name: string): boolean {
  return /\b(preview|exp|experimental|beta)\b/.test(name);
}

/** JSON mode comes with structured outputs, but at Anthropic, which has none. */
export function withImplied(provider: Provider, capabilities: Iterable<string>): string[] {
  const all = new Set(capabilities);
  if (provider !== 'anthropic' && all.has('structured_outputs')) all.add('json_mode');
  return [...all].sort();
}

/** The list, or an error where nothing of it could be read: an unreadable list must not look like an empty one. */
export function finish(of: string, upstream: Upstream): Upstream {
  if (upstream.models.length === 0)
    throw new Error(`this is no ${of} list: no model of OpenAI, Anthropic or Google can be read from it`);
  return upstream;
}
