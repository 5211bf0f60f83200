/**
 * The public model page: it shows the lookup's answer, to anyone, at an address to share.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { modelKeyOf } from '../../src/catalog/model.ts';
import type { FullResolution } from '../../src/contract/model-lookup.ts';
import { worker } from '../support/worker.ts';

const ORIGIN = 'https://callmeter.test';
const get = (path: string, headers: Record<string, string> = {}) => worker.fetch(ORIGIN + path, { headers });
const text = async (path: string) => (await get(path)).text();

async function lookedUp(key: string): Promise<FullResolution> {
  return (await get(`/v1/model-alternatives/${key}`)).json() as Promise<FullResolution>;
}

/** The words of a page. */
function visibleWords(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&#39;/g, "'")
    .replaceAll(/\s+/g, ' ');
}

const retired = BUILT_IN_CATALOG.models.filter(
  ({ lifecycle }) => lifecycle.shutdownAt !== undefined && lifecycle.shutdownAt < '2026-01-01',
);
const slashed = BUILT_IN_CATALOG.models.filter(({ model }) => model.includes('.') || model.includes('/'));

describe('a page agrees with the lookup', () => {
  const some = [...retired.slice(0, 5), ...slashed.slice(0, 3), ...BUILT_IN_CATALOG.models.slice(0, 5)].map(modelKeyOf);

  test.each(some)('of %s', async (key) => {
    const { lifecycle, recommendedModelKey, pricing, warnings = [] } = await lookedUp(key);
    const html = await text(`/models/${key}`);
    const words = visibleWords(html).toLowerCase();
    expect(words).toContain(lifecycle.status.toLowerCase());
    for (const day of [lifecycle.announcedAt, lifecycle.shutdownAt])
      if (day) expect(html).toContain(`datetime="${day}"`);
    if (lifecycle.source) expect(html).toContain(`href="${lifecycle.source.url.replaceAll('&', '&amp;')}"`);
    if (recommendedModelKey)
      expect(html).toMatch(new RegExp(`Move to <a href="/models/[^"]+">${recommendedModelKey}</a>`));
    if (pricing) expect(words).toContain(pricing.snapshotId);
    for (const warning of warnings) expect(words).toContain(warning.toLowerCase());
  });
});

test('a page shows the cache rate in force, not the one before an announced change, and who may use the model', async () => {
  const words = visibleWords(await text('/models/anthropic/claude-sonnet-5-5'));
  expect(words).toMatch(/Cached input \$0\.10?\b/);
  const limited = visibleWords(await text('/models/openai/gpt-6-cyber'));
  expect(limited).toContain('Access needs an organization that OpenAI approved for Daybreak Red');
});

describe('prices and dates are plain', () => {
  test.each(['/models', '/models?q=anthropic%2F', '/models/openai/gpt-4-32k'])(
    'each price of the tables of %s has its unit in the head, and beside it if the row is a card',
    async (path) => {
      const html = await text(path);
      const heads = [...html.matchAll(/<th role="columnheader"[^>]*>(.*?)<\/th>/gs)].map(([, head = '']) =>
        visibleWords(head),
      );
      expect(heads.filter((head) => /^(Input|Output)/.test(head))).toEqual(
        heads.filter((head) => /^(Input|Output) USD per million tokens/.test(head)),
      );
      const labels = [...html.matchAll(/data-label="([^"]*)"[^>]*>\$/g)].map(([, label]) => label);
      expect(new Set(labels)).toEqual(new Set(['Input, USD per million tokens', 'Output, USD per million tokens']));
    },
  );

  test.each([
    ['openai/gpt-4-32k', ['Input $60.00 per million tokens', 'Output $120.00 per million tokens']],
    ['openai/whisper-1', ['Audio $0.006 per minute']],
    ['openai/tts-1', ['Characters $15.00 per million characters']],
    ['openai/gpt-image-2.6-sunburst', ['Image output $30.00 per million tokens']],
  ])('the price of %s has the unit of each of its rates', async (key, prices) => {
    const words = visibleWords(await text(`/models/${key}`));
    for (const price of prices) expect(words).toContain(price);
  });

  test.each(['/models', '/models?q=openai%2F', '/models/openai/gpt-4-32k', '/models/openai/whisper-1'])(
    'each date of %s is shown as in 23 Oct 2026, and has its day for programs',
    async (path) => {
      const times = [...(await text(path)).matchAll(/<time datetime="(\d{4}-\d\d-\d\d)"[^>]*>([^<]*)<\/time>/g)];
      expect(times.length).toBeGreaterThan(0);
      for (const [, day = '', shown = ''] of times) {
        expect(shown).toMatch(/^\d{1,2} [A-Z][a-z]{2,3} \d{4}$/);
        expect(new Date(`${shown.replace('Sept', 'Sep')} UTC`).toISOString().slice(0, 10)).toBe(day);
      }
    },
  );
});

