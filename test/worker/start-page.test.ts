/**
 * The answers to people and monitors at an address outside of the API: the start page, `/health`, slashes, errors.
 */
import { expect, test } from 'vitest';
import { readSetup } from '../../src/operator/setup.ts';
import { MINUTE_MS } from '../../src/platform/time.ts';
import { createTenant } from '../support/api.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const BASE = 'https://callmeter.test';
/** The headers of browsers for an address that a person opens. */
const OPENED = { 'Sec-Fetch-Mode': 'navigate', Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

const open = (path: string, headers: Record<string, string> = OPENED, method = 'GET') =>
  worker.fetch(BASE + path, { method, headers, redirect: 'manual' });

test('the start page leads to console, reference and models, and says what a new deployment lacks', async () => {
  const page = await (await open('/')).text();
  for (const path of ['/console', '/docs', '/models', '/health']) expect(page).toContain(`href="${path}"`);
  expect(page).toContain('To do: create both in the console');
  expect(page).not.toContain('To do: set the secret');
});

test('what the start page shows of a call is what the service answers to the requests that it shows', async () => {
  const page = await (await open('/')).text();
  const shown = [...page.matchAll(/<pre class="json">(.*?)<\/pre>/gs)]
    .map(([, text = '']) => text.replaceAll('&quot;', '"'))
    .filter((text) => text.startsWith('{'))
    .map((text) => JSON.parse(text));
  const [beginBody, begun, endBody, ended, plan] = shown;
  expect(shown).toHaveLength(5);
  const [, key = ''] = /<code>Idempotency-Key: ([^<]+)</.exec(page) ?? [];
  const { api } = await createTenant(operator, plan);
  const began = await api.send('beginCall', { body: beginBody, headers: { 'Idempotency-Key': key } });
  expect(began).toMatchObject({ status: 200, data: begun });
  const { data } = await api.send('endCall', { body: endBody });
  // Every line of the cost, not only the ones shown.
  expect(data).toMatchObject(ended);
  const lines = data.costBreakdown?.lines ?? [];
  expect(lines.reduce((sum, { costUsdNano }) => sum + BigInt(costUsdNano), 0n)).toBe(BigInt(ended.costUsdNano));
  expect(page).toContain(`it cost $0.00${ended.costUsdNano}</h2>`);
  expect([data.costUSD, data.pricingStatus]).toEqual([Number(ended.costUsdNano) / 1e9, 'FINAL']);
});

test('the start page has the address of its server, leads to guides that are there, and holds no key', async () => {
  const page = await (await open('/')).text();
  expect(page).toContain(`baseURL: &#39;${BASE}/v1&#39;`);
  expect(page).not.toContain('127.0.0.1');
  expect(page).not.toMatch(/utk-|sk-|Bearer/);
  const guides = new Set([...page.matchAll(/href="(\/docs\/[^"]+)"/g)].map(([, path = '']) => path));
  expect(guides.size).toBeGreaterThan(10);
  for (const path of guides) expect([path, (await open(path)).status]).toEqual([path, 200]);
});

test('/health needs no key, and says which version serves', async () => {
  await createTenant(operator);
  const response = await open('/health', {});
  expect([response.status, response.headers.get('Cache-Control')]).toEqual([200, 'no-store']);
  expect(await response.json()).toEqual({ status: 'ok', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
});

test('if the database does not answer, the service says that it does not serve', async () => {
  const DB = { prepare: () => raise('D1 is away') } as unknown as D1Database;
  const { serves, steps } = await readSetup({ ...bindings, DB }, Date.now() + MINUTE_MS);
  expect([serves, steps.filter(({ done }) => !done).map(({ name }) => name)]).toEqual([
    false,
    ['database', 'organization', 'call'],
  ]);
  expect((await readSetup(bindings, Date.now() + 2 * MINUTE_MS)).serves).toBe(true);
});

function raise(message: string): never {
  throw new Error(message);
}

test('a slash at the end of a path leads to the one without, on this origin alone, and keeps method and query', async () => {
  const locationOf = async (path: string, method?: string) => {
    const response = await open(path, {}, method);
    return [response.status, response.headers.get('Location')];
  };
  expect(await locationOf('/docs/?q=call')).toEqual([308, '/docs?q=call']);
  expect(await locationOf('/call_begin/', 'POST')).toEqual([308, '/call_begin']);
  expect(await locationOf('//evil.example/')).toEqual([308, '/evil.example']);
  expect(await locationOf('/v1/model-alternatives/openai/gpt-6-sol/')).toEqual([200, null]);
});

test.each([
  ['/nothing', 404, 'NOT_FOUND'],
  ['/customers/alice/usage', 401, 'UNAUTHORIZED'],
  ['/v1/models', 401, 'invalid_api_key'],
  // Google's form, whose code is the status.
  ['/v1beta/files', 404, 404],
])('a browser that opens %s gets its %i as a page, and a program as JSON', async (path, status, code) => {
  const page = await open(path);
  expect([page.status, page.headers.get('Content-Type')]).toEqual([status, 'text/html; charset=utf-8']);
  expect(page.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
  expect(await page.text()).toContain('href="/docs"');
  const answer = await open(path, { Accept: OPENED.Accept });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({ error: { code } });
});

test('the icon is where browsers ask for it', async () => {
  expect((await open('/favicon.ico')).headers.get('Content-Type')).toBe('image/svg+xml');
});
