/**
 * Usage in Anthropic's messages, whole and streamed.
 *
 * Anthropic's `input_tokens` excludes cache reads and writes; ours includes them. In a stream, `message_start` has the
 * figures of the prompt, and every `message_delta` has the totals so far: the highest are read. `iterations.ts` reads the
 * figures that `iterations` adds to the totals. A request that was refused before any output is not billed,
 * whatever tokens it reports. Source: platform.claude.com/docs/en/build-with-claude/refusals-and-fallback.
 */
import type { UnclearFigure } from '../../domain/unclear-usage.ts';
import { boundedParts } from '../../domain/usage-sum.ts';
import {
  count,
  type Fields,
  Figures,
  fieldsOrEmpty,
  fitting,
  isFields,
  listOrEmpty,
  modelName,
  readServiceTier,
  type StreamReading,
  type VendorUsage,
  withoutZeros,
} from './figures.ts';
import { type Hop, Hops, readIterations } from './iterations.ts';
import type { FigureName } from './names.ts';

const REGION = /^[a-z0-9][a-z0-9-]{0,59}$/;

export function isMessage(body: Fields): boolean {
  return body.type === 'message';
}

export function readMessage(body: Fields): VendorUsage | null {
  if (!isFields(body.usage)) return null;
  const { content, stop_reason: reason, usage } = body;
  const hasOutput = !Array.isArray(content) || content.some(isOutput) || count(usage.output_tokens) !== 0;
  if (isUnbilled(reason, hasOutput, usage)) return unbilled(body.model);
  const hops = new Hops();
  for (const block of listOrEmpty(content)) hops.read(fieldsOrEmpty(block));
  return anthropicFigures(body.model, usage, figuresIn(usage), hops.found);
}

/** Searches that the usage counts, even if it counts nothing else. */
export function searchesOfMessage({ usage }: Fields): number {
  return figuresIn(fieldsOrEmpty(usage)).sum('searches');
}

function figuresIn(usage: Fields): Figures {
  const figures = new Figures('anthropic');
  figures.read(usage);
  return figures;
}

/** A block of text begins empty. */
function isOutput(block: unknown): boolean {
  const { type, text } = fieldsOrEmpty(block);
  return type !== 'text' || text !== '';
}

