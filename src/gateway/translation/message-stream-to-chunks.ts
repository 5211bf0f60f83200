/**
 * The events of a stream of Anthropic's messages API as the chunks of a chat completion.
 *
 * Text, reasoning and arguments of tool calls pass as they come. Everything else in the message comes whole, in one
 * chunk before the end: SDKs that join chunks replace such members or append to them, and one chunk is right for both.
 */
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import { parseAnswer } from '../../platform/json.ts';
import { MessageStream } from '../../vendors/usage/anthropic.ts';
import { readFailure } from '../../vendors/usage/failure.ts';
import { type Fields, fieldsOrEmpty, listOrEmpty, textOrEmpty } from '../../vendors/usage/figures.ts';
import { buildMessage, type TranslatedMessage } from './answer-message.ts';
import {
  type AnsweredTier,
  answeredTier,
  type TranslatedUsage,
  toFinishReason,
  toTranslatedUsage,
} from './answer-parts.ts';
import { callerToolId } from './tool-ids.ts';

/** The most of an answer that is kept, in characters of JSON: several times more than a model writes and finds. */
export const KEPT_LENGTH_MAX = 8 * 1024 * 1024;

export const DONE = '[DONE]';

type AtTheEnd = Pick<TranslatedMessage, 'thinking_blocks' | 'content_blocks' | 'annotations'>;

interface Delta extends ChatCompletionChunk.Choice.Delta, AtTheEnd {
  reasoning_content?: string;
}

export interface TranslatedChunk extends ChatCompletionChunk {
  choices: (ChatCompletionChunk.Choice & { delta: Delta; native_finish_reason?: string })[];
  usage?: TranslatedUsage | null;
}

/** An error in the middle of the stream, in the form that OpenAI's SDKs expect. */
interface ErrorChunk {
  error: { message: string; type: string; code: string; param: null };
}

export type StreamPart = TranslatedChunk | ErrorChunk | typeof DONE;

export interface ChunkTerms {
  /** In seconds. */
  created: number;
  /** The id to use if the vendor names none. */
  id: string;
  model: string;
  /** The caller asked for the usage at the end. */
  includeUsage: boolean;
}

/** The block that is being written; Anthropic writes them one after the other. */
interface OpenBlock {
  /** The block as far as it has arrived. */
  block: Fields & { citations: unknown[] };
  text: string;
  thinking: string;
  signature: string;
  json: string;
  /** Its position among the tool calls. */
  call: number;
}

export class MessageChunks {
  readonly #terms: ChunkTerms;
  readonly #usage = new MessageStream();
  #common: { id: string; model: string; service_tier?: AnsweredTier };
  #open: OpenBlock | null = null;
  readonly #blocks: Fields[] = [];
  #keptLength = 0;
  #calls = 0;
  #begun = false;
  #finished = false;
  #ended = false;

  constructor(terms: ChunkTerms) {
    this.#terms = terms;
    this.#common = { id: terms.id, model: terms.model };
  }

  /** The chunks that the caller gets for the next parsed event. Nothing follows the end or an error. */
  read(event: Fields): StreamPart[] {
    if (this.#ended) return [];
    this.#usage.read(event);
    switch (event.type) {
      case 'message_start':
        return this.#begin(fieldsOrEmpty(event.message));
      case 'content_block_start':
        return [...this.#closeBlock(), ...this.#openBlock(fieldsOrEmpty(event.content_block))];
      case 'content_block_delta':
        return this.#add(fieldsOrEmpty(event.delta));
      case 'content_block_stop':
        return this.#closeBlock();
      case 'message_delta':
        return this.#finish(fieldsOrEmpty(event.delta));
      case 'message_stop':
        return this.#end();
      case 'error':
        return this.#fail(event);
      // A ping, or an event that the vendor has added since.
      default:
        return [];
    }
  }

  #begin({ id, model, usage }: Fields): StreamPart[] {
    const { id: ownId, model: ownModel } = this.#terms;
    this.#common = { id: textOrEmpty(id) || ownId, model: textOrEmpty(model) || ownModel, ...answeredTier(usage) };
    return this.#withRole([]);
  }

  /** A block may begin with some of its content. */
  #openBlock(begin: Fields): StreamPart[] {
    const { text: _text, thinking: _thinking, signature: _signature, ...block } = begin;
    this.#keptLength += JSON.stringify(block).length;
    const citations = [...listOrEmpty(block.citations)];
    this.#open = { block: { ...block, citations }, text: '', thinking: '', signature: '', json: '', call: this.#calls };
    if (begin.type !== 'tool_use') return this.#add(begin);
    this.#calls += 1;
    const called = { name: textOrEmpty(begin.name), arguments: '' };
    const call = {
      index: this.#open.call,
      id: callerToolId(textOrEmpty(begin.id)),
      type: 'function' as const,
      function: called,
    };
    return this.#withRole([this.#chunk({ tool_calls: [call] })]);
  }

