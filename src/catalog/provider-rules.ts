/**
 * Rates that a provider states for many of its models at once. A price's own rates win over these.
 *
 * Sources, read as of 2026-11-22:
 * - Anthropic: platform.claude.com/docs/en/about-claude/pricing: web searches at 10 USD per 1,000; from Claude Sonnet
 *   4.5 on, regional endpoints of Amazon Bedrock and Google Cloud cost 10 % more than global ones, older models the
 *   same; models from Claude 4.6 on cost 10 % more if they run only in the USA (`inference_geo`, the US data zone of
 *   Microsoft Foundry), as their prices list.
 * - OpenAI: developers.openai.com/api/docs/pricing: web search at 10 USD and file search at 2.50 USD per 1,000 calls
 *   (not for models that search in every call, which have prices of their own); developers.openai.com/api/docs/guides/
 *   data-residency: 10 % more for models released since 2026-03-05, older models the same; not stated for Azure. Images
 *   in a prompt of a chat model cost the same as text. On Bedrock: the model cards of AWS, and pi-ai 1.5.2: `global.`
 *   as OpenAI lists it, all others 10 % more.
 * - Google: ai.google.dev, Gemini API pricing: grounding with Google Search at 14 USD per 1,000 queries from Gemini 3
 *   on, and at 35 USD per 1,000 grounded prompts before; one input price for text, images and video. It states a price
 *   of audio if that differs; no Pro model has one, and no other model since Gemini 3.5 (also genai-prices 0.1.8: "no
 *   separate audio rate"). Decisions have one price for any input.
 */
import { buildRate, type Component, type Rate } from '../domain/price.ts';
import type { Channel } from './channel.ts';
import type { CatalogModel } from './model.ts';

/** The tool uses that a provider bills at one rate for all of its models. */
export function toolUseRates({ provider, kind, model }: CatalogModel): Rate[] {
  if (kind !== 'chat') return [];
  switch (provider) {
    case 'anthropic':
      return [buildRate('webSearch', '10', 1_000)];
    case 'openai':
      return [
        ...(/-search(?:-|$)/.test(model) ? [] : [buildRate('webSearch', '10', 1_000)]),
        buildRate('fileSearch', '2.5', 1_000),
      ];
    case 'google':
      return [buildRate('webSearch', isGeminiBefore3(model) ? '35' : '14', 1_000)];
  }
}

/** Whether Google bills a grounded prompt once, for any number of queries. */
export function isGeminiBefore3(model: string): boolean {
  return /^gemini-[12][.-]/.test(model);
}

/** Parts of a prompt that a model bills as text if it lists no rate for them. */
export function billedAsWhole(model: CatalogModel): Component[] {
  const { kind, modalities } = model;
  if (kind !== 'chat' && kind !== 'decision') return [];
  return [
    ...(modalities.input.includes('image') ? (['imageInput', 'cachedImageInput'] as const) : []),
    ...(modalities.input.includes('audio') && isAudioText(model) ? (['audioInput', 'cachedAudioInput'] as const) : []),
  ];
}

/** Whether Google states one input price for the model, audio included. */
function isAudioText({ provider, model, kind }: CatalogModel): boolean {
  const since35 = /^gemini-(?:[\d.]+-pro\b|3\.[5-9]-|[4-9]|(?:pro|flash|flash-lite)-latest$)/;
  return provider === 'google' && (kind === 'decision' || since35.test(model));
}

const ANTHROPIC_CLOUD_PREMIUM_FROM = '2025-09-29';
const OPENAI_REGIONAL_PREMIUM_FROM = '2026-03-05';

/**
 * Token rates of a regional endpoint in percent of the global ones; `undefined` if the provider does not state them.
 */
export function regionalPercent(model: CatalogModel, channel: Channel | null): number | undefined {
  const { provider, releasedAt, pricing } = model;
  if (provider === 'anthropic' && (channel === 'bedrock' || channel === 'vertex')) {
    if (releasedAt === undefined) return undefined;
    return releasedAt >= ANTHROPIC_CLOUD_PREMIUM_FROM ? 110 : 100;
  }
  if (provider === 'openai' && channel === 'bedrock') return 110;
  if (channel === 'vertex' || channel === 'bedrock' || (channel === 'azure' && provider === 'openai')) return undefined;
  if (pricing?.regionalMultiplier !== undefined) return toPercent(pricing.regionalMultiplier);
  if (
    provider === 'openai' &&
    channel === null &&
    releasedAt !== undefined &&
    releasedAt < OPENAI_REGIONAL_PREMIUM_FROM
  )
    return 100;
  return undefined;
}

/** A share as whole percent. */
export function toPercent(share: number | undefined): number | undefined {
  return share === undefined ? undefined : Math.round(share * 100);
}
