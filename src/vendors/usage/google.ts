/**
 * Usage in Google's generateContent, whole and streamed.
 *
 * `promptTokenCount` includes cached content. `candidatesTokenCount` excludes thoughts; ours includes them. What tools
 * add to the prompt counts as input. Google omits zeros. In a stream every chunk repeats the totals so far.
 */
import {
  audioOf,
  checked,
  count,
  detailsOf,
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  modelName,
  type ReportedUsage,
  Stops,
  type StreamReading,
  tierOf,
} from './figures.ts';

export function isContent(body: Fields): boolean {
  return isFields(body.usageMetadata) || Array.isArray(body.candidates) || isFields(body.promptFeedback);
}

export function readContent(body: Fields): ReportedUsage {
  return isFields(body.usageMetadata) ? figuresOf(body.modelVersion, body.usageMetadata, searchesOf(body)) : null;
}

function figuresOf(model: unknown, usage: Fields, searches: number | null): ReportedUsage {
  if (usage.promptTokenCount == null) return null;
  const reasoningTokens = count(usage.thoughtsTokenCount);
  const prompt = [usage.promptTokensDetails, usage.toolUsePromptTokensDetails];
  const { cacheTokensDetails: cached, candidatesTokensDetails: answer } = usage;
  return checked({
    ...modelName(model),
    providerUsed: 'google',
    inputTokens: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
    cachedInputTokens: count(usage.cachedContentTokenCount),
    cacheWriteInputTokens: 0,
    responseTokens: count(usage.candidatesTokenCount) + reasoningTokens,
    reasoningTokens,
    ...(searches !== null && { searches }),
    ...audioOf(...prompt.flatMap((details) => tokensOf('AUDIO', details)), ...tokensOf('AUDIO', answer)),
    ...detailsOf({
      audioInputTokens: sum(prompt.flatMap((details) => tokensOf('AUDIO', details))),
      imageInputTokens: sum(prompt.flatMap((details) => tokensOf('IMAGE', details))),
      cachedAudioInputTokens: sum(tokensOf('AUDIO', cached)),
      cachedImageInputTokens: sum(tokensOf('IMAGE', cached)),
      audioOutputTokens: sum(tokensOf('AUDIO', answer)),
      imageOutputTokens: sum(tokensOf('IMAGE', answer)),
    }),
    ...tierOf(usage.trafficType),
  });
}

/** Tokens of a modality in one of the lists of details. */
function tokensOf(modality: string, details: unknown): unknown[] {
  return listOf(details).flatMap((detail) =>
    fieldsOf(detail).modality === modality ? [fieldsOf(detail).tokenCount] : [],
  );
}

function sum(tokens: unknown[]): number {
  return tokens.reduce((total: number, part) => total + count(part), 0);
}

export function searchesOfContent(body: Fields): number {
  return searchesOf(body) ?? 0;
}

/**
 * The searches that Google bills, of its grounding: each query that is not empty and not asked twice, and before Gemini 3
 * one for the whole answer. `null` if there is no grounding.
 */
function searchesOf(body: Fields): number | null {
  const lists = listOf(body.candidates)
    .map((candidate) => fieldsOf(fieldsOf(candidate).groundingMetadata).webSearchQueries)
    .filter(Array.isArray);
  if (lists.length === 0) return null;
  const queries = new Set(lists.flat().filter((query) => typeof query === 'string' && query.trim() !== ''));
  const isOlder = typeof body.modelVersion === 'string' && /^(?:models\/)?gemini-[12][.-]/.test(body.modelVersion);
  return isOlder ? Math.min(1, queries.size) : queries.size;
}

export class ContentStream implements StreamReading {
  readonly #stops = new Stops();
  #refused = false;
  #model: unknown;
  #usage: Fields | null = null;
  #searches: number | null = null;

  read(event: Fields): void {
    if (event.modelVersion !== undefined) this.#model = event.modelVersion;
    if (isFields(event.usageMetadata)) this.#usage = event.usageMetadata;
    const searches = searchesOf(event);
    if (searches !== null) this.#searches = Math.max(this.#searches ?? 0, searches);
    for (const candidate of listOf(event.candidates)) this.#stops.read(candidate, 'finishReason');
    if (fieldsOf(event.promptFeedback).blockReason !== undefined) this.#refused = true;
  }

  /** Google marks no end of its own: a stop reason, or the reason for which it blocked the prompt, is the end. */
  get completed(): boolean {
    return this.#refused || this.#stops.all;
  }

  get finished(): boolean {
    return this.completed;
  }

  usage(): ReportedUsage {
    return this.#usage && figuresOf(this.#model, this.#usage, this.#searches);
  }

  searches(): number {
    return this.#searches ?? 0;
  }
}
