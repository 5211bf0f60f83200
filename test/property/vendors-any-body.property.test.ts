/**
 * Whatever JSON a caller or a vendor sends, it is read without an exception: members with the names that the readers look
 * for may hold anything, objects with a `toString` of their own among them.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callBound } from '../../src/gateway/demand/call-bound.ts';
import { withOutputBound } from '../../src/gateway/demand/output.ts';
import { madeSafe } from '../../src/gateway/demand/safe.ts';
import { generateContent } from '../../src/gateway/dialects/generate-content.ts';
import { messages } from '../../src/gateway/dialects/messages.ts';
import { requestedCapabilities } from '../../src/vendors/capabilities.ts';
import { readFailure, readSearches, readUsage, StreamUsage } from '../../src/vendors/usage.ts';
import { WrittenTokens, writtenTokens } from '../../src/vendors/written-tokens.ts';
import { rateCard } from '../support/rate-cards.ts';

const NAMES = [
  ...['type', 'object', 'status', 'usage', 'choices', 'candidates', 'content', 'message', 'delta', 'error', 'index'],
  ...['model', 'messages', 'contents', 'parts', 'input', 'output', 'tools', 'function', 'name', 'text', 'source'],
  ...['image_url', 'input_audio', 'format', 'file', 'file_data', 'media_type', 'inlineData', 'mimeType', 'data'],
  ...[
    'max_tokens',
    'n',
    'thinking',
    'budget_tokens',
    'generationConfig',
    'thinkingConfig',
    'thinkingLevel',
    'modalities',
  ],
  ...[
    'executed_tools',
    'prompt_tokens',
    'input_tokens',
    'usageMetadata',
    'promptTokenCount',
    'stop_reason',
    'response',
  ],
];
const TYPES = [
  ...['message', 'message_start', 'message_delta', 'content_block_start', 'content_block_delta', 'response.completed'],
  ...['response', 'chat.completion.chunk', 'function', 'builtin_function', 'image_url', 'input_audio', 'file', 'image'],
  ...['document', 'input_file', 'base64', 'web_search_20250305', 'error', 'enabled', 'HIGH', 'completed'],
];
const { body: json } = fc.letrec<{ body: Record<string, unknown>; value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...TYPES, null, true, -1, 0.5, 7, ''),
    fc.record({ toString: fc.constant(1), valueOf: fc.constant(null) }),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('body'),
  ),
  body: fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 6 }),
}));

const TERMS = { model: 'm', effort: 'low', ceiling: 'low', outputTokensMax: undefined, addsUsage: true } as const;

const PRICE = { available: true, card: rateCard({ input: '1000000', output: '1000000' }) } as const;
const NOTHING_OPEN = { allowUnpricedModels: false, creditOpen: [] };

test('a tool whose type is no text', () => {
  for (const type of [{ toString: 1, valueOf: 1 }, ['web_search'], 7, null]) {
    const body = { tools: [{ type }] };
    for (const endpoint of ['chat', 'responses', 'messages'] as const)
      for (const kind of ['openai', 'anthropic'] as const)
        expect(madeSafe(body, endpoint, kind).body.tools).toEqual([{ type }]);
  }
});

test('a request', () => {
  fc.assert(
    fc.property(json, fc.constantFrom('openai', 'anthropic', 'google', 'compatible'), (body, kind) => {
      requestedCapabilities({ model: 'm', body });
      for (const path of ['chat/completions', 'responses', 'messages', ':generateContent', 'images/edits', 'rerank']) {
        const asked = { provider: 'p', kind, model: 'm', path, body, price: PRICE, limits: {}, asIs: false };
        const bound = callBound({ ...asked, tier: null, onDowngrade: false, inSteps: true }, 'standard', NOTHING_OPEN);
        expect(BigInt(bound.cost?.inputNanoUsd ?? 0)).toBeGreaterThan(0n);
        withOutputBound(body, { kind, path }, 10);
      }
      for (const endpoint of ['chat', 'responses', 'messages'] as const) madeSafe(body, endpoint, kind);
      const contents = { contents: [], ...body };
      generateContent.effortAsked(contents);
      generateContent.vendorBody(contents, TERMS);
      const request = { model: 'm', messages: [] };
      messages.vendorBody(request, TERMS);
    }),
    { numRuns: 2_000 },
  );
});

test('an answer, whole or as the event of a stream', () => {
  fc.assert(
    fc.property(fc.array(json, { minLength: 1, maxLength: 4 }), (bodies) => {
      for (const body of [...bodies, bodies]) {
        readUsage(body);
        readFailure(body);
        readSearches(body);
        expect(writtenTokens(body, 'compatible', 'm')).toBeGreaterThanOrEqual(0);
      }
      const usage = new StreamUsage({ written: new WrittenTokens('compatible', 'm') });
      for (const body of bodies) usage.read({ data: JSON.stringify(body) });
      usage.usage();
      usage.partial();
      expect(usage.outputTokens).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 2_000 },
  );
});
