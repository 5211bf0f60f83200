/**
 * The runtimes in which the client runs, and those in which it refuses to.
 */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { refuseBrowser, systemRuntime } from '../../src/client/runtime.ts';

const page = { window: { document: {} } };
const importScripts = () => undefined;

test.each([
  ['a page', page],
  ["a page whose bundler brought a shim of Node's process", { ...page, process: { versions: {} } }],
  ['a worker of a page', { importScripts }],
])('%s is refused', (_what, scope) => {
  expect(() => refuseBrowser(scope)).toThrow(
    expect.objectContaining({ code: 'SERVICE_BROWSER_RUNTIME', retryable: false }),
  );
});

test.each([
  ['Node', { process: { versions: { node: '20.20.2' } } }],
  ['a test in Node with jsdom', { ...page, process: { versions: { node: '20.20.2' } } }],
  ['Workers', { navigator: { userAgent: 'Cloudflare-Workers' } }],
  ['a runtime with a window and no document', { window: {} }],
  ['an edge runtime', {}],
])('%s is not', (_what, scope) => {
  expect(() => refuseBrowser(scope)).not.toThrow();
});

describe('in a browser', () => {
  afterEach(() => vi.unstubAllGlobals());

  test('createClient throws', () => {
    vi.stubGlobal('window', { document: {} });
    vi.stubGlobal('process', { versions: {} });
    expect(() => createClient({ baseUrl: 'https://callmeter.example.com' })).toThrow(
      expect.objectContaining({ code: 'SERVICE_BROWSER_RUNTIME' }),
    );
  });
});

test('sleep ends at once when its signal aborts or was aborted before', async () => {
  const controller = new AbortController();
  const sleeping = systemRuntime.sleep(600_000, controller.signal);
  controller.abort();
  await sleeping;
  await systemRuntime.sleep(600_000, controller.signal);
});
