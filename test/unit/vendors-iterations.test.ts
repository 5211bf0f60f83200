/**
 * Promise: all that the iterations in Anthropic's usage bill is read, each at the model that ran it, whole and streamed.
 * The examples are Anthropic's own: the advisor tool's and the fallback's pages.
 */
import { describe, expect, test } from 'vitest';
import { PARTS_MAX } from '../../src/domain/usage-sum.ts';
import { readUsage, StreamUsage, type VendorUsage } from '../../src/vendors/usage.ts';

const NONE = { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const run = (type: string, input: number, output: number, more: object = {}) => ({
  ...{ type, input_tokens: input, output_tokens: output, ...NONE },
  ...more,
});
const fallback = (from: string, to: string, category?: string | null) => ({
  ...{ type: 'fallback', from: { model: from }, to: { model: to } },
  trigger: { type: 'refusal', ...(category !== undefined && { category }) },
});
const text = { type: 'text', text: 'Yes.' };

interface Answer {
  model: string;
  usage: object;
  content?: object[];
}

const whole = ({ model, usage, content = [text] }: Answer) =>
  readUsage({ type: 'message', role: 'assistant', model, content, usage });

/** The same as a stream, which begins as `asked`. */
function streamed({ usage, content = [text] }: Answer, asked: string, isCut = false) {
  const events = [
    { type: 'message_start', message: { type: 'message', model: asked, usage: run('', 7, 1), content: [] } },
    ...content.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
  const stream = new StreamUsage();
  for (const event of isCut ? events.slice(0, -2) : events)
    stream.push(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  stream.end();
  return stream.usage();
}

function figures(reported: ReturnType<typeof whole>) {
  if (reported === null) return reported;
  const short = ({ modelUsed, inputTokens, cachedInputTokens, responseTokens }: VendorUsage) => [
    modelUsed,
    inputTokens,
    cachedInputTokens,
    responseTokens,
  ];
  return [short(reported), ...(reported.parts ?? []).map(short)];
}

const cases: [string, Answer, string, unknown][] = [
  [
    'an advisor is a part at its own model; the totals have the input of the first iteration alone',
    {
      model: 'claude-haiku-5-5',
      usage: {
        ...{ input_tokens: 412, output_tokens: 531, ...NONE },
        iterations: [
          run('message', 412, 89),
          run('advisor_message', 823, 1612, { model: 'claude-fable-5' }),
          run('message', 1348, 442, { cache_read_input_tokens: 412 }),
        ],
      },
    },
    'claude-haiku-5-5',
    [
      ['claude-haiku-5-5', 412 + 1348 + 412, 412, 531],
      ['claude-fable-5', 823, 0, 1612],
    ],
  ],
  [
    'an attempt that wrote before it declined is a part at its own model',
    {
      model: 'claude-opus-4-8',
      content: [text, fallback('claude-fable-5', 'claude-opus-4-8', 'cyber'), text],
      usage: {
        ...{ input_tokens: 2, output_tokens: 13_658, ...NONE, cache_read_input_tokens: 79_214 },
        iterations: [
          run('message', 2, 578, { model: 'claude-fable-5', cache_creation_input_tokens: 10_421 }),
          run('fallback_message', 2, 13_658, { model: 'claude-opus-4-8', cache_read_input_tokens: 79_214 }),
        ],
      },
    },
    'claude-fable-5',
    [
      ['claude-opus-4-8', 79_216, 79_214, 13_658],
      ['claude-fable-5', 10_423, 0, 578],
    ],
  ],
  [
    'an attempt that was declined before any output is not billed',
    {
      model: 'claude-opus-5',
      content: [fallback('claude-fable-5', 'claude-opus-5', 'cyber'), text],
      usage: {
        ...{ input_tokens: 412, output_tokens: 264, ...NONE },
        iterations: [
          run('message', 408, 0, { model: 'claude-fable-5' }),
          run('fallback_message', 412, 264, { model: 'claude-opus-5' }),
        ],
      },
    },
    'claude-fable-5',
    [['claude-opus-5', 412, 0, 264]],
  ],
  [
    'unless it was declined for a reason that is billed',
    {
      model: 'claude-opus-5',
      content: [fallback('claude-fable-5', 'claude-opus-5', 'frontier_llm'), text],
      usage: {
        ...{ input_tokens: 412, output_tokens: 264, ...NONE },
        iterations: [
          run('message', 408, 0, { model: 'claude-fable-5' }),
          run('fallback_message', 412, 264, { model: 'claude-opus-5' }),
        ],
      },
    },
    'claude-fable-5',
    [
      ['claude-opus-5', 412, 0, 264],
      ['claude-fable-5', 408, 0, 0],
    ],
  ],
  [
    'earlier iterations of the model that answered are its own, by whichever snapshot they name it',
    {
      model: 'claude-opus-4-8',
      content: [fallback('claude-fable-5', 'claude-opus-4-8'), text],
      usage: {
        ...{ input_tokens: 10, output_tokens: 30, ...NONE },
        iterations: [
          run('message', 9, 5, { model: 'claude-fable-5' }),
          run('message', 10, 10, { model: 'claude-opus-4-8-20260615' }),
          run('fallback_message', 40, 20, { model: 'claude-opus-4-8' }),
        ],
      },
    },
    'claude-fable-5',
    [
      ['claude-opus-4-8', 50, 0, 30],
      ['claude-fable-5', 9, 0, 5],
    ],
  ],
  [
    'an iteration of a kind that nobody knows is billed as a part',
    {
      model: 'claude-haiku-5-5',
      usage: {
        ...{ input_tokens: 5, output_tokens: 6, ...NONE },
        iterations: [run('message', 5, 6), run('reviewer_message', 70, 8, { model: 'claude-fable-5' })],
      },
    },
    'claude-haiku-5-5',
    [
      ['claude-haiku-5-5', 5, 0, 6],
      ['claude-fable-5', 70, 0, 8],
    ],
  ],
  [
    'messages under another spelling of the one model that ran are its own',
    {
      model: 'claude-haiku-5-5',
      usage: {
        ...{ input_tokens: 5, output_tokens: 6, ...NONE },
        iterations: [run('message', 5, 6, { model: 'anthropic.claude-haiku-5-5-v1:0' })],
      },
    },
    'claude-haiku-5-5',
    [['claude-haiku-5-5', 5, 0, 6]],
  ],
  [
    'a broken figure of a part counts as the other figures prove',
    {
      model: 'claude-haiku-5-5',
      usage: {
        ...{ input_tokens: 5, output_tokens: 6, ...NONE },
        iterations: [run('message', 5, 6), run('advisor_message', -1, 8, { model: 'claude-fable-5' })],
      },
    },
    'claude-haiku-5-5',
    [
      ['claude-haiku-5-5', 5, 0, 6],
      ['claude-fable-5', 0, 0, 8],
    ],
  ],
];

describe.each(cases)('%s', (_name, answer, asked, expected) => {
  test('whole', () => expect(figures(whole(answer))).toEqual(expected));
  test('streamed', () => expect(figures(streamed(answer, asked))).toEqual(expected));
});

test('what a part leaves unclear is unclear of the call', () => {
  const iterations = [run('message', 5, 6), run('advisor_message', -1, 8, { model: 'claude-fable-5' })];
  const usage = { input_tokens: 5, output_tokens: 6, ...NONE, iterations };
  expect(whole({ model: 'claude-haiku-5-5', usage })).toMatchObject({ unclear: ['inputTokens'] });
});

test('a stream that breaks off after another model went on has both, as far as it told', () => {
  const content = [text, fallback('claude-fable-5', 'claude-opus-4-8', 'cyber'), text];
  expect(figures(streamed({ model: '', usage: {}, content }, 'claude-fable-5', true))).toEqual([
    ['claude-opus-4-8', 7, 0, 1],
    ['claude-fable-5', 7, 0, 0],
  ]);
  const declined = [fallback('claude-fable-5', 'claude-opus-4-8', 'cyber'), text];
  expect(figures(streamed({ model: '', usage: {}, content: declined }, 'claude-fable-5', true))).toEqual([
    ['claude-opus-4-8', 7, 0, 1],
  ]);
});

test('the last message_delta may name the model that answered', () => {
  const stream = new StreamUsage();
  for (const event of [
    { type: 'message_start', message: { type: 'message', model: 'claude-fable-5', usage: run('', 7, 1) } },
    { type: 'message_delta', delta: { model: 'claude-opus-4-8' }, usage: { output_tokens: 4 } },
    { type: 'message_delta', delta: {}, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ])
    stream.push(`data: ${JSON.stringify(event)}\n\n`);
  expect(figures(stream.usage())).toEqual([['claude-opus-4-8', 7, 0, 5]]);
});

test('more parts than a call may have are summed by model, and the last of them without one', () => {
  const advisors = (count: number, name: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => run('advisor_message', 1, 2, { model: name(at) }));
  const readParts = (iterations: object[]) => {
    const reported = whole({ model: 'claude-haiku-5-5', usage: { ...run('', 1, 1), iterations } });
    return reported?.parts ?? [];
  };
  const of = (parts: VendorUsage[]) => [
    parts.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    parts.reduce((sum, { responseTokens }) => sum + responseTokens, 0),
  ];
  expect(readParts(advisors(PARTS_MAX, () => 'claude-fable-5'))).toHaveLength(PARTS_MAX);
  const same = readParts(advisors(1_000, (at) => (at % 2 ? 'claude-fable-5' : 'claude-opus-5')));
  expect([same.length, of(same)]).toEqual([2, [1_000, 2_000]]);
  const all = readParts(advisors(1_000, (at) => `model-${at}`));
  expect([all.length, of(all)]).toEqual([PARTS_MAX, [1_000, 2_000]]);
  expect(all.filter(({ modelUsed }) => modelUsed === undefined)).toHaveLength(1);
});
