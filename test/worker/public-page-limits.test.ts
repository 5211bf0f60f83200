/**
 * Public pages are free, so their cost is bounded: one address can have only so many made in a minute, and a page that
 * was made once serves everybody, in any spelling of its address.
 */
import { describe, expect, test, vi } from 'vitest';
import catalog from '../../src/catalog/models.json' with { type: 'json' };
import { worker } from '../support/worker.ts';

const ORIGIN = 'https://callmeter.test';
/** As in wrangler.toml. */
const LIMIT = 120;

const get = (address: string, path: string) =>
  worker.fetch(ORIGIN + path, { headers: { 'CF-Connecting-IP': address } });

/** Asks for pages that nobody has asked for until one is refused. */
async function untilLimited(address: string, path: (at: number) => string, limit = LIMIT) {
  for (let made = 0; made <= 2 * limit; made += 1) {
    const response = await get(address, path(made));
    if (response.status === 429) return { made, response };
    await response.arrayBuffer();
  }
  throw new Error('no page was refused');
}

describe('an address', () => {
  test.each([
    [LIMIT, 'searches for models', '198.51.100.60', (at: number) => `/models?q=gpt-${at}x`],
    [LIMIT, 'pages of models that are not there', '198.51.100.61', (at: number) => `/models/openai/none-${at}`],
    [1_200, 'lookups', '198.51.100.63', (at: number) => `/v1/model-alternatives/openai/gpt-4o?inputTokens=${at + 1}`],
    [LIMIT, 'searches of the reference', '198.51.100.62', (at: number) => `/docs?q=meter${at}`],
  ])('has %d %s made in a minute, and keeps what is there', async (limit, _, address, path) => {
    expect((await get('198.51.100.70', '/models')).status).toBe(200);
    const { made, response } = await untilLimited(address, path, limit);
    // A minute of the limit may have ended on the way.
    expect(made).toBeGreaterThanOrEqual(limit);
    expect(response.headers.get('Retry-After')).toBe('60');
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(await response.text()).toMatch(/too many (?:public pages|lookups)/);
    expect((await get(address, '/models')).status).toBe(200);
    expect((await get(address, '/docs')).status).toBe(200);
    expect((await get('198.51.100.71', path(5_000))).status).not.toBe(429);
  });

  test('gets the page of every listed model', async () => {
    for (const { provider, model } of catalog) {
      const response = await get('198.51.100.64', `/models/${provider}/${encodeURIComponent(model)}`);
      expect([model, response.status]).toEqual([model, 200]);
      await response.arrayBuffer();
    }
  });

  test('without a number is not limited', async () => {
    for (let at = 0; at <= LIMIT; at += 1)
      expect((await worker.fetch(`${ORIGIN}/models?q=nobody-${at}`)).status).toBe(200);
  });
});

describe('what means the same is made once', () => {
  let host = 80;

  test.each([
    [
      '/models?q=claude+opus',
      ['/models?q=Claude%20%20OPUS', '/models?x=1&q=claude+opus', '/models?q=claude+opus&y=2&z'],
    ],
    ['/models', ['/models?q=', '/models?q=%20', '/models?random=0.1', '/models?utm_source=a&random=2']],
    ['/models/openai/gpt-4o', ['/models/openai/gpt-4o?x=1', '/models/openai%2Fgpt-4o', '/models/openai/gpt%2D4o?q=2']],
    ['/docs?q=webhook', ['/docs?q=WEBHOOK', '/docs?a=1&q=webhook%20', '/docs?q=webhook&b']],
  ])('%s', async (path, others) => {
    host += 1;
    const address = `198.51.100.${host}`;
    const first = await get(address, path);
    expect(first.status).toBe(200);
    const html = await first.text();
    // From here on the address can have nothing made.
    await untilLimited(address, (at) => `/models/openai/none-${at}`);
    for (const other of others) {
      const again = await get(address, other);
      expect([again.status, other]).toEqual([200, other]);
      expect(await again.text()).toBe(html);
    }
  });
});

test('the lookup answers what means the same from one answer', async () => {
  const resolve = vi.spyOn(await import('../../src/catalog/resolution.ts'), 'resolveKey');
  const asked = '/v1/model-alternatives/openai/gpt-4o';
  for (const query of ['', '?x=1', '?y=2&response=full', '?purpose=upgrade&inputTokens=8000', '?inputTokens=8e3'])
    expect((await worker.fetch(ORIGIN + asked + query)).status).toBe(200);
  expect(resolve.mock.calls.length).toBeLessThanOrEqual(1);
});
