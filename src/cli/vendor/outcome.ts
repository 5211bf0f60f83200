/**
 * The answer to a request, before it is sent.
 */
import type { Frame } from './dialect.ts';
import type { Words } from './prompt.ts';

/** The request to a model and its answer, for a line of the log. */
export interface Told {
  model: string;
  inputTokens: number;
  outputTokens: number;
}

export type Outcome =
  | { kind: 'json'; body: unknown; words?: Words; told?: Told }
  | { kind: 'events'; form: 'sse' | 'array'; frames: Frame[]; words: Words; told?: Told }
  | { kind: 'file'; content: string | Buffer; type?: string; words?: Words; told?: Told }
  | Refusal;

export interface Refusal {
  kind: 'refused';
  status: number;
  message: string;
  field?: string;
}
