/**
 * Usage in OpenAI's answers (chat completions, completions, embeddings, responses) and in those of compatible vendors.
 *
 * Cache reads and writes are part of the prompt here, and reasoning is part of the completion. Google's compatible
 * endpoint leaves thoughts out of `completion_tokens` and counts them only in `total_tokens`; some other vendors list
 * reasoning in addition to the completion. Both show in a total that is larger than its parts. A count that is missing
 * beside a total is the rest of it.
 */

import type { UnclearFigure } from '../../domain/unclear-usage.ts';
import { isSearchModel } from '../capabilities.ts';
import {
  audioDetail,
  count,
  type Fields,
  Figures,
  fieldsOrEmpty,
  fitting,
  isFields,
  listOrEmpty,
  modelName,
  readEffort,
  readServiceTier,
  reportedUsd,
  Stops,
  type StreamReading,
  soleProvider,
  textOrEmpty,
  toolUses,
  type VendorUsage,
  withoutZeros,
} from './figures.ts';
import type { FigureName } from './names.ts';

/** Chat completions, completions and embeddings: all answers that count tokens and are not of another kind. */
export function isCompletion(body: Fields): boolean {
  return Array.isArray(body.choices) || (!isResponse(body) && readUsageBody(body).figures.has(...TOKENS));
}

export function readCompletion(body: Fields): VendorUsage | null {
  return buildUsage(body, readUsageBody(body), searchesOfCompletion(body));
}

const TOKENS = ['prompt', 'completion', 'total'] as const;

/** The report of an answer in OpenAI's form, from all of its events together. */
class Reading {
  readonly figures = new Figures('openai');
  /** The vendor's own charge, in USD. */
  costUsd: number | null = null;
  serviceTier: unknown;
  /** It is counted only by its length. */
  isDuration = false;

  read(body: Fields): void {
    for (const usage of usagesIn(body)) {
      this.figures.read(usage);
      const cost = costReported(usage);
      if (cost !== null) this.costUsd = Math.max(cost, this.costUsd ?? 0);
      this.serviceTier = usage.service_tier ?? this.serviceTier;
      this.isDuration ||= usage.type === 'duration';
    }
    this.serviceTier = body.service_tier ?? this.serviceTier;
    // The searches that OpenAI bills.
    const { num_requests: requests } = fieldsOrEmpty(fieldsOrEmpty(body.tool_usage).web_search);
    if (requests != null) this.figures.add('searches', count(requests));
  }
}

function readUsageBody(body: Fields): Reading {
  const reading = new Reading();
  reading.read(body);
  return reading;
}

/**
 * The objects that hold usage: `usage`, Groq's `x_groq.usage` (console.groq.com/docs/api-reference, chat chunks), the
 * usage of a choice in Moonshot's streams (platform.moonshot.ai/docs/api/chat), Cohere's `meta` and last event
 * (docs.cohere.com/reference), and the answer itself of Ollama.
 */
function usagesIn(body: Fields): Fields[] {
  const { usage, x_groq: groq, choices, meta, delta } = body;
  return [
    usage,
    fieldsOrEmpty(groq).usage,
    ...listOrEmpty(choices).map((choice) => fieldsOrEmpty(choice).usage),
    fieldsOrEmpty(meta).billed_units === undefined ? null : meta,
    body.type === 'message-end' ? fieldsOrEmpty(delta).usage : null,
    body.eval_count === undefined && body.prompt_eval_count === undefined ? null : body,
  ].filter(isFields);
}

/**
 * The searches that Groq lists as executed. Otherwise 1 if the answer cites the web or comes from a model that searches
 * in every call: vendors seldom report how many searches there were.
 */
export function searchesOfCompletion(body: Fields): number {
  const choices = listOrEmpty(body.choices).map(fieldsOrEmpty);
  const executed = choices.flatMap(({ message, delta }) =>
    [message, delta].flatMap((part) => listOrEmpty(fieldsOrEmpty(part).executed_tools)),
  );
  const listed = executed.filter((tool) => textOrEmpty(fieldsOrEmpty(tool).type).includes('search')).length;
  if (listed > 0) return listed;
  const cites = choices.some(({ message, delta }) =>
    [message, delta].some((part) => citesWeb(fieldsOrEmpty(part).annotations)),
  );
  const lists = listOrEmpty(body.citations).length > 0 || listOrEmpty(body.search_results).length > 0;
  const always = choices.length > 0 && typeof body.model === 'string' && isSearchModel(body.model);
  return cites || lists || always ? 1 : 0;
}

