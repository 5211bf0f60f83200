/**
 * Usage in Anthropic's messages, whole and streamed.
 *
 * Anthropic's `input_tokens` excludes cache reads and writes; ours includes them. In a stream, `message_start` has the
 * figures of the prompt, and every `message_delta` has totals so far, of which the highest count. The tokens of a
 * compaction are billed but are not in the totals: only `iterations` has them. A request that was refused before any output
 * is not billed, whatever tokens it reports. Source: platform.claude.com/docs/en/build-with-claude/refusals-and-fallback.
 */
import type { UnclearFigure } from '../../domain/unclear-usage.ts';
import {
  count,
  detailsOf,
  type Fields,
  Figures,
  fieldsOf,
  fitting,
  isFields,
  listOf,
  modelName,
  type StreamReading,
  tierOf,
  type VendorUsage,
} from './figures.ts';
import type { FigureName } from './names.ts';

const REGION = /^[a-z0-9][a-z0-9-]{0,59}$/;

export function isMessage(body: Fields): boolean {
  return body.type === 'message';
}

export function readMessage(body: Fields): VendorUsage | null {
  if (!isFields(body.usage)) return null;
  const { content, stop_reason: reason, usage } = body;
  const hasOutput = !Array.isArray(content) || content.length > 0 || count(usage.output_tokens) !== 0;
  return isUnbilled(reason, hasOutput, usage) ? unbilled(body.model) : figuresOf(body.model, usage, figuresIn(usage));
}

/** Searches that the usage counts, even if it counts nothing else. */
export function searchesOfMessage({ usage }: Fields): number {
  return figuresIn(fieldsOf(usage)).sum('searches');
}

function figuresIn(usage: Fields): Figures {
  const figures = new Figures('anthropic');
  figures.read(usage);
  return figures;
}

function isUnbilled(stopReason: unknown, hasOutput: boolean, { iterations }: Fields): boolean {
  const wrote = listOf(iterations).some((iteration) => count(fieldsOf(iteration).output_tokens) !== 0);
  return stopReason === 'refusal' && !hasOutput && !wrote;
}

function unbilled(model: unknown): VendorUsage {
  return {
    ...modelName(model),
    providerUsed: 'anthropic',
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    responseTokens: 0,
    reasoningTokens: 0,
  };
}

/** The figures that each of ours is made of. */
const MADE_OF = {
  inputTokens: ['prompt', 'cachedApart', 'cacheWriteApart'],
  cachedInputTokens: ['cachedApart'],
  cacheWriteInputTokens: ['cacheWriteApart'],
  cacheWrite1hInputTokens: ['cacheWrite1h'],
  responseTokens: ['completion'],
  reasoningTokens: ['reasoning'],
  searches: ['searches'],
} as const satisfies Partial<Record<UnclearFigure, readonly FigureName[]>>;

function figuresOf(model: unknown, usage: Fields, figures: Figures): VendorUsage | null {
  if (!figures.has('prompt') || !figures.has('completion')) return null;
  const compactions = listOf(usage.iterations)
    .map(fieldsOf)
    .filter(({ type }) => type === 'compaction');
  const billed = [figures, ...compactions.map(figuresIn)];
  const sum = (...names: FigureName[]) => billed.reduce((total, part) => total + part.sum(...names), 0);
  const cachedInputTokens = sum('cachedApart');
  // Some answers have the lifetimes alone.
  const cacheWriteInputTokens = billed.reduce(
    (total, part) => total + Math.max(part.sum('cacheWriteApart'), part.sum('cacheWrite5m', 'cacheWrite1h')),
    0,
  );
  const { inference_geo: geo, speed } = usage;
  return fitting(
    {
      ...modelName(model),
      providerUsed: 'anthropic',
      inputTokens: sum('prompt') + cachedInputTokens + cacheWriteInputTokens,
      cachedInputTokens,
      cacheWriteInputTokens,
      responseTokens: sum('completion'),
      reasoningTokens: figures.sum('reasoning'),
      ...detailsOf({ cacheWrite1hInputTokens: sum('cacheWrite1h') }),
      ...(figures.has('searches') && { searches: figures.sum('searches') }),
      ...tierOf(usage.service_tier),
      ...(typeof geo === 'string' && REGION.test(geo) && geo !== 'not_available' && { region: geo }),
      ...((speed === 'fast' || speed === 'standard') && { speed }),
    },
    billed.flatMap((part) => part.unclearOf(MADE_OF)),
  );
}

/** The block with which a search begins; a block with its result follows. */
function isSearch({ type, name }: Fields): boolean {
  return type === 'server_tool_use' && name === 'web_search';
}

const EVENTS = new Set([
  'message_start',
  'message_delta',
  'message_stop',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'ping',
]);

export function isMessageEvent(event: Fields): boolean {
  return isMessage(event) || (typeof event.type === 'string' && EVENTS.has(event.type));
}

export class MessageStream implements StreamReading {
  completed = false;
  #model: unknown;
  #usage: Fields | null = null;
  readonly #figures = new Figures('anthropic');
  /** Searches that have begun, known before the usage counts them. */
  #searched = 0;
  #stopReason: unknown;
  /** A block of content has begun, or the latest total of the output is not zero. */
  #hasContent = false;
  #hasTokens = false;

  read(event: Fields): void {
    switch (event.type) {
      case 'message':
        // A whole answer in place of a stream.
        this.#begin(event);
        this.#hasContent = !Array.isArray(event.content) || event.content.length > 0;
        this.#stopReason = event.stop_reason;
        this.completed = typeof event.stop_reason === 'string';
        break;
      case 'message_start':
        this.#begin(fieldsOf(event.message));
        break;
      case 'content_block_start':
        this.#hasContent = true;
        if (isSearch(fieldsOf(event.content_block))) this.#searched += 1;
        break;
      case 'message_delta':
        this.#stopReason = fieldsOf(event.delta).stop_reason ?? this.#stopReason;
        this.#add(fieldsOf(event.usage));
        break;
      case 'message_stop':
        this.completed = true;
        break;
    }
  }

  usage(): VendorUsage | null {
    if (this.#usage === null) return null;
    if (isUnbilled(this.#stopReason, this.#hasContent || this.#hasTokens, this.#usage)) return unbilled(this.#model);
    const usage = figuresOf(this.#model, this.#usage, this.#figures);
    if (usage === null) return null;
    // A stream that broke off has not counted its searches yet.
    return usage.searches === undefined && this.#searched > 0 ? { ...usage, searches: this.#searched } : usage;
  }

  searches(): number {
    return Math.max(this.#searched, this.#figures.sum('searches'));
  }

  get finished(): boolean {
    return this.completed;
  }

  #begin(message: Fields): void {
    this.#model = message.model;
    if (isFields(message.usage)) this.#add(message.usage);
  }

  /** The figures of a delta are totals; null means no news. */
  #add(usage: Fields): void {
    const told = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    if (told.length === 0) return;
    this.#figures.read(usage);
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) };
    if (usage.output_tokens != null) this.#hasTokens = count(usage.output_tokens) !== 0;
  }
}
