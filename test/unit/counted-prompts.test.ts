/**
 * Promise: the known bound of a prompt from its vendor's earlier counts is never below the vendor's count, whatever
 * requests came before; and only requests of the same customer that begin alike share counts.
 */

import fc from 'fast-check';
import { get_encoding } from 'tiktoken';
import { describe, expect, test } from 'vitest';
import { boundedRequest } from '../../src/gateway/demand/call-bound.ts';
import { SEAM_TOKENS } from '../../src/gateway/demand/conversation.ts';
import {
  BEGINNINGS_MAX,
  type FollowedPrompt,
  followedPrompts,
} from '../../src/gateway/service-calls/counted-prompts.ts';
import type { Fields } from '../../src/vendors/usage/figures.ts';
import { customerKey } from '../support/ids.ts';

const ENV = { VENDOR_KEY_SECRET: 'property-vendor-key-secret-of-32-characters' };
const PRICE = {
  available: true,
  card: {
    ...{ snapshotId: 's', modelKey: 'openai/m', effectiveFrom: null, source: 'test', catalogVersion: '1' },
    rates: [
      { component: 'input', nanoUsdPerMillion: '2000000000' },
      { component: 'output', nanoUsdPerMillion: '10000000000' },
    ],
  },
} as never;
const encoding = get_encoding('o200k_base');

/** The whole prompt as one text, so that a token may reach from one message into the next. */
const countPromptTokens = ({ messages, tools }: Body) =>
  encoding.encode(
    `${JSON.stringify(tools ?? [])}${messages.map(({ role, content }) => `${role}:${content}\n`).join('')}assistant:`,
    [],
    [],
  ).length;

interface Body extends Fields {
  messages: { role: string; content: string }[];
  tools?: unknown;
}

async function follow(
  body: Body,
  { customerId = 'c', beta = 'b', env = ENV as object } = {},
): Promise<{ prompt: FollowedPrompt | null; bound: number }> {
  const asked = { provider: 'openai', kind: 'openai', model: 'm', path: 'chat/completions', body } as const;
  const terms = { price: PRICE, limits: {}, tier: null, onDowngrade: false, inSteps: false, asIs: false };
  const opened = { allowUnpricedModels: false, creditOpen: [] };
  const bounded = boundedRequest({ ...asked, ...terms }, 'standard', opened);
  const attempts = [{ ...bounded, kind: 'openai' as const, terms: ['openai', beta] }];
  const [prompt] = await followedPrompts(env, {
    ...{ ...customerKey('o', customerId), path: 'chat/completions', body, attempts },
  });
  return { prompt: prompt ?? null, bound: bounded.bound.prompt?.tokens ?? 0 };
}

const known = (memory: ReadonlyMap<string, number>, prompt: FollowedPrompt | null): number | null => {
  const bounds = (prompt?.beginnings ?? []).flatMap(([digest, more]) => {
    const tokens = memory.get(digest);
    return tokens === undefined ? [] : [tokens + more];
  });
  return bounds.length === 0 ? null : Math.min(...bounds);
};

const TEXT = fc.oneof(
  fc.lorem({ maxCount: 30 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(' ', '\n', 'a', 'aa', '\t', '-', '7'), maxLength: 60 }),
);
const MESSAGE = fc.record({ role: fc.constantFrom('user', 'assistant', 'tool', 'system'), content: TEXT });
/** Long enough to be followed. */
const OPENING = { role: 'user', content: 'The house style is short sentences. '.repeat(150) };
const CHANGE = fc.oneof(
  { weight: 6, arbitrary: fc.record({ append: fc.array(MESSAGE, { minLength: 1, maxLength: 4 }) }) },
  fc.record({ edit: MESSAGE, at: fc.nat(20) }),
  fc.record({ cut: fc.nat(20) }),
  fc.record({ tools: fc.constantFrom(undefined, [{ type: 'function', function: { name: 'read' } }]) }),
);

