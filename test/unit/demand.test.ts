/**
 * The uses that a request can make its vendor bill: cases that a table of fields alone does not show.
 */
import { describe, expect, test } from 'vitest';
import { CREDIT_OPEN_MAX } from '../../src/contract/credit-open.ts';
import { outputTokensOnCredit } from '../../src/domain/hold.ts';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import { findExtras, USES_OF_SEARCH_MODEL } from '../../src/gateway/demand/demand.ts';
import { madeSafe } from '../../src/gateway/demand/safe.ts';
import { plan } from './fixtures.ts';

const at = (kind: VendorKind, path: string, body: Record<string, unknown>) =>
  findExtras({ kind, model: 'm', path, body, asIs: false });

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

describe('the cache', () => {
  const TEXT = { type: 'text', text: 'x' };
  const caches = (
    body: Record<string, unknown>,
    address = 'https://api.anthropic.com/v1',
    kind: VendorKind = 'anthropic',
  ) =>
    findExtras({ kind, model: 'm', path: 'messages', body, address, asIs: false }).input.filter((name) =>
      name.startsWith('cache'),
    );
  const ephemeral = { cache_control: { type: 'ephemeral' } };
  const USED = ['cachedInput', 'cacheWrite'];

  test('of Anthropic is used only if the request has a mark, wherever it is', () => {
    const plain = { messages: [{ role: 'user', content: 'x' }] };
    expect(caches(plain)).toEqual([]);
    const said = (content: object[]) => ({ messages: [{ role: 'user', content }] });
    for (const marked of [
      { ...plain, ...ephemeral },
      { ...plain, system: [{ ...TEXT, ...ephemeral }] },
      { ...plain, tools: [{ name: 'f', input_schema: {}, ...ephemeral }] },
      said([{ ...TEXT, ...ephemeral }]),
      said([{ type: 'tool_result', tool_use_id: 't', content: [{ ...TEXT, ...ephemeral }] }]),
      said([{ type: 'document', source: { type: 'content', content: [{ ...TEXT, ...ephemeral }] } }]),
    ])
      expect(caches(marked)).toEqual(USED);
  });

  test('keeps text for an hour only if the request says so', () => {
    expect(caches({ ...ephemeral })).toEqual(USED);
    expect(caches({ cache_control: { type: 'ephemeral', ttl: '5m' } })).toEqual(USED);
    expect(caches({ cache_control: { type: 'ephemeral', ttl: '1h' } })).toEqual([...USED, 'cacheWrite1h']);
  });

  test("may be used if Anthropic's own tools run, if something is not known, and behind other addresses", () => {
    expect(caches({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }] })).toEqual(USED);
    expect(caches({ messages: [], unheard_of: 1 })).toEqual(USED);
    expect(caches({ messages: [] }, 'https://proxy.example/v1')).toEqual(USED);
    expect(caches({ messages: [] }, 'https://openrouter.ai/api/v1', 'openrouter')).toEqual(USED);
  });
});

describe('a region', () => {
  const isPossible = (kind: VendorKind, address: string, body: Record<string, unknown> = {}, model = 'm') =>
    findExtras({
      kind,
      model,
      path: kind === 'anthropic' ? 'messages' : 'chat/completions',
      body,
      address,
      asIs: false,
    }).anyRegion;

  test('is possible at Anthropic only if the request asks for one, or for another workspace', () => {
    const at = (body: Record<string, unknown>) => isPossible('anthropic', 'https://api.anthropic.com/v1', body);
    expect([{}, { inference_geo: 'global' }, { inference_geo: null }].map(at)).toEqual([false, false, false]);
    expect([{ inference_geo: 'us' }, { inference_geo: ['us'] }, { workspace_id: 'w' }].map(at)).toEqual([
      true,
      true,
      true,
    ]);
    expect(at({ unheard_of: 1 })).toBe(true);
  });

  test.each<[VendorKind, string, boolean, string?]>([
    ['openai', 'https://api.openai.com/v1', false],
    ['openai', 'https://eu.api.openai.com/v1', true],
    ['google', 'https://generativelanguage.googleapis.com/v1beta', false],
    ['vertex', 'https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi', false],
    ['vertex', 'https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/endpoints/openapi', true],
    ['bedrock', 'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1', false, 'global.anthropic.claude-sonnet-5'],
    ['bedrock', 'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1', true, 'us.anthropic.claude-sonnet-5'],
    ['azure', 'https://r.openai.azure.com/openai/v1', true],
    ['openrouter', 'https://openrouter.ai/api/v1', true],
    ['anthropic', 'https://proxy.example/v1', true],
    ['compatible', 'https://api.anthropic.com/v1', true],
  ])('of %s at %s: %s', (kind, address, expected, model) => {
    expect(isPossible(kind, address, {}, model)).toBe(expected);
  });
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
      'field:messages/messages.*.content.*.cache_control messages.0.content.10000.cache_control',
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