function citesWeb(annotations: unknown): boolean {
  return listOrEmpty(annotations).some((annotation) => fieldsOrEmpty(annotation).type === 'url_citation');
}

/** OpenAI's figures that make up each of ours. */
const MADE_OF = {
  inputTokens: ['prompt', 'promptBeside'],
  cachedInputTokens: ['cached', 'cachedApart'],
  cacheWriteInputTokens: ['cacheWrite', 'cacheWriteApart'],
  cacheWrite1hInputTokens: ['cacheWrite1h'],
  cacheWrite12hInputTokens: ['cacheWrite12h'],
  audioInputTokens: ['audioInput'],
  imageInputTokens: ['imageInput'],
  cachedAudioInputTokens: ['cachedAudio'],
  cachedImageInputTokens: ['cachedImage'],
  responseTokens: ['completion'],
  reasoningTokens: ['reasoning', 'reasoningApart'],
  audioOutputTokens: ['audioOutput'],
  imageOutputTokens: ['imageOutput'],
  searches: ['searches', 'webSearches', 'platformSearches', 'sources'],
  fileSearch: ['fileSearches', 'documentSearches'],
  audioSeconds: ['audioSeconds'],
} as const satisfies Partial<Record<UnclearFigure, readonly FigureName[]>>;

/** `shown`: searches that the answer shows, which count if the usage has none. */
function buildUsage(body: Fields, reading: Reading, shown: number): VendorUsage | null {
  const { figures, costUsd, serviceTier, isDuration } = reading;
  if (!figures.has(...TOKENS) && !isDuration) return null;
  const provider = soleProvider(body.model);
  const tokens = splitTokens(figures, provider.providerUsed === 'google', detectOutput(body));
  const cachedInputTokens = Math.max(figures.sum('cached'), figures.sum('cachedApart'));
  const cacheWriteInputTokens = Math.max(figures.sum('cacheWrite'), figures.sum('cacheWriteApart'));
  const [audioInputTokens, audioOutputTokens] = [figures.sum('audioInput'), figures.sum('audioOutput')];
  const fileSearch = figures.has('fileSearches', 'documentSearches')
    ? figures.sum('fileSearches', 'documentSearches')
    : listOrEmpty(body.output).filter((item) => fieldsOrEmpty(item).type === 'file_search_call').length;
  const searches = searchesCounted(figures, shown);
  const parts = toolParts(body);
  return fitting(
    {
      ...modelName(body.model),
      ...provider,
      inputTokens: tokens.input,
      cachedInputTokens,
      cacheWriteInputTokens,
      responseTokens: tokens.output,
      reasoningTokens: tokens.reasoning,
      ...(tokens.total !== undefined && { totalTokens: tokens.total }),
      ...(searches !== null && { searches }),
      ...toolUses(fileSearch),
      ...audioDetail(audioInputTokens + audioOutputTokens),
      ...withoutZeros({
        cacheWrite1hInputTokens: figures.sum('cacheWrite1h'),
        cacheWrite12hInputTokens: figures.sum('cacheWrite12h'),
        audioInputTokens,
        imageInputTokens: figures.sum('imageInput'),
        cachedAudioInputTokens: figures.sum('cachedAudio'),
        cachedImageInputTokens: figures.sum('cachedImage'),
        audioOutputTokens,
        imageOutputTokens: imageOutputTokens(body, figures),
      }),
      ...readServiceTier(serviceTier),
      ...(costUsd !== null && { vendorReportedCostUSD: costUsd }),
      ...(figures.has('audioSeconds') && { audioSeconds: figures.sum('audioSeconds') }),
      ...readEffort(fieldsOrEmpty(body.reasoning).effort),
      ...(parts.length > 0 && { parts }),
    },
    [
      ...figures.unclearOf(MADE_OF),
      ...tokens.unclear,
      ...(isDuration && !figures.has('audioSeconds', 'prompt') ? (['audioSeconds'] as const) : []),
    ],
  );
}

interface Tokens {
  input: number;
  output: number;
  reasoning: number;
  /** The total, if nothing else is known. */
  total?: number;
  unclear: readonly UnclearFigure[];
}

/** Whether an answer has output: embeddings and rankings have none, and other answers do not show it. */
function detectOutput({ choices, object, data, results }: Fields): 'some' | 'none' | 'unknown' {
  if (Array.isArray(choices) || object === 'response' || object === 'response.compaction') return 'some';
  const isVector = listOrEmpty(data).some((item) => fieldsOrEmpty(item).embedding !== undefined);
  return object === 'list' || isVector || Array.isArray(results) ? 'none' : 'unknown';
}

