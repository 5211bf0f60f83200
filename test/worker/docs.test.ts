/**
 * The API reference: one document for programs, pages for people, without a script and without anything from elsewhere.
 */
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/contract/openapi/document.ts';
import type { OpenApiDocument } from '../../src/contract/openapi/types.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import { worker } from '../support/worker.ts';

const ORIGIN = 'https://callmeter.test';
const get = (path: string, headers: Record<string, string> = {}) => worker.fetch(ORIGIN + path, { headers });

/** Everything that a page would load, or lead to. */
function addressesOf(html: string): string[] {
  return [...html.matchAll(/\s(?:src|href|action)="([^"]*)"/g)].map(([, address]) => address ?? '');
}

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
      expect(await page.text()).toContain('curl -sS');
    }
  });

  test('every internal link has a target', async () => {
    const seen = new Set<string>();
    const waiting = ['/docs'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const [plain = '', anchor] = path.split('#');
      if (seen.has(path)) continue;
      seen.add(path);
      const response = await get(plain || '/docs');
      expect(response.status, path).toBe(200);
      const html = await response.text();
      if (anchor) expect(html, path).toContain(`id="${anchor}"`);
      if (plain.startsWith('/docs'))
        waiting.push(...addressesOf(html).filter((address) => address.startsWith('/docs') && !seen.has(address)));
    }
    expect(seen.size).toBeGreaterThan(150);
  });

  test('a search finds operations by path, summary and field, and shows the match', async () => {
    const find = async (query: string) => (await get(`/docs?q=${encodeURIComponent(query)}`)).text();
    const paths = (html: string) => [...html.matchAll(/class="path">([^<]+)</g)].map(([, path]) => path);
    expect(paths(await find('call_end'))).toContain('/call_end');
    expect(paths(await find('cachedInputTokens'))).toContain('/call_end');
    expect(paths(await find('CREDIT grant'))).toEqual(['/operator/organizations/{org}/customers/{customerId}/credits']);
    expect(await find('no such word at all')).toContain('Nothing says that');
  });

  test('the search text is escaped', async () => {
    const html = await (await get(`/docs?q=${encodeURIComponent('"><script>alert(1)</script>')}`)).text();
    expect(html).not.toContain('<script');
    expect(html).toContain('&lt;script&gt;');
  });

  test('it loads nothing from other origins, runs no script, and cannot be framed', async () => {
    for (const path of ['/docs', '/docs/beginCall', '/docs/schemas/Plan', '/docs/nothing']) {
      const response = await get(path);
      const policy = response.headers.get('Content-Security-Policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/script-src|unsafe/);
      expect(policy).toContain("frame-ancestors 'none'");
      const html = await response.text();
      expect(html).not.toMatch(/<script|style="|\son\w+=/);
      const loaded = [...html.matchAll(/<(?:link|img)[^>]*\s(?:src|href)="([^"]*)"/g)].map(
        ([, address]) => address ?? '',
      );
      for (const address of loaded.filter((known) => !known.startsWith(`${ORIGIN}/`))) {
        expect(address).toMatch(/^\/assets\//);
        expect((await get(address)).status, address).toBe(200);
      }
    }
  });

  test('an unknown page is 404, another method 405', async () => {
    for (const path of ['/docs/nothing', '/docs/schemas/Nothing', '/docs/schemas/constructor', '/docs/a/b/c'])
      expect((await get(path)).status).toBe(404);
    const response = await worker.fetch(`${ORIGIN}/docs`, { method: 'POST' });
    expect([response.status, response.headers.get('Allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('a page is answered 304 if its ETag matches', async () => {
    const etag = (await get('/docs/beginCall')).headers.get('ETag') ?? '';
    expect((await get('/docs/beginCall', { 'If-None-Match': etag })).status).toBe(304);
  });
});