  #add({ text, thinking, signature, partial_json: json, citation }: Fields): StreamPart[] {
    const open = this.#open;
    if (open === null) return [];
    const { type } = open.block;
    const given = {
      text: textOrEmpty(text),
      thinking: textOrEmpty(thinking),
      signature: textOrEmpty(signature),
      json: textOrEmpty(json),
    };
    this.#keptLength += Object.values(given).reduce((sum, part) => sum + part.length, 0);
    if (citation !== undefined) this.#keptLength += JSON.stringify(citation).length;
    if (this.#keptLength <= KEPT_LENGTH_MAX) {
      for (const name of ['text', 'thinking', 'signature', 'json'] as const) open[name] += given[name];
      if (citation !== undefined) open.block.citations.push(citation);
    } else open.json ||= given.json;
    if (type === 'text' && given.text !== '') return this.#withRole([this.#chunk({ content: given.text })]);
    if (type === 'thinking' && given.thinking !== '')
      return this.#withRole([this.#chunk({ reasoning_content: given.thinking })]);
    return type === 'tool_use' && given.json !== '' ? [this.#argumentsOf(open, given.json)] : [];
  }

  #argumentsOf({ call }: OpenBlock, json: string): StreamPart {
    return this.#chunk({ tool_calls: [{ index: call, function: { arguments: json } }] });
  }

  #closeBlock(): StreamPart[] {
    const open = this.#open;
    this.#open = null;
    if (open === null) return [];
    const { text, thinking, signature, json } = open;
    const { citations, ...block } = open.block;
    // A call without arguments has no pieces of JSON, or only empty ones.
    const input = json === '' ? (block.input ?? {}) : parseAnswer(json);
    if (this.#keptLength <= KEPT_LENGTH_MAX) {
      this.#blocks.push({
        ...block,
        ...(block.type === 'text' && { text, citations: citations.length > 0 ? citations : null }),
        ...(block.type === 'thinking' && { thinking, signature }),
        ...(block.input !== undefined && { input }),
      });
    }
    return block.type === 'tool_use' && json === '' ? [this.#argumentsOf(open, JSON.stringify(input))] : [];
  }

  #finish(delta: Fields): StreamPart[] {
    if (typeof delta.stop_reason !== 'string' || this.#finished) return [];
    this.#finished = true;
    // The vendor would refuse a cut block when it is sent back.
    const blocks = this.#keptLength <= KEPT_LENGTH_MAX ? this.#blocks : [];
    const { thinking_blocks, content_blocks, annotations, refusal } = buildMessage(blocks, delta);
    const kept: Delta = {
      ...(thinking_blocks && { thinking_blocks }),
      ...(content_blocks && { content_blocks }),
      ...(annotations && { annotations }),
      ...(refusal !== null && { refusal }),
    };
    const before = Object.keys(kept).length > 0 ? [this.#chunk(kept)] : [];
    return this.#withRole([...before, this.#chunk({}, delta.stop_reason)]);
  }

  #end(): StreamPart[] {
    const parts = this.#finish({ stop_reason: 'end_turn' });
    this.#ended = true;
    const usage = this.#terms.includeUsage ? toTranslatedUsage(this.#usage.usage()) : undefined;
    return [...parts, ...(usage ? [{ ...this.#head(), choices: [], usage }] : []), DONE];
  }

  #fail(event: Fields): StreamPart[] {
    this.#ended = true;
    const { code, message } = readFailure(event) ?? { code: 'vendor_error', message: 'the vendor gave no reason' };
    return [{ error: { message, type: code, code, param: null } }];
  }

  /** The first chunk has the role. */
  #withRole(parts: StreamPart[]): StreamPart[] {
    if (this.#begun) return parts;
    this.#begun = true;
    return [this.#chunk({ role: 'assistant', content: '' }), ...parts];
  }

  #head() {
    return { ...this.#common, object: 'chat.completion.chunk' as const, created: this.#terms.created };
  }

  #chunk(delta: Delta, reason?: string): TranslatedChunk {
    const finish = reason === undefined ? null : toFinishReason(reason);
    const native = reason === undefined ? {} : { native_finish_reason: reason };
    const choice = { index: 0, delta, logprobs: null, finish_reason: finish, ...native };
    return { ...this.#head(), choices: [choice], ...(this.#terms.includeUsage && { usage: null }) };
  }
}