function splitTokens(figures: Figures, isGoogle: boolean, hasOutput: ReturnType<typeof detectOutput>): Tokens {
  const [prompt, completion, total] = [figures.sum('prompt'), figures.sum('completion'), figures.sum('total')];
  const [hasPrompt, hasCompletion] = [figures.has('prompt'), figures.has('completion')];
  const isClear = !figures.isUnclear('prompt', 'completion');
  const rest = isClear ? Math.max(0, total - prompt - completion) : 0;
  const beside = tokensBesidePrompt(figures, rest);
  // Perplexity's deep research counts its reading and its thoughts besides the rest.
  const isApart = figures.has('promptBeside');
  const reasoning = Math.max(figures.sum('reasoning'), figures.sum('reasoningApart'));
  if (!hasPrompt && !hasCompletion) {
    const isAlone = figures.has('total');
    if (isAlone && hasOutput === 'none') {
      return { input: total, output: 0, reasoning, unclear: figures.isUnclear('total') ? ['inputTokens'] : [] };
    }
    return {
      ...{ input: 0, output: 0, reasoning },
      ...(isAlone && !figures.isUnclear('total') && { total }),
      unclear: isAlone ? ['inputTokens', 'responseTokens'] : [],
    };
  }
  if (!hasPrompt) {
    const unclear = rest > 0 ? [] : (['inputTokens'] as const);
    return { input: rest, output: completion, reasoning, unclear };
  }
  const isHidden = isGoogle || !hasCompletion || rest === reasoning;
  const hidden = beside === 0 && !isApart && isHidden ? rest : 0;
  return {
    input: prompt + beside + figures.sum('promptBeside'),
    output: completion + hidden + (isApart ? figures.sum('reasoningApart') : 0),
    reasoning: Math.max(reasoning, hasCompletion ? hidden : 0),
    unclear: hasOutput === 'some' && !hasCompletion && !figures.has('total') ? ['responseTokens'] : [],
  };
}

/**
 * Cache reads and writes under Anthropic's names are outside of the prompt, as Anthropic counts them, if they do not
 * fit into it or if the total includes them too; otherwise they are part of it, as in OpenAI's form.
 */
function tokensBesidePrompt(figures: Figures, rest: number): number {
  if (figures.isUnclear('prompt', 'cachedApart', 'cacheWriteApart')) return 0;
  const apart = figures.sum('cachedApart', 'cacheWriteApart');
  return apart > figures.sum('prompt') || apart === rest ? apart : 0;
}

/** The searches that the usage counts, otherwise those that the answer shows; `null` if there are none. */
function searchesCounted(figures: Figures, shown: number): number | null {
  if (figures.isUnclear(...MADE_OF.searches)) return Math.max(shown, figures.sum('searches'));
  if (figures.has('searches')) return figures.sum('searches');
  if (figures.has('webSearches', 'platformSearches')) return figures.sum('webSearches', 'platformSearches');
  if (figures.sum('sources') > 0) return figures.sum('sources');
  return shown === 0 ? null : shown;
}

/** In an answer with generated images, the output tokens except those of text are image tokens. */
function imageOutputTokens(body: Fields, figures: Figures): number {
  const isImages = Array.isArray(body.data) && body.object === undefined;
  if (!isImages || figures.has('imageOutput')) return figures.sum('imageOutput');
  return Math.max(0, figures.sum('completion') - figures.sum('textOutput'));
}

/**
 * The usage of a tool in a response that runs its own model: OpenAI's images. Source: the types of its SDK,
 * `ToolUsage`.
 */
function toolParts(body: Fields): VendorUsage[] {
  const usage = fieldsOrEmpty(body.tool_usage).image_gen;
  if (!isFields(usage)) return [];
  const { model } =
    listOrEmpty(body.tools)
      .map(fieldsOrEmpty)
      .find(({ type }) => type === 'image_generation') ?? {};
  const part = buildUsage({ model, data: [] }, readUsageBody({ usage }), 0);
  return part && (part.inputTokens > 0 || part.responseTokens > 0 || part.unclear !== undefined) ? [part] : [];
}

/** Ticks of a USD in xAI's answers. Source: docs.x.ai, API reference. */
const TICKS_PER_USD = 10_000_000_000;

/**
 * The vendor's own charge, in USD: xAI's ticks, Perplexity's object with a total, OpenRouter's cost. With the caller's
 * own key, OpenRouter's figure is only its fee, and the vendor behind it charges its cost besides.
 */
