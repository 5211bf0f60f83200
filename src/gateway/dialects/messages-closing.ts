/**
 * The early end of a streamed message of Anthropic: open blocks are closed, and the message ends for the reason
 * `max_tokens`, with the usage so far.
 */
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { type Fields, fieldsOrEmpty, isFields } from '../../vendors/usage/figures.ts';
import type { Stopped, StreamClosing } from './dialect.ts';

/** The most blocks that are followed; the blocks of a longer message are not closed one by one. */
const BLOCKS_MAX = 1_000;

export class MessageClosing implements StreamClosing {
  readonly #model: string;
  readonly #open = new Set<number>();
  #usage: Fields = {};
  #begun = false;
  #hasReason = false;

  constructor(model: string) {
    this.#model = model;
  }

  passed({ type, index, message, delta, usage }: Fields): void {
    if (type === 'message_start') {
      this.#begun = true;
      this.#take(fieldsOrEmpty(message).usage);
    } else if (type === 'content_block_start' && typeof index === 'number') {
      if (this.#open.size < BLOCKS_MAX) this.#open.add(index);
    } else if (type === 'content_block_stop' && typeof index === 'number') {
      this.#open.delete(index);
    } else if (type === 'message_delta') {
      this.#hasReason ||= typeof fieldsOrEmpty(delta).stop_reason === 'string';
      this.#take(usage);
    }
  }

  close({ code, usage }: Stopped): string {
    const told = usage ? { ...this.#usage, ...closingUsage(usage, this.#usage) } : this.#usage;
    const service = { code, ...(usage && { usageSource: usage.source }) };
    const events: Fields[] = [];
    if (!this.#begun) events.push({ type: 'message_start', message: this.#message(told) });
    for (const index of this.#open) events.push({ type: 'content_block_stop', index });
    if (!this.#hasReason) {
      const delta = { stop_reason: 'max_tokens', stop_sequence: null };
      events.push({ type: 'message_delta', delta, usage: { output_tokens: 0, ...told }, service });
    }
    events.push({ type: 'message_stop' });
    return events.map((event) => serializeEvent({ event: String(event.type), data: JSON.stringify(event) })).join('');
  }

  /** The figures of a delta are totals; null means no change. */
  #take(usage: unknown): void {
    if (!isFields(usage)) return;
    for (const [name, value] of Object.entries(usage)) if (value != null) this.#usage[name] = value;
  }

  #message(usage: Fields): Fields {
    return {
      id: 'msg_stopped',
      type: 'message',
      role: 'assistant',
      model: this.#model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, ...usage, output_tokens: 0 },
    };
  }
}

/** The input stays as the vendor reported it. */
function closingUsage({ figures, costUsd }: NonNullable<Stopped['usage']>, reported: Fields): Fields {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, responseTokens } = figures;
  return {
    ...(reported.input_tokens === undefined && {
      input_tokens: inputTokens - cachedInputTokens - cacheWriteInputTokens,
      cache_read_input_tokens: cachedInputTokens,
      cache_creation_input_tokens: cacheWriteInputTokens,
    }),
    output_tokens: responseTokens,
    ...(costUsd !== null && { cost_usd: costUsd }),
  };
}