function isUnbilled(stopReason: unknown, hasOutput: boolean, { iterations }: Fields): boolean {
  const wrote = listOrEmpty(iterations).some((iteration) => count(fieldsOrEmpty(iteration).output_tokens) !== 0);
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

/** Anthropic's figures that make up each of ours. */
const MADE_OF = {
  inputTokens: ['prompt', 'cachedApart', 'cacheWriteApart'],
  cachedInputTokens: ['cachedApart'],
  cacheWriteInputTokens: ['cacheWriteApart'],
  cacheWrite1hInputTokens: ['cacheWrite1h'],
  responseTokens: ['completion'],
  reasoningTokens: ['reasoning'],
  searches: ['searches'],
} as const satisfies Partial<Record<UnclearFigure, readonly FigureName[]>>;

function anthropicFigures(model: unknown, usage: Fields, figures: Figures, hops: readonly Hop[]): VendorUsage | null {
  if (!figures.has('prompt', 'completion')) return null;
  const { model: answered, isFallback, ...iterations } = readIterations(usage, model, hops);
  const [messages, compactions] = [iterations.messages.map(figuresIn), iterations.compactions.map(figuresIn)];
  const { inference_geo: geo, speed } = usage;
  const region = typeof geo === 'string' && REGION.test(geo) && geo !== 'not_available' ? { region: geo } : {};
  const conditions: Pick<VendorUsage, 'serviceTier' | 'region' | 'speed'> = {
    ...readServiceTier(usage.service_tier),
    ...region,
    ...((speed === 'fast' || speed === 'standard') && { speed }),
  };
  const parts = iterations.others.map((other) => {
    const its = figuresIn(other);
    // An attempt ran under the same conditions as the answer; an advisor has no tier or speed of its own.
    const ran = other.type === 'message' ? conditions : region;
    return fitting(
      { ...modelName(other.model), ...sumTokens((figure) => figure(its)), ...ran },
      its.unclearOf(MADE_OF),
    );
  });
  const unclear = [figures, ...messages, ...compactions].flatMap((part) => part.unclearOf(MADE_OF));
  if (!figures.has('prompt')) unclear.push('inputTokens');
  if (!figures.has('completion')) unclear.push('responseTokens');
  return fitting(
    {
      ...modelName(answered),
      ...(isFallback && { isFallback }),
      providerUsed: 'anthropic',
      ...sumTokens((figure) => Math.max(figure(figures), total(messages, figure)) + total(compactions, figure)),
      reasoningTokens: figures.sum('reasoning'),
      ...(figures.has('searches') && { searches: figures.sum('searches') }),
      ...conditions,
      ...(parts.length > 0 && { parts: boundedParts(parts.map(({ unclear: _unclear, ...part }) => part)) }),
    },
    // An unclear figure of a part counts at the bound of the call.
    [...unclear, ...parts.flatMap((part) => part.unclear ?? [])],
  );
}

type Figure = (of: Figures) => number;

function total(iterations: readonly Figures[], figure: Figure): number {
  return iterations.reduce((sum, one) => sum + figure(one), 0);
}

/** The tokens of all objects whose figures `sum` adds up. */
function sumTokens(sum: (figure: Figure) => number): VendorUsage {
  const cachedInputTokens = sum((of) => of.sum('cachedApart'));
  // Some answers have only the figures by lifetime.
  const cacheWriteInputTokens = sum((of) =>
    Math.max(of.sum('cacheWriteApart'), of.sum('cacheWrite5m', 'cacheWrite1h')),
  );
  return {
    inputTokens: sum((of) => of.sum('prompt')) + cachedInputTokens + cacheWriteInputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    responseTokens: sum((of) => of.sum('completion')),
    reasoningTokens: 0,
    ...withoutZeros({ cacheWrite1hInputTokens: sum((of) => of.sum('cacheWrite1h')) }),
  };
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
  /** The model that began, and the one that answered as far as it is known. */
  #begun: unknown;
  #answered: unknown;
  #usage: Fields | null = null;
  #figures = new Figures('anthropic');
  #hops = new Hops();
  /** Searches that have begun, known before the usage counts them. */
  #searched = 0;
  #stopReason: unknown;
  /** There is content, or the latest total of the output is not zero. */
  #hasContent = false;
  #hasTokens = false;

  read(event: Fields): void {
    switch (event.type) {
      case 'message':
        // A whole answer instead of a stream.
        this.#begin(event);
        this.#hasContent = !Array.isArray(event.content) || event.content.some(isOutput);
        this.#stopReason = event.stop_reason;
        this.completed = typeof event.stop_reason === 'string';
        break;
      case 'message_start':
        this.#begin(fieldsOrEmpty(event.message));
        break;
      case 'content_block_start':
        this.#hasContent ||= isOutput(event.content_block);
        if (isSearch(fieldsOrEmpty(event.content_block))) this.#searched += 1;
        this.#hops.read(fieldsOrEmpty(event.content_block));
        break;
      case 'content_block_delta':
        this.#hasContent = true;
        break;
      case 'message_delta':
        this.#stopReason = fieldsOrEmpty(event.delta).stop_reason ?? this.#stopReason;
        this.#answered = fieldsOrEmpty(event.delta).model ?? event.model ?? this.#answered;
        this.#add(fieldsOrEmpty(event.usage));
        break;
      case 'message_stop':
        this.completed = true;
        break;
    }
  }

  usage(): VendorUsage | null {
    if (this.#usage === null) return null;
    if (isUnbilled(this.#stopReason, this.#hasContent || this.#hasTokens, this.#usage)) return unbilled(this.#model);
    const usage = anthropicFigures(this.#model, this.#usage, this.#figures, this.#hops.found);
    if (usage === null) return null;
    // A stream that broke off has not counted its searches yet.
    return usage.searches === undefined && this.#searched > 0 ? { ...usage, searches: this.#searched } : usage;
  }

  searches(): number {
    return Math.max(this.#searched, this.#figures.sum('searches'));
  }

  get #model(): unknown {
    return this.#answered ?? this.#hops.found.at(-1)?.to ?? this.#begun;
  }

  get finished(): boolean {
    return this.completed;
  }

  #begin(message: Fields): void {
    this.#begun = message.model;
    this.#hops = new Hops();
    for (const block of listOrEmpty(message.content)) this.#hops.read(fieldsOrEmpty(block));
    if (isFields(message.usage)) this.#add(message.usage);
  }

  /** The figures of a delta are totals; null means no change. */
  #add(usage: Fields): void {
    const told = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    if (told.length === 0) return;
    // Totals with iterations belong to the model that answered, which may differ from the one that began.
    if (listOrEmpty(usage.iterations).length > 0 && usage.input_tokens != null)
      this.#figures = new Figures('anthropic');
    this.#figures.read(usage);
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) };
    if (usage.output_tokens != null) this.#hasTokens = count(usage.output_tokens) !== 0;
  }
}
