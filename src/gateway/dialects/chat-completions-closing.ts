/**
 * The early end of a streamed completion, of chat or of text: each unfinished choice ends with `finish_reason:
 * "length"`, the usage follows if the caller asked for it, and then the mark of the end.
 */
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../vendors/usage/figures.ts';
import type { Stopped, StreamClosing } from './dialect.ts';

/** The most choices of a completion. Source: OpenAI's API reference, `n`. */
const CHOICES_MAX = 128;
/** The members that all chunks of a completion share. */
const COMMON = ['id', 'object', 'created', 'model', 'system_fingerprint', 'service_tier'];

/** The differences between chat completions and text completions. */
interface Shape {
  object: string;
  /** The members of a choice in its last chunk. */
  last(hasRole: boolean): Fields;
}

const CHAT_SHAPE: Shape = {
  object: 'chat.completion.chunk',
  // SDKs accept no choice without a role.
  last: (hasRole) => ({ delta: hasRole ? {} : { role: 'assistant', content: '' } }),
};
export const TEXT_SHAPE: Shape = { object: 'text_completion', last: () => ({ text: '' }) };

interface Choice {
  hasRole: boolean;
  finished: boolean;
}

export class ChatClosing implements StreamClosing {
  readonly #common: Fields;
  readonly #choices = new Map<number, Choice>();
  readonly #includeUsage: boolean;
  readonly #shape: Shape;

  constructor(model: string, choices: number, includeUsage: boolean, shape = CHAT_SHAPE) {
    this.#shape = shape;
    this.#common = { id: '', object: shape.object, created: 0, model };
    for (let index = 0; index < Math.min(choices, CHOICES_MAX); index += 1) this.#choiceOf(index);
    this.#includeUsage = includeUsage;
  }

  passed(chunk: Fields): void {
    for (const name of COMMON) if (chunk[name] != null) this.#common[name] = chunk[name];
    for (const part of listOrEmpty(chunk.choices)) {
      const { index, delta, finish_reason: reason } = fieldsOrEmpty(part);
      if (!isPlace(index)) continue;
      const choice = this.#choiceOf(index);
      choice.hasRole ||= typeof fieldsOrEmpty(delta).role === 'string';
      choice.finished ||= typeof reason === 'string' && reason !== '';
    }
  }

  close({ code, usage }: Stopped): string {
    const ends = [...this.#choices].flatMap(([index, { hasRole, finished }]) => {
      if (finished) return [];
      const last = this.#shape.last(hasRole);
      return [{ choices: [{ index, ...last, logprobs: null, finish_reason: 'length' }], service: { code } }];
    });
    const told = this.#includeUsage && usage ? [{ choices: [], ...closingChatUsage(usage) }] : [];
    const chunks = [...ends, ...told].map((chunk) => JSON.stringify({ ...this.#common, ...chunk }));
    return [...chunks, '[DONE]'].map((data) => serializeEvent({ data })).join('');
  }

  #choiceOf(index: number): Choice {
    const choice = this.#choices.get(index) ?? { hasRole: false, finished: false };
    this.#choices.set(index, choice);
    return choice;
  }
}

function isPlace(index: unknown): index is number {
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < CHOICES_MAX;
}

function closingChatUsage({ figures, source, costUsd }: NonNullable<Stopped['usage']>) {
  const { inputTokens, cachedInputTokens, responseTokens, reasoningTokens } = figures;
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: responseTokens,
    total_tokens: inputTokens + responseTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
    ...(costUsd !== null && { cost_usd: costUsd }),
  };
  return { usage, service: { usageSource: source } };
}
