/**
 * What a whole answer of Anthropic and a stream of one have in common on their way to OpenAI's form: reasons for the
 * end, blocks of thinking, citations, usage.
 */
import type { ChatCompletion, ChatCompletionMessage } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import { type Fields, fieldsOf, listOf, plausible, type ReportedUsage } from '../../vendors/usage/figures.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** A pause and a full context leave the answer unfinished, as the bound of the output does. */
const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  pause_turn: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

export function finishReasonOf(reason: unknown): FinishReason {
  return (Object.hasOwn(FINISH_REASONS, String(reason)) && FINISH_REASONS[String(reason)]) || 'stop';
}

/** The words of a refusal, from the member that says why an answer stopped; `null` where it is none. */
export function refusalOf({ stop_reason: reason, stop_details: details }: Fields): string | null {
  if (reason !== 'refusal') return null;
  const { explanation, category } = fieldsOf(details);
  if (typeof explanation === 'string' && explanation !== '') return explanation;
  return typeof category === 'string' ? `The model refused to answer (${category}).` : 'The model refused to answer.';
}

/** As Anthropic needs it back: changed or without its signature it is refused. */
export type ThinkingBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string };

/** The block, if it is one of thinking. */
export function thinkingBlockOf({ type, thinking, signature, data }: Fields): ThinkingBlock | null {
  if (type === 'thinking') return { type, thinking: textOf(thinking), signature: textOf(signature) };
  return type === 'redacted_thinking' ? { type, data: textOf(data) } : null;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Unicode characters of a text: pieces of it add up wherever it is cut. */
export function charactersOf(text: string): number {
  let low = 0;
  for (let index = 0; index < text.length; index += 1) if ((text.charCodeAt(index) & 0xfc00) === 0xdc00) low += 1;
  return text.length - low;
}

export type UrlCitation = ChatCompletionMessage.Annotation;

/** The pages of the web that a block of text cites; it lies between the two places of the content. */
export function urlCitations(citations: unknown, start: number, end: number): UrlCitation[] {
  return listOf(citations)
    .map(fieldsOf)
    .filter(({ type }) => type === 'web_search_result_location')
    .map(({ url, title }) => ({
      type: 'url_citation',
      url_citation: { url: textOf(url), title: textOf(title), start_index: start, end_index: end },
    }));
}

/** OpenAI's usage, with the members that other vendors in its form have for what OpenAI does not count. */
export interface TranslatedUsage extends CompletionUsage {
  prompt_tokens_details: CompletionUsage.PromptTokensDetails & {
    cache_write_tokens_details?: { ttl_1h_tokens: number };
  };
  server_tool_use?: { web_search_requests: number };
}

/** `undefined` where the answer reports no usage that can be believed. */
export function usageOf(reported: ReportedUsage): TranslatedUsage | undefined {
  const usage = plausible(reported);
  if (usage === null) return undefined;
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
    ...(searches !== undefined && { server_tool_use: { web_search_requests: searches } }),
  };
}

export type AnsweredTier = NonNullable<ChatCompletion['service_tier']>;

/** The tier that answered; a word that OpenAI does not have, such as `batch`, passes as it is. */
export function serviceTierOf(usage: unknown): { service_tier?: AnsweredTier } {
  const { service_tier: tier } = fieldsOf(usage);
  if (typeof tier !== 'string') return {};
  return { service_tier: (tier === 'standard' ? 'default' : tier) as AnsweredTier };
}
