/**
 * The API reference: one document for programs, pages for people, and nothing from elsewhere. The contents of the pages
 * are checked on their files (test/unit/docs-site.test.ts); here, the Worker's answers.
 */
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import type { OpenApiDocument } from '../../src/http/openapi/types.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import { worker } from '../support/worker.ts';

const ORIGIN = 'https://callmeter.test';
const get = (path: string, headers: Record<string, string> = {}) => worker.fetch(ORIGIN + path, { headers });

describe('/openapi.json', () => {
  test("is the contract's document for the requesting origin, readable by any page", async () => {
    const response = await get('/openapi.json');
    expect(response.headers.get('Content-Type')).toBe('application/json');
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument(SERVICE_VERSION, ORIGIN))));
    const other = (await (await worker.fetch('https://other.test/openapi.json')).json()) as OpenApiDocument;
    expect(other.servers[0]?.url).toBe('https://other.test');
  });

  test('is answered 304 if its ETag matches', async () => {
    const etag = (await get('/openapi.json')).headers.get('ETag') ?? '';
    const again = await get('/openapi.json', { 'If-None-Match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});

describe('/docs', () => {
  test('names every operation, each with a page of its own that shows its example', async () => {
    const overview = await (await get('/docs')).text();
    const { paths } = openApiDocument(SERVICE_VERSION, ORIGIN);
    const ids = Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
    for (const id of ids) {
      expect(overview).toContain(`href="/docs/${id}"`);
      const page = await get(`/docs/${id}`);
      expect(page.status).toBe(200);
      const html = await page.text();
      expect(html).toContain('curl -sS');
      expect(html).toContain(ORIGIN);
      expect(html).not.toContain('origin.invalid');
    }
  });

  test('a search finds operations by path, summary and field, and shows the match', async () => {
    const find = async (query: string) => (await get(`/docs?q=${encodeURIComponent(query)}`)).text();
    const paths = (html: string) => [...html.matchAll(/class="path">([^<]+)</g)].map(([, path]) => path);
    expect(paths(await find('call_end'))).toContain('/call_end');
    expect(paths(await find('cachedInputTokens'))).toContain('/call_end');
    expect(paths(await find('CREDIT grant'))).toEqual(['/operator/organizations/{org}/customers/{customerId}/credits']);
    expect(await find('BALANCE_HELD')).toContain('href="/docs/errors#BALANCE_HELD"');
    expect(await find('idempotency key retry')).toContain('href="/docs/guides/');
    expect(await find('zebra crossing')).toContain('Nothing says that');
  });

  test('the search text is escaped', async () => {
    const html = await (await get(`/docs?q=${encodeURIComponent('"><script>alert(1)</script>')}`)).text();
    expect(html).not.toContain('<script>');
    expect(html).toContain('&lt;script&gt;');
    expect(html).toContain('value="&quot;&gt;&lt;script&gt;');
    // Neither the signs of a replacement nor the names of the places mean anything in it.
    const odd = await (await get(`/docs?q=${encodeURIComponent("$& $` @@RESULTS@@ $'")}`)).text();
    expect(odd).toContain('value="$&amp; $` @@results@@ $\'"');
    expect(odd.match(/role="status"/g)).toHaveLength(1);
  });

  test('it loads nothing from other origins, runs no script but its own file, and cannot be framed', async () => {
    for (const path of ['/docs', '/docs/beginCall', '/docs/schemas/Plan', '/docs/guides/README', '/docs/nothing']) {
      const response = await get(path);
      const policy = response.headers.get('Content-Security-Policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'; connect-src 'self'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(policy).toContain("frame-ancestors 'none'");
      const html = await response.text();
      expect(html).not.toMatch(/<script(?! src="\/assets\/docs-[0-9a-f]+\.js")|style="|\son\w+=/);
      const loaded = [...html.matchAll(/<(?:link|img|script)[^>]*\s(?:src|href)="([^"]*)"/g)].map(
        ([, address]) => address ?? '',
      );
      for (const address of loaded.filter((known) => !known.startsWith(`${ORIGIN}/`))) {
        expect(address).toMatch(/^\/(?:assets|docs)\//);
        const file = await get(address);
        expect([address, file.status, file.headers.get('X-Content-Type-Options')]).toEqual([address, 200, 'nosniff']);
      }
    }
  });

  test('the demo key is told on the machine itself alone, to its own pages alone, and if there is one', async () => {
    const ask = (origin: string, headers: Record<string, string>) =>
      worker.fetch(`${origin}/docs/demo-key`, { headers });
    const own = { 'Sec-Fetch-Site': 'same-origin' };
    // Permitted requests get 404 here, because this Worker has no such key; `npm start` has one
    // (test/e2e/start.test.ts).
    for (const [origin, headers] of [
      ['http://127.0.0.1:8787', own],
      [ORIGIN, own],
    ] as const) {
      const answer = await ask(origin, headers);
      expect([answer.status, answer.headers.get('Cache-Control')]).toEqual([404, 'no-store']);
    }
  });

  test('an unknown page is 404, another method 405', async () => {
    for (const path of [
      '/docs/nothing',
      '/docs/schemas/Nothing',
      '/docs/schemas/constructor',
      '/docs/a/b/c',
      '/docs/search',
      '/docs/search.json',
      '/docs/beginCall.html',
      '/docs/../wrangler.toml.svg',
    ])
      expect((await get(path)).status).toBe(404);
    const response = await worker.fetch(`${ORIGIN}/docs`, { method: 'POST' });
    expect([response.status, response.headers.get('Allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('a page is answered 304 if its ETag matches', async () => {
    const etag = (await get('/docs/beginCall')).headers.get('ETag') ?? '';
    expect((await get('/docs/beginCall', { 'If-None-Match': etag })).status).toBe(304);
  });
});