function costReported(usage: Fields): number | null {
  const { cost, cost_in_usd_ticks: ticks, is_byok: isOwnKey, cost_details: details } = usage;
  if (typeof ticks === 'number') return reportedUsd(ticks / TICKS_PER_USD);
  if (isFields(cost)) return reportedUsd(cost.total_cost);
  const upstream = isOwnKey === true ? reportedUsd(fieldsOrEmpty(details).upstream_inference_cost) : null;
  const own = reportedUsd(cost);
  return upstream === null ? (isOwnKey === true ? null : own) : reportedUsd(upstream + (own ?? 0));
}

/** A transcription that is counted only by its length. */
function isDuration(body: Fields): boolean {
  return fieldsOrEmpty(body.usage).type === 'duration';
}

/** Responses and OpenAI's other answers that count `input_tokens` (images, transcriptions). */
export function isResponse(body: Fields): boolean {
  return body.object === 'response' || fieldsOrEmpty(body.usage).input_tokens !== undefined || isDuration(body);
}

export function readResponse(body: Fields): VendorUsage | null {
  return buildUsage(body, readUsageBody(body), searchesInOutput(body));
}

/** The searches that the usage counts, otherwise those in the output. */
export function searchesOfResponse(body: Fields): number {
  return searchesCounted(readUsageBody(body).figures, searchesInOutput(body)) ?? 0;
}

function searchesInOutput({ output }: Fields): number {
  return listOrEmpty(output).filter(isSearch).length;
}

/** Opening a page and finding in it are not searches, and are not billed. */
function isSearch(item: unknown): boolean {
  const { type, action } = fieldsOrEmpty(item);
  const kind = fieldsOrEmpty(action).type;
  return type === 'web_search_call' && (kind === undefined || kind === 'search');
}

export class CompletionStream implements StreamReading {
  #model: unknown;
  readonly #reading = new Reading();
  #searches = 0;
  readonly #stops = new Stops();
  #hasChoices = false;

  read(event: Fields): void {
    this.#hasChoices ||= Array.isArray(event.choices);
    if (typeof event.model === 'string' && event.model !== '') this.#model = event.model;
    this.#searches = Math.max(this.#searches, searchesOfCompletion(event));
    // Usage comes in a last chunk of its own, in every chunk, or with the choices.
    this.#reading.read(event);
    for (const choice of listOrEmpty(event.choices)) this.#stops.read(choice, 'finish_reason');
  }

  usage(): VendorUsage | null {
    const choices = this.#hasChoices ? [] : undefined;
    return buildUsage({ model: this.#model, choices }, this.#reading, this.#searches);
  }

  searches(): number {
    return this.#searches;
  }

  /** Not every compatible vendor sends `[DONE]`; a stop reason and a usage are complete too. */
  get completed(): boolean {
    return this.finished && this.usage() !== null;
  }

  /** Events without choices, such as Cohere's, report their usage with the last one. */
  get finished(): boolean {
    return this.#stops.all || (!this.#hasChoices && this.usage() !== null);
  }
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']);
const END_STATES = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** Whether the response has stopped running. */
export function hasEnded({ status }: Fields): boolean {
  return END_STATES.has(textOrEmpty(status));
}

export function isResponseEvent(event: Fields): boolean {
  return event.object === 'response' || (typeof event.type === 'string' && event.type.startsWith('response.'));
}

export class ResponseStream implements StreamReading {
  completed = false;
  responseId: string | undefined;
  #response: Fields = {};
  readonly #reading = new Reading();
  /** Finished searches, known before the response counts them. */
  #searched = 0;

  read(event: Fields): void {
    if (event.type === 'response.output_item.done' && isSearch(event.item)) this.#searched += 1;
    if (event.object === 'response') {
      // A whole answer instead of a stream.
      this.#take(event);
      this.completed = hasEnded(event);
      return;
    }
    if (isFields(event.response)) this.#take(event.response);
    if (ENDS.has(textOrEmpty(event.type))) this.completed = true;
  }

  get finished(): boolean {
    return this.completed;
  }

  usage(): VendorUsage | null {
    return buildUsage(this.#response, this.#reading, searchesInOutput(this.#response));
  }

  searches(): number {
    return Math.max(this.#searched, searchesOfResponse(this.#response));
  }

  #take(response: Fields): void {
    this.#response = response;
    this.responseId ??= textOrEmpty(response.id) || undefined;
    this.#reading.read(response);
  }
}
