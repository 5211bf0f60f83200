/**
 * Usage in Anthropic's messages, plain and streamed.
 *
 * Anthropic's `input_tokens` leaves cache reads and writes out; ours includes them. In a stream, `message_start` brings
 * the prompt's figures and each `message_delta` brings totals so far, which replace what was said before. The tokens
 * of a compaction are billed but not in the totals: they stand in `iterations` alone.
 */
import {
  checked,
  count,
  type Fields,
  fieldsOf,
  IMPLAUSIBLE,
  isFields,
  listOf,
  modelName,
  type ReportedUsage,
  type StreamReading,
} from './figures.ts';

export function isMessage(body: Fields): boolean {
  return body.type === 'message';
}

export function readMessage(body: Fields): ReportedUsage {
  return isFields(body.usage) ? figuresOf(body.model, body.usage) : null;
}

/** Searches that the usage counts, also where it counts nothing else. */
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
  const { server_tool_use: tools } = usage;
  return checked({
    ...modelName(model),
    providerUsed: 'anthropic',
    inputTokens: sum('input_tokens') + cachedInputTokens + cacheWriteInputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    responseTokens: sum('output_tokens'),
    reasoningTokens: count(fieldsOf(usage.output_tokens_details).thinking_tokens),
    ...(isFields(tools) && { searches: count(tools.web_search_requests) }),
  });
}

/** The block in which the vendor searches: a result follows it. */
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
  /** Searches that were begun, before the usage counts them. */
  #searched = 0;

  read(event: Fields): void {
    switch (event.type) {
      case 'message':
        // A whole answer where a stream was expected.
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
    const said = this.#usage && figuresOf(this.#model, this.#usage);
    if (said === null || said === IMPLAUSIBLE) return said;
    // A stream that broke off has not counted its searches yet.
    return said.searches === undefined && this.#searched > 0 ? { ...said, searches: this.#searched } : said;
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

  /** Figures of a delta are totals; one that is null says nothing new. */
  #replace(usage: Fields): void {
    const figures = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    if (figures.length > 0) this.#usage = { ...this.#usage, ...Object.fromEntries(figures) };
  }
}