test('every model of the catalog has its page', async () => {
  for (const key of BUILT_IN_CATALOG.models.map(modelKeyOf))
    expect((await get(`/models/${key}`)).status, key).toBe(200);
});

describe('the address of a page', () => {
  test('has a title, a description, a preview and one canonical link for every spelling', async () => {
    const [model] = retired;
    if (!model) throw new Error('the catalog has retired models');
    const home = `${ORIGIN}/models/${modelKeyOf(model)}`;
    for (const path of [
      `/models/${modelKeyOf(model)}`,
      `/models/${modelKeyOf(model)
        .toUpperCase()
        .replace(/^[^/]+/, model.provider)}`,
    ]) {
      const html = await text(path);
      expect(html).toContain(`<link rel="canonical" href="${home}"/>`);
      expect(html).toContain(`<meta property="og:url" content="${home}"/>`);
      expect(html).toMatch(/<title>[^<]+retired · Callmeter<\/title>/);
      expect(html).toMatch(/<meta name="description" content="[^"]+ is retired/);
      expect(html).toMatch(/<meta property="og:description" content="[^"]+"/);
      expect(html.indexOf('rel="canonical"')).toBeLessThan(html.indexOf('</head>'));
    }
  });

  test('may be cached like the lookup, and is answered 304 if its ETag matches', async () => {
    const page = await get('/models/openai/gpt-4o');
    const lookup = await get('/v1/model-alternatives/openai/gpt-4o');
    expect(page.headers.get('Cache-Control')).toMatch(/^public, max-age=\d+, stale-while-revalidate=\d+$/);
    expect(page.headers.get('Cache-Control')?.split(',')[1]).toBe(lookup.headers.get('Cache-Control')?.split(',')[1]);
    const again = await get('/models/openai/gpt-4o', { 'If-None-Match': page.headers.get('ETag') ?? '' });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});

describe('an unknown model', () => {
  test.each([
    ['/models/openai/gpt-4o-minni', 'gpt-4o-mini'],
    ['/models/openai/gpt-999-ultra', 'openai/gpt-'],
    ['/models/antropic/claude-3-opus', 'claude-3-opus'],
    ['/models/claude-3-opus', 'claude-3-opus'],
    ['/models/%E0%A4%A', ''],
  ])('%s is 404 with near matches', async (path, near) => {
    const response = await get(path);
    expect(response.status).toBe(404);
    const html = await response.text();
    expect(html).toContain('noindex');
    expect(html).not.toContain('rel="canonical"');
    if (near) expect([...html.matchAll(/href="(\/models\/[^"]+)"/g)].map(([, link]) => link).join(' ')).toContain(near);
  });

  test('is escaped in the page', async () => {
    const html = await text(`/models/openai/${encodeURIComponent('<script>alert(1)</script>')}`);
    expect(html).not.toContain('<script');
  });
});

describe('a search', () => {
  const found = async (query: string) =>
    [
      ...(await text(`/models?q=${encodeURIComponent(query)}`)).matchAll(/<th[^>]*><span><a href="\/models\/([^"]+)"/g),
    ].map(([, key]) => key);

  test('finds models that contain every word, an exact name first', async () => {
    expect((await found('gpt-4o'))[0]).toContain('gpt-4o');
    expect((await found('anthropic/')).length).toBe(
      BUILT_IN_CATALOG.models.filter(({ provider }) => provider === 'anthropic').length,
    );
    for (const key of await found('gemini flash')) expect(key).toMatch(/^google\//);
  });

  test('without a match shows the nearest names', async () => {
    expect(await found('cluade-3-opus')).toContainEqual(expect.stringContaining('claude-3-opus'));
    expect(await text('/models?q=qqqqqq')).toContain('No model is called “qqqqqq”.');
  });

  test('without text shows models that retire soon and new ones', async () => {
    const html = await text('/models');
    expect(html).toContain('Shutting down next');
    expect(html).toContain('Newest');
    expect((await get('/models?q=')).status).toBe(200);
  });
});

test('no script, nothing from other origins, and no other method', async () => {
  const response = await get('/models/openai/gpt-4o');
  expect(response.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
  expect(await response.text()).not.toMatch(/<script|style="/);
  expect((await worker.fetch(`${ORIGIN}/models/openai/gpt-4o`, { method: 'DELETE' })).status).toBe(405);
});
