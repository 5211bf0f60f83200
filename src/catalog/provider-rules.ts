/**
 * Rates that a provider states for many of its models at once. What a price lists itself wins over these.
 *
 * Sources, read as of 2026-11-22:
 * - Anthropic: platform.claude.com/docs/en/about-claude/pricing: web searches at 10 USD per 1,000; from Claude Sonnet 4.5 on, regional endpoints
 *   of Amazon Bedrock and Google Cloud cost 10 % more than global ones, older models the same; models from Claude 4.6 on
 *   cost 10 % more where they run in the USA alone (`inference_geo`, the US data zone of Microsoft Foundry), as their prices list.
 * - OpenAI: developers.openai.com/api/docs/pricing: web search at 10 USD and file search at 2.50 USD per 1,000 calls
 *   (not for models that search in every call, which have prices of their own); developers.openai.com/api/docs/guides/
 *   data-residency: 10 % more for models released since 2026-03-05, older models the same; not said of Azure. Images in a prompt of a chat
 *   model cost what text costs.
 * - Google: ai.google.dev, Gemini API pricing: grounding with Google Search at 14 USD per 1,000 queries from Gemini 3 on,
 *   and at 35 USD per 1,000 grounded prompts before; one input price for text, images and video.
 */
import { type Component, type Rate, rateOf } from '../domain/price.ts';
import type { Channel } from './channel.ts';
import type { CatalogModel } from './model.ts';

/** The uses of tools that a provider bills alike for its models. */
export function usesOf({ provider, kind, model }: CatalogModel): Rate[] {
  if (kind !== 'chat') return [];
  switch (provider) {
    case 'anthropic':
      return [rateOf('webSearch', '10', 1_000)];
    case 'openai':
      return [
        ...(/-search(?:-|$)/.test(model) ? [] : [rateOf('webSearch', '10', 1_000)]),
        rateOf('fileSearch', '2.5', 1_000),
      ];
    case 'google':
      return [rateOf('webSearch', isGeminiBefore3(model) ? '35' : '14', 1_000)];
  }
}

/** Whether Google bills a grounded prompt once, however many queries it made. */
export function isGeminiBefore3(model: string): boolean {
  return /^gemini-[12][.-]/.test(model);
}

/** Parts of a prompt that a model bills as text where it lists no rate for them. */
export function billedAsWhole({ kind, modalities }: CatalogModel): Component[] {
  return kind === 'chat' && modalities.input.includes('image') ? ['imageInput', 'cachedImageInput'] : [];
}

const ANTHROPIC_CLOUD_PREMIUM_FROM = '2025-09-29';
const OPENAI_REGIONAL_PREMIUM_FROM = '2026-03-05';

/** Token rates of a regional endpoint in percent of the global ones; `undefined` where the provider does not say. */
export function regionalPercent(model: CatalogModel, channel: Channel | null): number | undefined {
  const { provider, releasedAt, pricing } = model;
  if (provider === 'anthropic' && (channel === 'bedrock' || channel === 'vertex')) {
    if (releasedAt === undefined) return undefined;
    return releasedAt >= ANTHROPIC_CLOUD_PREMIUM_FROM ? 110 : 100;
  }
  if (channel === 'vertex' || channel === 'bedrock' || (channel === 'azure' && provider === 'openai')) return undefined;
  if (pricing?.regionalMultiplier !== undefined) return Math.round(pricing.regionalMultiplier * 100);
  if (
    provider === 'openai' &&
    channel === null &&
    releasedAt !== undefined &&
    releasedAt < OPENAI_REGIONAL_PREMIUM_FROM
  )
    return 100;
  return undefined;
}
