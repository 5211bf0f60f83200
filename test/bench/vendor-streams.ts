/**
 * The events of a stream in the form of each endpoint, for the simulated vendor: forty words in ten parts, and the
 * usage that goes with them. Only a chat completion says how long the vendor took, which the other forms have no
 * member for.
 */
export const WORDS = 40;
export const PARTS = 10;
const PART = 'word '.repeat(WORDS / PARTS);
const INPUT_TOKENS = 12;

export const COMPLETION = { id: 'chatcmpl-bench', created: 1_760_000_000, model: 'gpt-5.2' };
export const COMPLETION_USAGE = {
  prompt_tokens: INPUT_TOKENS,
  completion_tokens: WORDS,
  total_tokens: INPUT_TOKENS + WORDS,
};

export interface StreamForm {
  /** What stands before the first part. */
  begin: string;
  /** One part, sent so long after the request. */
  part(vendorMs: number): string;
  end(vendorMs: number): string;
}

export function streamFormAt(path: string): StreamForm {
  if (path.includes(':streamGenerateContent')) return CONTENT;
  if (path.endsWith('/messages')) return MESSAGES;
  return path.endsWith('/responses') ? RESPONSES : COMPLETIONS;
}

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { type: string }) => `event: ${value.type}\n${data(value)}`;

const chunk = (vendorMs: number, choices: object[], more: object = {}) =>
  data({ ...COMPLETION, object: 'chat.completion.chunk', vendor_ms: vendorMs, choices, ...more });

const COMPLETIONS: StreamForm = {
  begin: '',
  part: (vendorMs) =>
    chunk(vendorMs, [{ index: 0, delta: { content: 'word ' }, finish_reason: null }]).repeat(WORDS / PARTS),
  end: (vendorMs) => {
    const stop = chunk(vendorMs, [{ index: 0, delta: {}, finish_reason: 'stop' }]);
    return `${stop}${chunk(vendorMs, [], { usage: COMPLETION_USAGE })}data: [DONE]\n\n`;
  },
};

const response = { id: 'resp_bench', object: 'response', created_at: 1_760_000_000, model: 'gpt-5.2' };
const item = { id: 'msg_bench', type: 'message', role: 'assistant' };
const at = { item_id: item.id, output_index: 0, content_index: 0 };
const responseUsage = { input_tokens: INPUT_TOKENS, output_tokens: WORDS, total_tokens: INPUT_TOKENS + WORDS };

const RESPONSES: StreamForm = {
  begin:
    named({ type: 'response.created', ...{ response: { ...response, status: 'in_progress', output: [] } } }) +
    named({ type: 'response.output_item.added', ...{ output_index: 0, item: { ...item, content: [] } } }),
  part: () => named({ type: 'response.output_text.delta', ...at, ...{ delta: PART } }),
  end: () => {
    const content = [{ type: 'output_text', text: PART.repeat(PARTS), annotations: [] }];
    const whole = { ...response, status: 'completed', output: [{ ...item, content }], usage: responseUsage };
    return named({ type: 'response.completed', ...{ response: whole } });
  },
};

const message = { id: 'msg_bench', type: 'message', role: 'assistant', model: 'claude-sonnet-5-5', content: [] };

const MESSAGES: StreamForm = {
  begin:
    named({
      type: 'message_start',
      ...{ message: { ...message, stop_reason: null, usage: { input_tokens: INPUT_TOKENS, output_tokens: 1 } } },
    }) + named({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
  part: () => named({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text: PART } } }),
  end: () => {
    const usage = { input_tokens: INPUT_TOKENS, output_tokens: WORDS };
    const stopped = { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage };
    return [{ type: 'content_block_stop', index: 0 }, { type: 'message_delta', ...stopped }, { type: 'message_stop' }]
      .map(named)
      .join('');
  },
};

const content = (text: string, more: object = {}) =>
  data({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    usageMetadata: {
      promptTokenCount: INPUT_TOKENS,
      candidatesTokenCount: WORDS,
      totalTokenCount: INPUT_TOKENS + WORDS,
    },
    modelVersion: 'gemini-3.8-flash',
    responseId: 'bench',
  });

const CONTENT: StreamForm = {
  begin: '',
  part: () => content(PART),
  end: () => content('', { finishReason: 'STOP' }),
};
