/**
 * Promise: a vendor's counter gets only fields that it takes, by the types of the vendors' installed SDKs, and the
 * whole prompt; or it gets nothing.
 */
import { describe, expect, test } from 'vitest';
import { askCounter, countRequest, isCounted, type PromptToCount } from '../../src/vendors/prompt-counter.ts';
import { membersOf, sdkType } from '../support/sdk-types.ts';

const ANTHROPIC = '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts';
const OPENAI = 'openai/resources/responses';

const namesOf = (path: string, type: string) => [...membersOf(sdkType(path, type)).keys()];

function toCount(more: Partial<PromptToCount> = {}): PromptToCount {
  return { kind: 'anthropic', url: 'https://api.anthropic.com/v1/messages', headers: {}, body: {}, ...more };
}
const countBody = (request: PromptToCount) => {
  const asked = countRequest(request);
  return asked && (JSON.parse(asked.body) as Record<string, unknown>);
};

/** Members of a prompt that a counter could take, and is not sent: with them, nothing is asked. */
const NOT_ASKED: Record<string, readonly string[]> = {
  anthropic: [
    'billing_policy',
    'compaction',
    'container',
    'diagnostics',
    'fallback_credit_token',
    'fallbacks',
    'mcp_servers',
    'thread',
    'user_profile_id',
    'workspace_id',
    'betas',
  ],
  openai: [
    'access_programs',
    'context_management',
    'conversation',
    'image',
    'moderation',
    'previous_response_id',
    'prompt',
  ],
};

describe.each([
  [
    'anthropic',
    'https://api.anthropic.com/v1/messages',
    ANTHROPIC,
    'MessageCreateParamsBase',
    ANTHROPIC,
    'MessageCountTokensParams',
  ],
  [
    'openai',
    'https://api.openai.com/v1/responses',
    `${OPENAI}/responses.d.ts`,
    'ResponseCreateParamsBase',
    `${OPENAI}/input-tokens.d.ts`,
    'InputTokenCountParams',
  ],
] as const)('each field of a request to %s', (kind, url, path, request, counterPath, counter) => {
  const taken = namesOf(counterPath, counter);

  test.each(namesOf(path, request))(
    '%s is taken by the counter, adds nothing to a prompt, or is asked for by nobody',
    (name) => {
      const body = countBody(toCount({ kind, url, body: { model: 'm', [name]: 'x' } }));
      expect(body === null).toBe(NOT_ASKED[kind]?.includes(name));
      for (const sent of Object.keys(body ?? {})) expect(taken).toContain(sent);
    },
  );

  test('a field that nobody knows is sent to no counter', () => {
    expect(countBody(toCount({ kind, url, body: { model: 'm', from_tomorrow: 1 } }))).toBeNull();
  });
});

test('Google is sent the whole request, with the model that its path names', () => {
  const body = { contents: [{ parts: [{ text: 'x' }] }], systemInstruction: { parts: [{ text: 'y' }] } };
  const url = 'https://generativelanguage.googleapis.com/v1beta/models/gemini%2Dx:streamGenerateContent?alt=sse&key=k';
  const asked = countRequest(toCount({ kind: 'google', url, body }));
  expect(asked?.url).toBe('https://generativelanguage.googleapis.com/v1beta/models/gemini%2Dx:countTokens?key=k');
  expect(JSON.parse(asked?.body ?? '')).toEqual({ generateContentRequest: { ...body, model: 'models/gemini-x' } });
});

test.each([
  ['anthropic', 'https://api.anthropic.com/v1/messages/batches'],
  ['anthropic', 'https://api.anthropic.com/v1/chat/completions'],
  ['google', 'https://generativelanguage.googleapis.com/v1beta/models/x:embedContent'],
  ['openai', 'https://api.openai.com/v1/chat/completions'],
  ['azure', 'https://x.openai.azure.com/openai/v1/responses'],
  ['compatible', 'https://vendor.example.com/v1/messages'],
] as const)('%s does not count what is asked at %s', (kind, url) => {
  expect(isCounted(kind, url)).toBe(false);
  expect(countRequest(toCount({ kind, url }))).toBeNull();
});

test.each<[PromptToCount['kind'], string, object]>([
  [
    'anthropic',
    'v1/messages',
    { messages: [{ content: [{ type: 'image', source: { type: 'url', url: 'https://x' } }] }] },
  ],
  ['openai', 'v1/responses', { input: [{ content: [{ type: 'input_image', image_url: 'https://x' }] }] }],
])('what %s would fetch may change until it answers, and is not counted', (kind, path, body) => {
  expect(countRequest(toCount({ kind, url: `https://vendor.example.com/${path}`, body: { ...body } }))).toBeNull();
});

describe('a count', () => {
  const count = (kind: PromptToCount['kind'], url: string, answer: object) => {
    const asked = countRequest(toCount({ kind, url }));
    if (!asked) throw new Error('the vendor counts such requests');
    return askCounter(asked, 1_000, async () => Response.json(answer));
  };

  test.each([
    ['anthropic', 'https://x.example.com/messages', { input_tokens: 1_000 }, 1_084],
    ['google', 'https://x.example.com/models/m:generateContent', { totalTokens: 1_001 }, 1_001 + 64 + 21],
    ['openai', 'https://x.example.com/responses', { input_tokens: 1_000 }, 1_000],
  ] as const)('of %s has a margin if its provider calls it an estimate', async (kind, url, answer, atMost) => {
    expect((await count(kind, url, answer))?.atMost).toBe(atMost);
  });

  test.each([
    [{}],
    [{ input_tokens: '5' }],
    [{ input_tokens: 1.5 }],
    [{ input_tokens: 0 }],
    [{ input_tokens: 2 ** 60 }],
  ])('that is no number of tokens is none: %j', async (answer) => {
    expect(await count('anthropic', 'https://x.example.com/messages', answer)).toBeNull();
  });
});
