/**
 * Usage in Anthropic's messages, whole and streamed.
 *
 * Anthropic's `input_tokens` excludes cache reads and writes; ours includes them. In a stream, `message_start` has the
 * figures of the prompt, and every `message_delta` has totals so far, which replace the earlier ones. What `iterations`
 * adds to the totals is read by `iterations.ts`.
 */
import { boundedParts } from '../../domain/usage-sum.ts';
import {
  checked,
  count,
  detailsOf,
  type Fields,
  fieldsOf,
  IMPLAUSIBLE,
  isFields,
  listOf,
  modelName,
  type ReportedUsage,
  type StreamReading,
  tierOf,
  type VendorUsage,
} from './figures.ts';
import { type Hop, Hops, iterationsOf } from './iterations.ts';

const REGION = /^[a-z0-9][a-z0-9-]{0,59}$/;

export function isMessage(body: Fields): boolean {
  return body.type === 'message';
}

export function readMessage(body: Fields): ReportedUsage {
  const hops = new Hops();
  for (const block of listOf(body.content)) hops.read(fieldsOf(block));
  return isFields(body.usage) ? figuresOf(body.model, body.usage, hops.found) : null;
}

/** Searches that the usage counts, even if it counts nothing else. */
export function searchesOfMessage({ usage }: Fields): number {
  return count(fieldsOf(fieldsOf(usage).server_tool_use).web_search_requests);
}

function figuresOf(model: unknown, usage: Fields, hops: readonly Hop[]): ReportedUsage {
  if (usage.input_tokens == null || usage.output_tokens == null) return null;
  const { model: answered, isFallback, messages, compactions, others } = iterationsOf(usage, model, hops);
  const { server_tool_use: tools, inference_geo: geo, speed } = usage;
  const region = typeof geo === 'string' && REGION.test(geo) && geo !== 'not_available' ? { region: geo } : {};
  const conditions: Pick<VendorUsage, 'serviceTier' | 'region' | 'speed'> = {
    ...tierOf(usage.service_tier),
    ...region,
    ...((speed === 'fast' || speed === 'standard') && { speed }),
  };
  const parts = others.map((other) => ({
    ...modelName(other.model),
    ...tokensOf((figure) => figure(other)),
    // An attempt ran as the answer did; an advisor has no tier or speed of its own.
    ...(other.type === 'message' ? conditions : region),
  }));
  return checked({
    ...modelName(answered),
    ...(isFallback && { isFallback }),
    providerUsed: 'anthropic',
    ...tokensOf((figure) => Math.max(figure(usage), total(messages, figure)) + total(compactions, figure)),
    reasoningTokens: count(fieldsOf(usage.output_tokens_details).thinking_tokens),
    ...(isFields(tools) && { searches: count(tools.web_search_requests) }),
    ...conditions,
    ...(parts.length > 0 && { parts: boundedParts(parts) }),
  });
}

type Figure = (of: Fields) => number;

function total(iterations: readonly Fields[], figure: Figure): number {
  return iterations.reduce((sum, one) => sum + figure(one), 0);
}

/** The tokens of all that `sum` takes a figure of. */
function tokensOf(sum: (figure: Figure) => number): VendorUsage {
  const of = (member: string) => sum((figures) => count(figures[member]));
  const [cachedInputTokens, cacheWriteInputTokens] = [of('cache_read_input_tokens'), of('cache_creation_input_tokens')];
  return {
    inputTokens: of('input_tokens') + cachedInputTokens + cacheWriteInputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    responseTokens: of('output_tokens'),
    reasoningTokens: 0,
    ...detailsOf({
      cacheWrite1hInputTokens: sum(({ cache_creation: creation }) =>
        count(fieldsOf(creation).ephemeral_1h_input_tokens),
      ),
    }),
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
  #hops = new Hops();
  /** Searches that have begun, known before the usage counts them. */
  #searched = 0;

  read(event: Fields): void {
    switch (event.type) {
      case 'message':
        // A whole answer in place of a stream.
        this.#begin(event);
        this.completed = typeof event.stop_reason === 'string';
        break;
      case 'message_start':
        this.#begin(fieldsOf(event.message));
        break;
      case 'content_block_start':
        if (isSearch(fieldsOf(event.content_block))) this.#searched += 1;
        this.#hops.read(fieldsOf(event.content_block));
        break;
      case 'message_delta':
        this.#answered = fieldsOf(event.delta).model ?? event.model ?? this.#answered;
        this.#replace(fieldsOf(event.usage));
        break;
      case 'message_stop':
        this.completed = true;
        break;
    }
  }

  usage(): ReportedUsage {
    const usage = this.#usage && figuresOf(this.#model, this.#usage, this.#hops.found);
    if (usage === null || usage === IMPLAUSIBLE) return usage;
    // A stream that broke off has not counted its searches yet.
    return usage.searches === undefined && this.#searched > 0 ? { ...usage, searches: this.#searched } : usage;
  }

  searches(): number {
    return Math.max(this.#searched, searchesOfMessage({ usage: this.#usage }));
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
    for (const block of listOf(message.content)) this.#hops.read(fieldsOf(block));
    this.#usage = isFields(message.usage) ? message.usage : null;
  }

  /** The figures of a delta are totals; null means no news. */
  #replace(usage: Fields): void {
    const figures = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    if (figures.length > 0) this.#usage = { ...this.#usage, ...Object.fromEntries(figures) };
  }
}
