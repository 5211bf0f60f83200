/**
 * Usage in OpenAI's answers (chat completions, completions, embeddings, responses) and in those of compatible vendors.
 *
 * Cache reads and writes are part of the prompt here, and reasoning is part of the completion. Google's compatible
 * endpoint leaves thoughts out of `completion_tokens` and counts them only in `total_tokens`; some other vendors list
 * reasoning in addition to the completion. Both show in a total that is larger than its parts.
 */

import type { TokenDetail, ToolUses } from '../../domain/usage.ts';
import { isSearchModel } from '../capabilities.ts';
import {
  audioOf,
  audioSecondsOf,
  checked,
  count,
  detailsOf,
  effortOf,
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  modelName,
  providerOf,
  type ReportedUsage,
  reportedCost,
  Stops,
  type StreamReading,
  textOf,
  tierOf,
} from './figures.ts';

/** Chat completions, completions and embeddings: all answers that count `prompt_tokens`. */
export function isCompletion(body: Fields): boolean {
  return Array.isArray(body.choices) || fieldsOf(body.usage).prompt_tokens !== undefined;
}

export function readCompletion(body: Fields): ReportedUsage {
  return isFields(body.usage)
    ? completionFigures(body.model, body.usage, searchesOfCompletion(body), body.service_tier)
    : null;
}

/**
 * The searches that Groq lists as executed. Otherwise 1 if the answer cites the web or comes from a model that searches
 * in every call: vendors seldom report how many searches there were.
 */
export function searchesOfCompletion(body: Fields): number {
  const choices = listOf(body.choices).map(fieldsOf);
  const executed = choices.flatMap(({ message, delta }) =>
    [message, delta].flatMap((part) => listOf(fieldsOf(part).executed_tools)),
  );
  const listed = executed.filter((tool) => textOf(fieldsOf(tool).type).includes('search')).length;
  if (listed > 0) return listed;
  const cites = choices.some(({ message, delta }) =>
    [message, delta].some((part) => citesWeb(fieldsOf(part).annotations)),
  );
  const lists = listOf(body.citations).length > 0 || listOf(body.search_results).length > 0;
  const always = choices.length > 0 && typeof body.model === 'string' && isSearchModel(body.model);
  return cites || lists || always ? 1 : 0;
}

function citesWeb(annotations: unknown): boolean {
  return listOf(annotations).some((annotation) => fieldsOf(annotation).type === 'url_citation');
}

/** The searches that the usage counts (Perplexity, OpenRouter), else those that show in the answer. */
function searchesCounted(usage: Fields, shown: number): { searches?: number } {
  const counted = usage.num_search_queries ?? fieldsOf(usage.server_tool_use).web_search_requests;
  if (counted != null) return { searches: count(counted) };
  return shown === 0 ? {} : { searches: shown };
}

function completionFigures(model: unknown, usage: Fields, searches: number, tier: unknown): ReportedUsage {
  if (usage.prompt_tokens == null) return null;
  const prompt = fieldsOf(usage.prompt_tokens_details);
  const inputTokens = count(usage.prompt_tokens);
  const listed = count(usage.completion_tokens);
  const details = fieldsOf(usage.completion_tokens_details);
  const reasoning = count(details.reasoning_tokens);
  const provider = providerOf(model);
  const beside = usage.total_tokens == null ? 0 : count(usage.total_tokens) - inputTokens - listed;
  const hidden = beside > 0 && (provider.providerUsed === 'google' || beside === reasoning) ? beside : 0;
  return checked({
    ...modelName(model),
    ...provider,
    inputTokens,
    cachedInputTokens: count(prompt.cached_tokens),
    cacheWriteInputTokens: count(prompt.cache_write_tokens),
    responseTokens: listed + hidden,
    reasoningTokens: Number.isNaN(reasoning) ? reasoning : Math.max(reasoning, hidden),
    ...searchesCounted(usage, searches),
    ...audioOf(prompt.audio_tokens, details.audio_tokens),
    ...mediaOf(prompt, details),
    ...cacheWritesOf(prompt),
    ...tierOf(tier ?? usage.service_tier),
    ...costReported(usage),
    // Mistral's field.
    ...audioSecondsOf(usage.prompt_audio_seconds),
  });
}

/** Audio and images, which are parts of the prompt and the answer. */
function mediaOf(input: Fields, output: Fields): Partial<Record<TokenDetail, number>> {
  return detailsOf({
    audioInputTokens: count(input.audio_tokens),
    imageInputTokens: count(input.image_tokens),
    cachedAudioInputTokens: count(fieldsOf(input.cached_tokens_details).audio_tokens),
    cachedImageInputTokens: count(fieldsOf(input.cached_tokens_details).image_tokens),
    audioOutputTokens: count(output.audio_tokens),
    imageOutputTokens: count(output.image_tokens),
  });
}

function cacheWritesOf(input: Fields): Partial<Record<TokenDetail, number>> {
  return detailsOf({ cacheWrite12hInputTokens: count(fieldsOf(input.cache_write_tokens_details).ttl_12h_tokens) });
}

/** Ticks of a USD in xAI's answers. Source: docs.x.ai, API reference. */
const TICKS_PER_USD = 10_000_000_000;

/** What the vendor charged by its own word: OpenRouter's `cost` in USD, and xAI's in ticks. */
function costReported(usage: Fields): { vendorReportedCostUSD?: number } {
  const { cost, cost_in_usd_ticks: ticks } = usage;
  if (typeof ticks === 'number') return reportedCost(ticks / TICKS_PER_USD);
  return reportedCost(cost);
}

