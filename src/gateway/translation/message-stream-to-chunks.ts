/**
 * The events of a stream of Anthropic's messages API as the chunks of a chat completion.
 *
 * Text, reasoning and arguments of tool calls pass as they come. Blocks of thinking and citations come whole, in one
 * chunk before the end: SDKs that join chunks replace such members or append to them, and one chunk is right for both.
 */
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { MessageStream } from '../../vendors/usage/anthropic.ts';
import { readFailure } from '../../vendors/usage/failure.ts';
import { type Fields, fieldsOf } from '../../vendors/usage/figures.ts';
import {
  type AnsweredTier,
  charactersOf,
  finishReasonOf,
  refusalOf,
  serviceTierOf,
  type ThinkingBlock,
  textOf,
  thinkingBlockOf,
  type UrlCitation,
  urlCitations,
  usageOf,
} from './answer-parts.ts';

/** The most text of blocks of thinking that is kept to be sent whole: more than any model thinks. */
export const THINKING_LENGTH_MAX = 8 * 1024 * 1024;
/** The most citations that are kept. */
export const CITATIONS_MAX = 1_000;

export const DONE = '[DONE]';

interface Delta extends ChatCompletionChunk.Choice.Delta {
  reasoning_content?: string;
  thinking_blocks?: ThinkingBlock[];
  annotations?: UrlCitation[];
}

export interface TranslatedChunk extends ChatCompletionChunk {
  choices: (ChatCompletionChunk.Choice & { delta: Delta; native_finish_reason?: string })[];
}

/** An error in the middle of the stream, as SDKs of OpenAI expect it. */
export interface ErrorChunk {
  error: { message: string; type: string; code: string; param: null };
}

export type StreamPart = TranslatedChunk | ErrorChunk | typeof DONE;

export interface ChunkTerms {
  /** Of chunks that come before the vendor's own id and model; in seconds. */
  created: number;
  id: string;
  model: string;
  /** The caller asked for the usage at the end. */
  includeUsage: boolean;
}

/** A block that has begun and not ended. */
interface OpenBlock {
  type: unknown;
  /** The place of a tool call among the tool calls. */
  call: number;
  /** Arguments of the tool call have come. */
  hasArguments: boolean;
  /** The input with which the tool call began: all of it where no more comes. */
  input: unknown;
  thought: ThinkingBlock | null;
  /** Where the text of the block begins in the content. */
  start: number;
  citations: unknown[];
}

export class MessageChunks {
  readonly #terms: ChunkTerms;
  readonly #usage = new MessageStream();
  #common: { id: string; model: string; service_tier?: AnsweredTier };
  /** Anthropic writes one block after the other. */
  #block: OpenBlock | null = null;
  #begun = false;
  #ended = false;
  #finished = false;
  #calls = 0;
  #characters = 0;
  #thinkingLength = 0;
  readonly #thinking: ThinkingBlock[] = [];
  readonly #citations: UrlCitation[] = [];

  constructor(terms: ChunkTerms) {
    this.#terms = terms;
    this.#common = { id: terms.id, model: terms.model };
  }

