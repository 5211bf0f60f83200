/**
 * The parts of a whole Anthropic answer, or of its stream, besides the message, in OpenAI's form: the reason for the
 * end, the service tier, the usage.
 */
import type { ChatCompletion } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import { fieldsOrEmpty, type VendorUsage } from '../../vendors/usage/figures.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** A pause and a full context leave the answer unfinished, as the bound of the output does. */
const FINISH_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['pause_turn', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

export function toFinishReason(reason: unknown): FinishReason {
  return FINISH_REASONS.get(reason) ?? 'stop';
}

/** OpenAI's usage, with the members that other vendors use in its form for figures that OpenAI does not count. */
export interface TranslatedUsage extends CompletionUsage {
  prompt_tokens_details: CompletionUsage.PromptTokensDetails & {
    cache_write_tokens_details?: { ttl_1h_tokens: number };
  };
  server_tool_use: { web_search_requests: number };
}

/** `undefined` if the answer reports no usage, or figures that make no sense. */
export function toTranslatedUsage(usage: VendorUsage | null): TranslatedUsage | undefined {
  if (usage === null || usage.unclear) return undefined;
  const { inputTokens, responseTokens, cacheWrite1hInputTokens: hour, searches } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: responseTokens,
    total_tokens: inputTokens + responseTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteInputTokens,
      ...(hour !== undefined && { cache_write_tokens_details: { ttl_1h_tokens: hour } }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    // Also present if the call made no search: an answer may cite a result of an earlier one.
    server_tool_use: { web_search_requests: searches ?? 0 },
  };
}

export type AnsweredTier = NonNullable<ChatCompletion['service_tier']>;

/** The tier that answered; a word that OpenAI lacks, such as `batch`, passes unchanged. */
export function answeredTier(usage: unknown): { service_tier?: AnsweredTier } {
  const { service_tier: tier } = fieldsOrEmpty(usage);
  if (typeof tier !== 'string') return {};
  return { service_tier: (tier === 'standard' ? 'default' : tier) as AnsweredTier };
}
