/**
 * What the client takes from the runtime that it runs in: fetch, time and chance; and the refusal to run in a browser.
 *
 * Tests hand in a runtime of their own, so that no test has to wait.
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
  /** In [0, 1). */
  chance(): number;
  /** Ends early when the signal aborts; what then happens is the caller's business. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

/** `fetch` is looked up at each call, so that a runtime or a test may replace the global one. */
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
 * A page has a window with a document, and a worker of a page has `importScripts`. Node has `process.versions.node`,
 * also where jsdom or happy-dom lend it a window, as in the tests of a server. Deno, Bun, Workers and edge runtimes
 * have neither.
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
