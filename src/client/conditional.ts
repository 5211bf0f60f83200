/**
 * What the other entries of the package need from a client beside its methods: a read that is only answered in full
 * where something has changed.
 */
import { type Outcome, type RawAnswer, readEnvelope } from './answer.ts';
import type { Methods, RequestOptions } from './methods.ts';
import type { Answers } from './wire.ts';

export interface Conditional<Data> {
  /** `null` where nothing has changed since the given ETag. */
  data: Data | null;
  etag: string | null;
  /** How long the answer may be used, by its `Cache-Control`; 0 where it may not be kept. */
  maxAgeMs: number;
}

export type ReadSettings = (
  etag: string | null,
  options?: RequestOptions,
) => Promise<Conditional<Answers['readSamplingSettings']>>;

/** Of this name in every copy of the library, because an entry may come from another copy than the client. */
const READ_SETTINGS = Symbol.for('callmeter.readSettings');

export function withReadSettings<C extends object>(client: C, read: ReadSettings): C {
  return Object.defineProperty(client, READ_SETTINGS, { value: read });
}

/** `null` for what is no client of this library, as in a test of the application. */
export function readSettingsOf(client: Pick<Methods, 'readSamplingSettings'>): ReadSettings | null {
  return (client as { [READ_SETTINGS]?: ReadSettings })[READ_SETTINGS] ?? null;
}

/** Where a request differs from the usual one of its method. */
export interface Seam {
  headers: Record<string, string>;
  read(answer: RawAnswer, has: readonly string[]): Outcome<unknown>;
}

export function conditionalSeam(etag: string | null): Seam {
  return {
    headers: etag === null ? {} : { 'If-None-Match': etag },
    read: (answer, has) => {
      const { status, headers } = answer;
      const kept = { etag: headers.get('etag') ?? etag, maxAgeMs: maxAgeMsOf(headers.get('cache-control')) };
      if (status === 304 && etag !== null) return { ok: true, value: { data: null, ...kept } };
      const outcome = readEnvelope(answer, has);
      return outcome.ok ? { ok: true, value: { data: outcome.value, ...kept } } : outcome;
    },
  };
}

/** `max-age`, unless the answer may not be used again without asking. */
function maxAgeMsOf(cacheControl: string | null): number {
  if (cacheControl === null || /\bno-(?:store|cache)\b/i.test(cacheControl)) return 0;
  return Number(/\bmax-age=(\d{1,9})\b/i.exec(cacheControl)?.[1] ?? 0) * 1000;
}
