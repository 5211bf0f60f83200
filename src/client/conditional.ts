/**
 * Conditional reads (ETag) for the package's other entry points, besides the client's public methods.
 */
import { type Outcome, type RawAnswer, readEnvelope } from './answer.ts';
import type { Methods, RequestOptions } from './methods.ts';
import type { Answers } from './wire.ts';

interface Conditional<Data> {
  /** `null` if nothing has changed since the given ETag. */
  data: Data | null;
  etag: string | null;
  /** How long the response may be used, from its `Cache-Control`; 0 if it must not be cached. */
  maxAgeMs: number;
}

export type ReadSettings = (
  etag: string | null,
  options?: RequestOptions,
) => Promise<Conditional<Answers['readSamplingSettings']>>;

/** A global symbol, because an entry point may belong to another copy of the library than the client. */
const READ_SETTINGS = Symbol.for('callmeter.readSettings');

export function withReadSettings<C extends object>(client: C, read: ReadSettings): C {
  return Object.defineProperty(client, READ_SETTINGS, { value: read });
}

/** `null` if the object is not a client of this library, for example a mock. */
export function readSettingsOf(client: Pick<Methods, 'readSamplingSettings'>): ReadSettings | null {
  return (client as { [READ_SETTINGS]?: ReadSettings })[READ_SETTINGS] ?? null;
}

/** How a request differs from the usual request of its method. */
export interface Seam {
  headers: Record<string, string>;
  read(answer: RawAnswer, has: readonly string[]): Outcome<unknown>;
}

export function conditionalSeam(etag: string | null): Seam {
  return {
    headers: etag === null ? {} : { 'If-None-Match': etag },
    read: (answer, has) => {
      const { status, headers } = answer;
      const kept = { etag: headers.get('etag') ?? etag, maxAgeMs: parseMaxAgeMs(headers.get('cache-control')) };
      if (status === 304 && etag !== null) return { ok: true, value: { data: null, ...kept } };
      const outcome = readEnvelope(answer, has);
      return outcome.ok ? { ok: true, value: { data: outcome.value, ...kept } } : outcome;
    },
  };
}

/** `max-age` in milliseconds, or 0 if the response must be revalidated. */
function parseMaxAgeMs(cacheControl: string | null): number {
  if (cacheControl === null || /\bno-(?:store|cache)\b/i.test(cacheControl)) return 0;
  return Number(/\bmax-age=(\d{1,9})\b/i.exec(cacheControl)?.[1] ?? 0) * 1000;
}
