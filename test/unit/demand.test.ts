/**
 * What a request can make its vendor bill: cases that a table of fields alone does not show.
 */
import { expect, test } from 'vitest';
import { extrasOf } from '../../src/demand/demand.ts';
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
