/**
 * Which models a request was tried with, and how each attempt ended:
 * `openai/gpt-6-sol=429, anthropic/claude-opus-5-5=200`.
 */
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import type { VendorResult } from '../vendors/request.ts';
import type { Attempt } from './models.ts';

/** Of a longer name the beginning is told, so that ten attempts fit into a header. */
const NAME_LENGTH_MAX = 80;

export class AttemptList {
  readonly #ended: string[] = [];

  /** How it ended is the vendor's status, or why there is none. */
  add({ modelKey }: Attempt, end: VendorResult | 'no-key'): void {
    const word = typeof end === 'string' ? end : end.kind === 'answer' || end.kind === 'stream' ? end.status : end.kind;
    this.#ended.push(`${modelKey.slice(0, NAME_LENGTH_MAX).replace(/[^\w./:@-]/g, '_')}=${word}`);
  }

  /** Nothing where the first model answered. */
  get header(): Record<string, string> {
    return this.#ended.length > 1 ? { [GATEWAY_HEADERS.attempts]: this.#ended.join(', ') } : {};
  }
}
