/**
 * Usage in Google's generateContent, whole and streamed.
 *
 * `promptTokenCount` includes cached content. `candidatesTokenCount` excludes thoughts; ours includes them. What tools
 * add to the prompt counts as input. Google omits zeros. In a stream every chunk has the totals so far, and the last may
 * have none, so the highest totals are read.
 */
import type { UnclearFigure } from '../../domain/unclear-usage.ts';
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
  readServiceTier,
  Stops,
  type StreamReading,
  type VendorUsage,
  withoutZeros,
} from './figures.ts';
import type { FigureName } from './names.ts';

export function isContent(body: Fields): boolean {
  return isFields(body.usageMetadata) || Array.isArray(body.candidates) || isFields(body.promptFeedback);
}

export function readContent(body: Fields): VendorUsage | null {
  if (!isFields(body.usageMetadata)) return null;
  return googleFigures(body.modelVersion, body.usageMetadata, figuresIn(body.usageMetadata), countSearches(body));
}

function figuresIn(usage: Fields): Figures {
  const figures = new Figures('google');
  readInto(figures, usage);
  return figures;
}

/** The lists of tokens by modality, and our figure for each modality in them. */
const MODALITIES: readonly { list: string; AUDIO?: FigureName; IMAGE?: FigureName }[] = [
  { list: 'promptTokensDetails', AUDIO: 'audioInput', IMAGE: 'imageInput' },
  { list: 'toolUsePromptTokensDetails', AUDIO: 'audioBeside', IMAGE: 'imageBeside' },
  { list: 'cacheTokensDetails', AUDIO: 'cachedAudio', IMAGE: 'cachedImage' },
  { list: 'candidatesTokensDetails', AUDIO: 'audioOutput', IMAGE: 'imageOutput' },
  { list: 'responseTokensDetails', AUDIO: 'audioOutput', IMAGE: 'imageOutput' },
];

function readInto(figures: Figures, usage: Fields): void {
  figures.read(usage);
  for (const { list, ...names } of MODALITIES) {
    for (const modality of ['AUDIO', 'IMAGE'] as const) {
      const figure = names[modality];
      const tokens = listOrEmpty(usage[list])
        .map(fieldsOrEmpty)
        .filter((detail) => detail.modality === modality && detail.tokenCount != null)
        .map(({ tokenCount }) => count(tokenCount));
      if (figure === undefined || tokens.length === 0) continue;
      figures.add(
        figure,
        tokens.reduce<number>((sum, part) => sum + (part ?? 0), 0),
      );
      if (tokens.includes(null)) figures.add(figure, null);
    }
  }
}

/** Google's figures that make up each of ours. */
const MADE_OF = {
  inputTokens: ['prompt', 'promptBeside'],
  cachedInputTokens: ['cached'],
  responseTokens: ['completion', 'reasoning'],
  reasoningTokens: ['reasoning'],
  audioInputTokens: ['audioInput', 'audioBeside'],
  imageInputTokens: ['imageInput', 'imageBeside'],
  cachedAudioInputTokens: ['cachedAudio'],
  cachedImageInputTokens: ['cachedImage'],
  audioOutputTokens: ['audioOutput'],
  imageOutputTokens: ['imageOutput'],
} as const satisfies Partial<Record<UnclearFigure, readonly FigureName[]>>;

/**
 * The total covers all four counts: its excess over those that are present is the prompt if that is missing, otherwise
 * output. `null` if there are no tokens at all.
 */
function googleFigures(model: unknown, usage: Fields, figures: Figures, searches: number | null): VendorUsage | null {
  const counts = ['prompt', 'promptBeside', 'completion', 'reasoning'] as const;
  if (!figures.has(...counts, 'total')) return null;
  const isWhole = !figures.isUnclear(...counts);
  const rest = isWhole ? Math.max(0, figures.sum('total') - figures.sum(...counts)) : 0;
  const isTotalAlone = !figures.has(...counts);
  const lacksPrompt = !figures.has('prompt') && !isTotalAlone;
  const isPromptUnknown = lacksPrompt && rest === 0;
  const hidden = lacksPrompt || isTotalAlone ? 0 : rest;
  const audioInputTokens = figures.sum('audioInput', 'audioBeside');
  const audioOutputTokens = figures.sum('audioOutput');
  return fitting(
    {
      ...modelName(model),
      providerUsed: 'google',
      inputTokens: figures.sum('prompt', 'promptBeside') + (lacksPrompt ? rest : 0),
      cachedInputTokens: figures.sum('cached'),
      cacheWriteInputTokens: 0,
      responseTokens: figures.sum('completion', 'reasoning') + hidden,
      reasoningTokens: figures.sum('reasoning'),
      ...(isTotalAlone && !figures.isUnclear('total') && { totalTokens: figures.sum('total') }),
      ...(searches !== null && { searches }),
      ...audioDetail(audioInputTokens + audioOutputTokens),
      ...withoutZeros({
        audioInputTokens,
        imageInputTokens: figures.sum('imageInput', 'imageBeside'),
        cachedAudioInputTokens: figures.sum('cachedAudio'),
        cachedImageInputTokens: figures.sum('cachedImage'),
        audioOutputTokens,
        imageOutputTokens: figures.sum('imageOutput'),
      }),
      ...readServiceTier(usage.trafficType),
    },
    [
      ...figures.unclearOf(MADE_OF),
      ...(isPromptUnknown || isTotalAlone ? (['inputTokens'] as const) : []),
      ...(isTotalAlone ? (['responseTokens'] as const) : []),
    ],
  );
}

export function searchesOfContent(body: Fields): number {
  return countSearches(body) ?? 0;
}

/**
 * The searches of its grounding that Google bills: each distinct query that is not empty, or, before Gemini 3, one for
 * the whole answer. `null` if there is no grounding.
 */
function countSearches(body: Fields): number | null {
  const lists = listOrEmpty(body.candidates)
    .map((candidate) => fieldsOrEmpty(fieldsOrEmpty(candidate).groundingMetadata).webSearchQueries)
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
  readonly #figures = new Figures('google');
  #searches: number | null = null;

  read(event: Fields): void {
    if (event.modelVersion !== undefined) this.#model = event.modelVersion;
    if (isFields(event.usageMetadata)) {
      readInto(this.#figures, event.usageMetadata);
      this.#usage = { ...this.#usage, ...event.usageMetadata };
    }
    const searches = countSearches(event);
    if (searches !== null) this.#searches = Math.max(this.#searches ?? 0, searches);
    for (const candidate of listOrEmpty(event.candidates)) this.#stops.read(candidate, 'finishReason');
    if (fieldsOrEmpty(event.promptFeedback).blockReason !== undefined) this.#refused = true;
  }

  /** Google marks no end of its own: a stop reason, or the reason for which it blocked the prompt, is the end. */
  get completed(): boolean {
    return this.#refused || this.#stops.all;
  }

  get finished(): boolean {
    return this.completed;
  }

  usage(): VendorUsage | null {
    return this.#usage && googleFigures(this.#model, this.#usage, this.#figures, this.#searches);
  }

  searches(): number {
    return this.#searches ?? 0;
  }
}
