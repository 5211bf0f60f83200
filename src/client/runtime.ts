/**
 * The parts of its runtime that the client uses: `fetch`, time and randomness. It also refuses to run in a browser.
 *
 * Tests pass their own runtime, so that no test has to wait.
 */
import { CallmeterError } from './errors.ts';

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;

export interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body?: string;
  redirect: 'manual';
  signal: AbortSignal;
}

export interface FetchAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface Runtime {
  fetch: Fetch;
  nowMs(): number;
  /** A random number in [0, 1). */
  chance(): number;
  /** Resolves early if the signal aborts; the caller checks the signal. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

/** Looks up `fetch` at each call, so that a runtime or a test may replace the global one. */
export const systemRuntime: Runtime = {
  fetch: (url, init) => globalThis.fetch(url, init),
  nowMs: () => Date.now(),
  chance: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
      if (signal?.aborted) done();
    }),
};

/**
 * Throws in a browser. A page has a window with a document, and a web worker has `importScripts`. Node has
 * `process.versions.node` even if jsdom or happy-dom add a window, as in tests of a server. Deno, Bun, Workers and edge
 * runtimes have none of these.
 */
export function refuseBrowser(scope: object = globalThis): void {
  const { window, process, importScripts } = scope as {
    window?: { document?: unknown };
    process?: { versions?: { node?: string } };
    importScripts?: unknown;
  };
  const isPage = typeof window === 'object' && typeof window?.document === 'object';
  if (process?.versions?.node || !(isPage || typeof importScripts === 'function')) return;
  const message =
    'an API key is a secret of a server and must not be used in a browser; a browser gets a client session from its backend';
  throw new CallmeterError('SERVICE_BROWSER_RUNTIME', message);
}
