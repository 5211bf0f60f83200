/**
 * Usage in Anthropic's messages, whole and streamed.
 *
 * Anthropic's `input_tokens` excludes cache reads and writes; ours includes them. In a stream, `message_start` has the
 * figures of the prompt, and every `message_delta` has totals so far, which replace the earlier ones. The tokens of a
 * compaction are billed but are not in the totals: only `iterations` has them.
 */
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
} from './figures.ts';

const REGION = /^[a-z0-9][a-z0-9-]{0,59}$/;

export function isMessage(body: Fields): boolean {
  return body.type === 'message';
}

export function readMessage(body: Fields): ReportedUsage {
  return isFields(body.usage) ? figuresOf(body.model, body.usage) : null;
}

/** Searches that the usage counts, even if it counts nothing else. */
export function searchesOfMessage({ usage }: Fields): number {
  return count(fieldsOf(fieldsOf(usage).server_tool_use).web_search_requests);
}

function figuresOf(model: unknown, usage: Fields): ReportedUsage {
  if (usage.input_tokens == null || usage.output_tokens == null) return null;
  const compactions = listOf(usage.iterations)
    .map(fieldsOf)
    .filter(({ type }) => type === 'compaction');
  const sum = (member: string) => [usage, ...compactions].reduce((total, part) => total + count(part[member]), 0);
  const cachedInputTokens = sum('cache_read_input_tokens');
  const cacheWriteInputTokens = sum('cache_creation_input_tokens');
  const { server_tool_use: tools, inference_geo: geo, speed } = usage;
  const lifetimes = [usage, ...compactions].map(({ cache_creation: creation }) => fieldsOf(creation));
  return checked({
    ...modelName(model),
    providerUsed: 'anthropic',
    inputTokens: sum('input_tokens') + cachedInputTokens + cacheWriteInputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    responseTokens: sum('output_tokens'),
    reasoningTokens: count(fieldsOf(usage.output_tokens_details).thinking_tokens),
    ...detailsOf({
      cacheWrite1hInputTokens: lifetimes.reduce((total, part) => total + count(part.ephemeral_1h_input_tokens), 0),
    }),
    ...(isFields(tools) && { searches: count(tools.web_search_requests) }),
    ...tierOf(usage.service_tier),
    ...(typeof geo === 'string' && REGION.test(geo) && geo !== 'not_available' && { region: geo }),
    ...((speed === 'fast' || speed === 'standard') && { speed }),
  });
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
        break;
      case 'message_delta':
        this.#replace(fieldsOf(event.usage));
        break;
      case 'message_stop':
        this.completed = true;
        break;
    }
  }

  usage(): ReportedUsage {
    const usage = this.#usage && figuresOf(this.#model, this.#usage);
    if (usage === null || usage === IMPLAUSIBLE) return usage;
    // A stream that broke off has not counted its searches yet.
    return usage.searches === undefined && this.#searched > 0 ? { ...usage, searches: this.#searched } : usage;
  }

  searches(): number {
    return Math.max(this.#searched, searchesOfMessage({ usage: this.#usage }));
  }

  get finished(): boolean {
    return this.completed;
  }

  #begin(message: Fields): void {
    this.#model = message.model;
    this.#usage = isFields(message.usage) ? message.usage : null;
  }

  /** The figures of a delta are totals; null means no news. */
  #replace(usage: Fields): void {
    const figures = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    if (figures.length > 0) this.#usage = { ...this.#usage, ...Object.fromEntries(figures) };
  }
}
