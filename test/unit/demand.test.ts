/**
 * What a request can make its vendor bill: cases that a table of fields alone does not show.
 */
import { describe, expect, test } from 'vitest';
import { CREDIT_OPEN_MAX } from '../../src/contract/credit-open.ts';
import { extrasOf, USES_OF_SEARCH_MODEL } from '../../src/demand/demand.ts';
import { madeSafe } from '../../src/demand/safe.ts';
import { outputTokensOnCredit } from '../../src/domain/hold.ts';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import { plan } from './fixtures.ts';

const at = (kind: VendorKind, path: string, body: Record<string, unknown>) =>
  extrasOf({ kind, model: 'm', path, body, asIs: false });

test('a bound of all tools is trusted only at kinds of vendors that are known to keep it', () => {
  const body = { input: 'x', tools: [{ type: 'web_search' }], max_tool_calls: 3 };
  expect(at('openai', 'responses', body)).toMatchObject({ uses: { webSearch: 3 }, open: [] });
  for (const kind of ['compatible', 'openrouter', 'vertex'] as const)
    expect(at(kind, 'responses', body).open).toMatchObject([{ code: 'BOUND_UNKNOWN', component: 'webSearch' }]);
});

test('a service tier in two spellings is both', () => {
  const body = { contents: [], serviceTier: 'standard', service_tier: 'priority' };
  expect(at('google', ':generateContent', body).serviceTiers).toEqual(expect.arrayContaining(['standard', 'priority']));
});

test("xAI's live search is bounded by its sources, and costs nothing if it is off", () => {
  const search = (parameters: object) => at('compatible', 'chat/completions', { search_parameters: parameters });
  expect(search({ mode: 'on', max_search_results: 7 }).uses).toEqual({ webSearch: 7 });
  expect(search({ mode: 'on' }).open).toMatchObject([{ component: 'webSearch', param: 'search_parameters' }]);
  expect(search({ mode: 'off' })).toMatchObject({ uses: {}, open: [] });
});

test('rejected tokens of a prediction are output besides the answer, at most as many as its bytes', () => {
  const prediction = { type: 'content', content: [{ type: 'text', text: 'né' }] };
  expect(at('openai', 'chat/completions', { messages: [], prediction }).outputBeside).toBeGreaterThanOrEqual(3);
});

test('the bound of a plan lowers what is held only if it can be sent', () => {
  const content = plan({ payg: { enabled: true, markupPercent: 0, maxOutputTokens: 100 } });
  expect(outputTokensOnCredit({ outputTokens: 4_000 }, content)).toBe(100);
  expect(outputTokensOnCredit({ outputTokens: 4_000, cannotBeLowered: true }, content)).toBe(4_000);
});

describe('what a request hides is not let through', () => {
  const open = (kind: VendorKind, path: string, body: Record<string, unknown>) =>
    at(kind, path, body).open.map(({ component, param }) => `${component} ${param ?? ''}`);
  const text = { type: 'text', text: 'x' };

  test('behind more places than are read', () => {
    const marked = (ttl: string) => ({ ...text, cache_control: { type: 'ephemeral', ttl } });
    const content = [...Array.from({ length: 10_000 }, () => marked('5m')), marked('1h')];
    const found = open('anthropic', 'messages', { messages: [{ role: 'user', content }] });
    expect(found).toEqual([
      'field:messages/messages.*.content.*.cache_control.ttl messages.0.content.10000.cache_control.ttl',
    ]);
  });

  test('behind more unknown fields than an organization can open', () => {
    const messages = Array.from({ length: 500 }, () => ({ role: 'user', content: 'x', opened: 1 }));
    expect(open('openai', 'chat/completions', { messages, closed: 1 })).toEqual([
      'field:chat/messages.*.opened messages.0.opened',
      'field:chat/closed closed',
    ]);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x${index}`, 1]));
    expect(new Set(open('openai', 'chat/completions', many)).size).toBeGreaterThan(CREDIT_OPEN_MAX);
  });

  test('behind a path that begins as one that is opened', () => {
    const name = 'x'.repeat(200);
    const [found = ''] = open('openai', 'chat/completions', { [`${name}y`]: 1 });
    expect(found).not.toContain(`field:chat/${name} `);
  });

  test.each([
    ['answers that are no plain count', 'compatible', 'chat/completions', { n: '1_0' }, 'answers n'],
    ['the name of a list in a form', 'openai', 'chat/completions', { 'n[]': 9 }, 'field:chat/n[] n[]'],
    [
      'a lifetime in the cache that nobody knows',
      'anthropic',
      'messages',
      { cache_control: { ttl: '7d' } },
      'cacheWrite cache_control.ttl',
    ],
    [
      'a count that stands above the bound that is sent',
      'compatible',
      'chat/completions',
      { n_predict: 9 },
      'field:chat/n_predict n_predict',
    ],
    [
      'a stored prompt, which brings its own tools',
      'openai',
      'responses',
      { prompt: { id: 'p' } },
      'storedPrompt prompt',
    ],
    [
      'content in a text to embed',
      'compatible',
      'embeddings',
      { input: [{ image: 'x' }] },
      'field:embeddings/input input',
    ],
  ] as const)('%s', (_, kind, path, body, found) => {
    expect(open(kind, path, body)).toEqual([found]);
  });

  test.each([
    ['sound', { contents: { parts: [{ inlineData: { mimeType: 'application/ogg', data: 'x' } }] } }, 'audioInput'],
    [
      'sound in the second spelling',
      { contents: { parts: [{ inlineData: { mimeType: 'audio/wav', mime_type: 'text/plain', data: 'x' } }] } },
      'audioInput',
    ],
    ['one kind of answer', { generationConfig: { responseModalities: 'IMAGE' } }, 'imageOutput'],
  ])('%s needs its rate', (_, body, component) => {
    expect(at('google', ':generateContent', body).rates.flatMap(({ of }) => of)).toContain(component);
  });

  test('a word in the place of a search tool', () => {
    const body = { tools: [{ googleSearch: false }] };
    expect(at('google', ':generateContent', body).open).toMatchObject([{ component: 'webSearch' }]);
  });

  test('a search beside one that is off', () => {
    const body = { search_parameters: { mode: 'off' }, web_search_options: {} };
    expect(at('compatible', 'chat/completions', body).uses).toEqual({ webSearch: USES_OF_SEARCH_MODEL });
  });

  test('the number of pictures in a form, and speech in a list', () => {
    expect(at('openai', 'images/edits', { n: '10' }).uses).toEqual({ images: 10 });
    expect(at('compatible', 'audio/speech', { input: ['abc', 'de'] }).uses).toEqual({ characters: 5 });
  });

  test('a service tier that is no word is replaced by the standard one', () => {
    for (const service_tier of ['', false, []])
      expect(madeSafe({ service_tier }, 'chat', 'openai').body).toEqual({ service_tier: 'default' });
  });
});
