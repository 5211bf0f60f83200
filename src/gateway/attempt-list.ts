/**
 * The models that a request was tried with, and the end of each attempt: `openai/gpt-6-sol=429,
 * anthropic/claude-opus-5-5=200`.
 */
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import type { Attempt } from './models.ts';
import type { AskedResult } from './stream-usage.ts';

/** A longer name is cut, so that ten attempts fit into a header. */
const NAME_LENGTH_MAX = 80;

export class AttemptList {
  readonly #ended: string[] = [];

  /** `end` is the vendor's status, or the reason why there is none. */
  add({ modelKey }: Attempt, end: AskedResult['result'] | 'no-key'): void {
    const word =
      typeof end === 'string' ? end : end.kind === 'answer' || end.kind === 'passing' ? end.status : end.kind;
    this.#ended.push(`${modelKey.slice(0, NAME_LENGTH_MAX).replace(/[^\w./:@-]/g, '_')}=${word}`);
  }

  /** Empty if the first model answered. */
  get header(): Record<string, string> {
    return this.#ended.length > 1 ? { [GATEWAY_HEADERS.attempts]: this.#ended.join(', ') } : {};
  }
}