function changed(
  body: Body,
  change: Partial<{
    append: Body['messages'];
    edit: Body['messages'][number];
    at: number;
    cut: number;
    tools: unknown;
  }>,
): Body {
  const { messages } = body;
  if (change.append) return { ...body, messages: [...messages, ...change.append] };
  const { edit, at = 0, cut } = change;
  if (edit)
    return { ...body, messages: messages.map((message, n) => (n === 1 + (at % messages.length) ? edit : message)) };
  if (cut !== undefined) return { ...body, messages: messages.slice(0, 1 + (cut % messages.length)) };
  const { tools: _tools, ...rest } = body;
  return (change.tools === undefined ? rest : { ...rest, tools: change.tools }) as Body;
}

test('whatever was asked before, what is known is at least what the vendor counts', async () => {
  let hits = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(CHANGE, { minLength: 2, maxLength: 12 }), async (changes) => {
      const memory = new Map<string, number>();
      let body: Body = { messages: [OPENING] };
      for (const change of changes) {
        body = changed(body, change);
        const tokens = countPromptTokens(body);
        const { prompt, bound } = await follow(body);
        const atMost = known(memory, prompt);
        if (atMost !== null) hits += 1;
        expect(Math.min(bound, atMost ?? bound)).toBeGreaterThanOrEqual(tokens);
        if (prompt) memory.set(prompt.whole, Math.max(tokens, memory.get(prompt.whole) ?? 0));
      }
    }),
    { numRuns: 150 },
  );
  expect(hits).toBeGreaterThan(100);
});

describe('who knows of a prompt', () => {
  const start: Body = { messages: [OPENING] };
  const more: Body = {
    messages: [OPENING, { role: 'assistant', content: 'yes' }, { role: 'user', content: 'go on' }],
  };
  const knows = async (body: Body, by: Parameters<typeof follow>[1] = {}) => {
    const counted = (await follow(start)).prompt;
    if (!counted) throw new Error('the prompt is followed');
    return known(new Map([[counted.whole, 1_000]]), (await follow(body, by)).prompt) !== null;
  };

  test('one that goes on, and no other customer, header, secret or deployment without a secret', async () => {
    expect(await knows(more)).toBe(true);
    expect(await knows(more, { customerId: 'd' })).toBe(false);
    expect(await knows(more, { beta: 'c' })).toBe(false);
    expect(await knows(more, { env: { VENDOR_KEY_SECRET: 'another secret' } })).toBe(false);
    expect(await knows(more, { env: {} })).toBe(false);
    expect(await knows({ ...more, temperature: 1 })).toBe(false);
  });

  test('none whose speaker goes on: its vendor may make one message of two', async () => {
    expect(await knows({ messages: [OPENING, { role: 'user', content: 'go on' }] })).toBe(false);
  });

  test('none with content that may change where it is, or that is loaded later', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const later = { type: 'function', function: { name: 'read' }, defer_loading: true };
    for (const body of [{ ...start, tools: [later] }, { messages: [OPENING, { role: 'user', content: [image] }] }])
      expect((await follow(body as never)).prompt).toBe(null);
  });

  test('numbers may come in another spelling, and one of any number of digits is not followed', async () => {
    const called = (line: number): Body => ({
      messages: [
        OPENING,
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'c', function: { name: 'f', parsed_arguments: { line } } }],
        } as never,
      ],
    });
    const more = async (line: number) => (await follow(called(line))).prompt?.beginnings.at(-1)?.[1] ?? null;
    expect(await more(7)).toBe(SEAM_TOKENS + 4);
    for (const line of [2 ** 53, 1e300, Number.POSITIVE_INFINITY]) expect(await more(line)).toBe(null);
  });

  test('the object is told the longest beginnings, 64 at most', async () => {
    const turn = (n: number) => [
      { role: 'assistant', content: `${n}` },
      { role: 'user', content: `${n}` },
    ];
    const { prompt } = await follow({ messages: [OPENING, ...Array.from({ length: 100 }, (_, n) => turn(n)).flat()] });
    expect(prompt?.beginnings).toHaveLength(BEGINNINGS_MAX);
    expect(prompt?.beginnings.at(-1)?.[0]).toBe(prompt?.whole);
    const follows = (prompt?.beginnings ?? []).map(([, tokens]) => tokens);
    expect(follows).toEqual(follows.toSorted((a, b) => b - a));
  });
});
