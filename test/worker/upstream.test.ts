/**
 * The daily import: publishes a valid list with few changes, and leaves everything else to a person.
 */
import { createExecutionContext } from 'cloudflare:test';
import { afterEach, expect, test, vi } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { importUpstream } from '../../src/operator/upstream.ts';
import { bindings, operator } from '../support/worker.ts';

const NOW = Date.UTC(2026, 10, 21, 3, 47);
const LUNA = BUILT_IN_CATALOG.models.find(({ model }) => model === 'gpt-6-luna');

afterEach(() => vi.unstubAllGlobals());

/** The upstream file with one model at these prices. */
const fileWith = (input: number, output: number) => ({
  'gpt-6-luna': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: input / 1e6,
    output_cost_per_token: output / 1e6,
    cache_read_input_token_cost: (LUNA?.pricing?.cachedInputUsdPerMillion ?? 0) / 1e6,
  },
});

async function importOf(answer: () => Response): Promise<{ action: string; after: unknown }> {
  vi.stubGlobal('fetch', () => Promise.resolve(answer()));
  const context = createExecutionContext();
  const env = {
    ...bindings,
    CATALOG_UPSTREAM_URL: 'https://upstream.example/prices.json',
    CATALOG_UPSTREAM_FORMAT: 'litellm' as const,
  };
  await importUpstream(env, NOW, (work) => context.waitUntil(work));
  const [event] = (await operator.send('listEvents', { query: { limit: '1' } })).data.items;
  return { action: event?.action ?? 'none', after: event?.after };
}

test('a small change of price is published', async () => {
  const { action, after } = await importOf(() => Response.json(fileWith(0.12, 0.6)));
  expect(action).toBe('catalog.publish');
  expect(after).toMatchObject({
    differences: { removed: [], lifecycle: [], repriced: [{ modelKey: 'openai/gpt-6-luna' }] },
  });
  expect((await operator.send('readCatalog')).data).toMatchObject({ source: 'published', models: 322 });
});

test('a large change of price waits for an operator, and nothing changes', async () => {
  const before = (await operator.send('readCatalog')).data;
  const { action, after } = await importOf(() => Response.json(fileWith(50, 200)));
  expect([action, JSON.stringify(after)]).toEqual(['catalog.upstream_held', expect.stringContaining('factor of 3')]);
  expect((await operator.send('readCatalog')).data).toEqual(before);
});

test.each([
  ['is away', () => new Response('gateway timeout', { status: 504 })],
  ['is no JSON', () => new Response('<html>')],
  ['is another file', () => Response.json([1, 2, 3])],
])('an upstream that %s leaves an event and changes nothing', async (_name, answer) => {
  const before = (await operator.send('readCatalog')).data;
  expect((await importOf(answer)).action).toMatch(/^catalog\.upstream_(failed|held)$/);
  expect((await operator.send('readCatalog')).data).toEqual(before);
});

test('without an address nothing is imported', async () => {
  const events = async () => (await operator.send('listEvents', { query: { limit: '200' } })).data.items.length;
  const before = await events();
  await importUpstream(bindings, NOW, () => undefined);
  expect(await events()).toBe(before);
});