/** A transcription that is counted only by its length. */
export function isDuration(body: Fields): boolean {
  return fieldsOf(body.usage).type === 'duration';
}

export function readDuration({ usage }: Fields): ReportedUsage {
  return checked({
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    responseTokens: 0,
    reasoningTokens: 0,
    ...audioSecondsOf(fieldsOf(usage).seconds),
  });
}

/** Responses and OpenAI's other answers that count `input_tokens` (images, transcriptions). */
export function isResponse(body: Fields): boolean {
  return body.object === 'response' || fieldsOf(body.usage).input_tokens !== undefined;
}

export function readResponse(body: Fields): ReportedUsage {
  const usage = fieldsOf(body.usage);
  if (usage.input_tokens == null) return null;
  // Transcriptions have `input_token_details`.
  const input = fieldsOf(usage.input_tokens_details ?? usage.input_token_details);
  const output = fieldsOf(usage.output_tokens_details);
  return checked({
    ...modelName(body.model),
    ...providerOf(body.model),
    inputTokens: count(usage.input_tokens),
    cachedInputTokens: count(input.cached_tokens),
    cacheWriteInputTokens: count(input.cache_write_tokens),
    responseTokens: count(usage.output_tokens),
    reasoningTokens: count(output.reasoning_tokens),
    ...searchesOf(body),
    ...toolUsesOf(body),
    ...audioOf(input.audio_tokens, output.audio_tokens),
    ...(isImages(body) ? imageFigures(input, usage) : mediaOf(input, output)),
    ...cacheWritesOf(input),
    ...tierOf(body.service_tier),
    ...costReported(usage),
    ...effortOf(fieldsOf(body.reasoning).effort),
  });
}

/** The billable searches if OpenAI counts them itself, else the search calls in the output. */
function searchesOf(body: Fields): { searches?: number } {
  const billable = fieldsOf(fieldsOf(body.tool_usage).web_search).num_requests;
  if (billable != null) return { searches: count(billable) };
  const searches = listOf(body.output).filter(isSearch).length;
  return searches === 0 ? {} : { searches };
}

export function searchesOfResponse(body: Fields): number {
  return searchesOf(body).searches ?? 0;
}

/** Opening a page and finding in it are no searches, and are not billed. */
function isSearch(item: unknown): boolean {
  const { type, action } = fieldsOf(item);
  const kind = fieldsOf(action).type;
  return type === 'web_search_call' && (kind === undefined || kind === 'search');
}

function toolUsesOf(body: Fields): { toolUses?: ToolUses } {
  const fileSearch = listOf(body.output).filter((item) => fieldsOf(item).type === 'file_search_call').length;
  return fileSearch === 0 ? {} : { toolUses: { fileSearch } };
}

/** An answer with images that were made, of which the output tokens are image tokens. */
function isImages(body: Fields): boolean {
  return Array.isArray(body.data) && body.object === undefined;
}

function imageFigures(input: Fields, usage: Fields): Partial<Record<TokenDetail, number>> {
  const output = fieldsOf(usage.output_tokens_details);
  const text = count(output.text_tokens);
  return detailsOf({
    imageInputTokens: count(input.image_tokens),
    imageOutputTokens: output.image_tokens == null ? count(usage.output_tokens) - text : count(output.image_tokens),
  });
}

export class CompletionStream implements StreamReading {
  #model: unknown;
  #usage: Fields | null = null;
  #tier: unknown;
  #searches = 0;
  readonly #stops = new Stops();

  read(event: Fields): void {
    if (typeof event.model === 'string' && event.model !== '') this.#model = event.model;
    if (typeof event.service_tier === 'string') this.#tier = event.service_tier;
    this.#searches = Math.max(this.#searches, searchesOfCompletion(event));
    // Usage comes in a last chunk of its own, in every chunk, or with the choices: the latest counts, null does not.
    if (isFields(event.usage)) this.#usage = event.usage;
    for (const choice of listOf(event.choices)) this.#stops.read(choice, 'finish_reason');
  }

  usage(): ReportedUsage {
    return this.#usage && completionFigures(this.#model, this.#usage, this.#searches, this.#tier);
  }

  searches(): number {
    return this.#searches;
  }

  /** Not every compatible vendor sends `[DONE]`; a stop reason and a usage are everything too. */
  get completed(): boolean {
    return this.finished && this.#usage !== null;
  }

  get finished(): boolean {
    return this.#stops.all;
  }
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']);
const END_STATES = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

export function isResponseEvent(event: Fields): boolean {
  return event.object === 'response' || (typeof event.type === 'string' && event.type.startsWith('response.'));
}

export class ResponseStream implements StreamReading {
  completed = false;
  #response: Fields = {};
  /** Searches that are done, known before the response counts them. */
  #searched = 0;

  read(event: Fields): void {
    if (event.type === 'response.output_item.done' && isSearch(event.item)) this.#searched += 1;
    if (event.object === 'response') {
      // A whole answer in place of a stream.
      this.#response = event;
      this.completed = END_STATES.has(textOf(event.status));
      return;
    }
    if (isFields(event.response)) this.#response = event.response;
    if (ENDS.has(textOf(event.type))) this.completed = true;
  }

  get finished(): boolean {
    return this.completed;
  }

  usage(): ReportedUsage {
    return readResponse(this.#response);
  }

  searches(): number {
    return Math.max(this.#searched, searchesOfResponse(this.#response));
  }
}
