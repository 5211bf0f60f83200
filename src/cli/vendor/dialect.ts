/**
 * A dialect: the requests of one endpoint of a vendor, and its answers, plain and streamed.
 */
import { randomUUID } from 'node:crypto';
import type { Fields } from '../../vendors/usage/figures.ts';
import type { Read } from './prompt.ts';
import type { Reply } from './reply.ts';

/** An event of a stream. Text is sent unchanged, any other value as JSON. */
export interface Frame {
  event?: string;
  data: unknown;
}

export interface Dialect {
  /** `model` is the one in the path, if the endpoint has it there. */
  read(body: Fields, model: string | undefined): Read;
  plain(reply: Reply, body: Fields): Fields;
  frames(reply: Reply, body: Fields): Frame[];
}

export function newId(prefix: string): string {
  return `${prefix}${randomUUID().replaceAll('-', '')}`;
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

export function wrong(field: string, message: string): Read {
  return { ok: false, field, message: `${field}: ${message}` };
}
