/**
 * The shape of the model catalog: facts about real models, each with its source.
 *
 * Prices are in USD per million tokens as vendors publish them; `prices.ts` turns them into exact rates. An absent
 * capability, limit or price means unknown, never none. The data and how each field was derived are described in
 * `README.md` beside this file.
 */

export type Provider = 'openai' | 'anthropic' | 'google';

export interface CatalogRates {
  inputUsdPerMillion: number;
  outputUsdPerMillion: number;
  cachedInputUsdPerMillion?: number;
  cacheWriteUsdPerMillion?: number;
}

export interface CatalogPricing extends CatalogRates {
  /** Rates of prompts with more input tokens than this; they apply to the whole call. */
  tiers?: (CatalogRates & { inputTokensAbove: number })[];
  /** Announced changes, in force from the start of the UTC day `from`; they replace the rates that they name. */
  scheduled?: (Partial<CatalogRates> & { from: string })[];
  imageOutputUsdPerMillion?: number;
  searchUsdPerMillion?: number;
  audioSecondUsdPerMillion?: number;
  batchMultiplier?: number;
  source: string;
}

export interface CatalogModel {
  provider: Provider;
  model: string;
  displayName: string;
  family: string;
  kind: string;
  /** Short names that the provider documents as pointing to this model. */
  aliases: string[];
  preferredAlias?: string;
  lifecycle: {
    status: 'ACTIVE' | 'DEPRECATED' | 'RETIRED';
    announcedAt?: string;
    shutdownAt?: string;
    replacement?: string;
    source: { label: string; url: string; checkedAt: string };
    confidence: 'provider' | 'snapshot' | 'secondary';
    note?: string;
  };
  releasedAt?: string;
  preview: boolean;
  pricing?: CatalogPricing;
  contextTokens?: number;
  maxOutputTokens?: number;
  modalities: { input: string[]; output: string[] };
  capabilities: string[];
  endpoints: string[];
  reasoningEfforts?: string[];
}

export interface Catalog {
  /** Date-like label of the release. */
  version: string;
  publishedAtMs: number;
  models: readonly CatalogModel[];
}

/** `provider/model`: the name of a model in every answer. */
export function modelKeyOf(model: Pick<CatalogModel, 'provider' | 'model'>): string {
  return `${model.provider}/${model.model}`;
}