  /** What the caller gets for the next event, which is parsed. After the end or an error there is nothing more. */
  read(event: Fields): StreamPart[] {
    if (this.#ended) return [];
    this.#usage.read(event);
    switch (event.type) {
      case 'message_start':
        return this.#begin(fieldsOf(event.message));
      case 'content_block_start':
        return this.#open(fieldsOf(event.content_block));
      case 'content_block_delta':
        return this.#add(fieldsOf(event.delta));
      case 'content_block_stop':
        return this.#close();
      case 'message_delta':
        return this.#finish(fieldsOf(event.delta));
      case 'message_stop':
        return this.#end();
      case 'error':
        return this.#fail(event);
      // A ping, or an event that the vendor has added.
      default:
        return [];
    }
  }

  #begin({ id, model, usage }: Fields): StreamPart[] {
    this.#common = {
      id: textOf(id) || this.#terms.id,
      model: textOf(model) || this.#terms.model,
      ...serviceTierOf(usage),
    };
    return this.#withRole([]);
  }

  /** A block may begin with some of its content. */
  #open(block: Fields): StreamPart[] {
    const unclosed = this.#close();
    this.#block = {
      type: block.type,
      call: this.#calls,
      hasArguments: false,
      input: block.input,
      thought: thinkingBlockOf({ ...block, thinking: '', signature: '' }),
      start: this.#characters,
      citations: [],
    };
    if (block.type === 'tool_use') {
      this.#calls += 1;
      const called = { name: textOf(block.name), arguments: '' };
      const call = { index: this.#block.call, id: textOf(block.id), type: 'function' as const, function: called };
      return [...unclosed, ...this.#withRole([this.#chunk({ tool_calls: [call] })])];
    }
    const begun = Array.isArray(block.citations) ? block.citations : [];
    for (const citation of begun) this.#add({ citation });
    return [...unclosed, ...this.#add(block)];
  }

  #add(delta: Fields): StreamPart[] {
    const block = this.#block;
    if (block === null) return [];
    if (block.type === 'text') {
      if (delta.citation !== undefined && block.citations.length < CITATIONS_MAX) block.citations.push(delta.citation);
      const text = textOf(delta.text);
      this.#characters += charactersOf(text);
      return text === '' ? [] : this.#withRole([this.#chunk({ content: text })]);
    }
    if (block.thought?.type === 'thinking') {
      const thinking = textOf(delta.thinking);
      this.#thinkingLength += thinking.length;
      if (this.#thinkingLength <= THINKING_LENGTH_MAX) block.thought.thinking += thinking;
      block.thought.signature += textOf(delta.signature);
      return thinking === '' ? [] : this.#withRole([this.#chunk({ reasoning_content: thinking })]);
    }
    const json = textOf(delta.partial_json);
    return block.type === 'tool_use' && json !== '' ? [this.#argumentsOf(block, json)] : [];
  }

  #argumentsOf(block: OpenBlock, json: string): StreamPart {
    block.hasArguments = true;
    return this.#chunk({ tool_calls: [{ index: block.call, function: { arguments: json } }] });
  }

  #close(): StreamPart[] {
    const block = this.#block;
    this.#block = null;
    if (block === null) return [];
    if (block.thought) this.#thinking.push(block.thought);
    const room = CITATIONS_MAX - this.#citations.length;
    this.#citations.push(...urlCitations(block.citations, block.start, this.#characters).slice(0, room));
    // A call without arguments has no pieces of JSON, or only empty ones.
    const bare = block.type === 'tool_use' && !block.hasArguments;
    return bare ? [this.#argumentsOf(block, JSON.stringify(block.input ?? {}))] : [];
  }

  #finish(delta: Fields): StreamPart[] {
    if (typeof delta.stop_reason !== 'string' || this.#finished) return [];
    this.#finished = true;
    const refusal = refusalOf(delta);
    // Thinking that was cut would be refused when it is sent back.
    const thinking = this.#thinkingLength <= THINKING_LENGTH_MAX ? this.#thinking : [];
    const kept: Delta = {
      ...(thinking.length > 0 && { thinking_blocks: thinking }),
      ...(this.#citations.length > 0 && { annotations: this.#citations }),
      ...(refusal !== null && { refusal }),
    };
    return this.#withRole([
      ...(Object.keys(kept).length > 0 ? [this.#chunk(kept)] : []),
      this.#chunk({}, delta.stop_reason),
    ]);
  }

  #end(): StreamPart[] {
    const parts = this.#finished ? [] : this.#finish({ stop_reason: 'end_turn' });
    this.#ended = true;
    const usage = this.#terms.includeUsage ? usageOf(this.#usage.usage()) : undefined;
    return [...parts, ...(usage ? [{ ...this.#head(), choices: [], usage }] : []), DONE];
  }

  #fail(event: Fields): StreamPart[] {
    this.#ended = true;
    const { code, message } = readFailure(event) ?? { code: 'vendor_error', message: 'the vendor gave no reason' };
    return [{ error: { message, type: code, code, param: null } }];
  }

  /** The role stands in the first chunk. */
  #withRole(parts: StreamPart[]): StreamPart[] {
    if (this.#begun) return parts;
    this.#begun = true;
    return [this.#chunk({ role: 'assistant', content: '' }), ...parts];
  }

  #head() {
    return { ...this.#common, object: 'chat.completion.chunk' as const, created: this.#terms.created };
  }

  #chunk(delta: Delta, reason?: string): TranslatedChunk {
    const finish = reason === undefined ? null : finishReasonOf(reason);
    const native = reason === undefined ? {} : { native_finish_reason: reason };
    const choice = { index: 0, delta, logprobs: null, finish_reason: finish, ...native };
    return { ...this.#head(), choices: [choice], ...(this.#terms.includeUsage && { usage: null }) };
  }
}

/** The parts as blocks of a stream of server-sent events. */
export function serializeParts(parts: readonly StreamPart[]): string {
  return parts.map((part) => serializeEvent({ data: part === DONE ? DONE : JSON.stringify(part) })).join('');
}
