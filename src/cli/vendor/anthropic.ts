/**
 * Anthropic's messages.
 */
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../vendors/usage/figures.ts';
import { type Dialect, type Frame, newId, wrong } from './dialect.ts';
import { collectText, positiveInteger, type Read, sentText, type ToolChoice } from './prompt.ts';
import type { Reply } from './reply.ts';

export const MESSAGES: Dialect = {
  read: (body) => {
    const outputTokensMax = positiveInteger(body.max_tokens);
    return outputTokensMax === null ? wrong('max_tokens', 'must be a positive integer') : read(body, outputTokensMax);
  },
  plain,
  frames,
};

/** A request to `count_tokens` needs no bound on its output. */
export const COUNT_TOKENS: Dialect = {
  read: (body) => read(body, null),
  plain: ({ inputTokens }) => ({ input_tokens: inputTokens }),
  frames: () => [],
};

function read(body: Fields, outputTokensMax: number | null): Read {
  const { model } = body;
  if (typeof model !== 'string' || model === '') return wrong('model', 'must be the name of a model');
  const messages = listOrEmpty(body.messages).map(fieldsOrEmpty);
  if (messages.length === 0) return wrong('messages', 'must have at least one message');
  const said = messages.findLast(({ role }) => role === 'user') ?? {};
  const results = listOrEmpty(said.content).filter((block) => fieldsOrEmpty(block).type === 'tool_result');
  const tools = listOrEmpty(body.tools)
    .map(fieldsOrEmpty)
    .filter(({ input_schema }) => input_schema !== undefined)
    .map(({ name, input_schema }) => ({ name: String(name), schema: input_schema }));
  const format = fieldsOrEmpty(fieldsOrEmpty(body.output_config).format ?? body.output_format);
  return {
    ok: true,
    prompt: {
      vendor: 'anthropic',
      model,
      text: sentText([body.system, ...messages], tools),
      last:
        results.length > 0
          ? { by: 'tool', text: collectText(results) }
          : { by: 'user', text: collectText(said.content) },
      tools,
      toolChoice: choiceIn(fieldsOrEmpty(body.tool_choice)),
      json: format.type === 'json_schema' ? { schema: format.schema } : null,
      outputTokensMax,
    },
  };
}

function choiceIn({ type, name }: Fields): ToolChoice {
  if (type === 'none') return 'none';
  if (type === 'any') return 'required';
  return type === 'tool' ? { name: String(name) } : 'auto';
}

function stopFields({ tool, isCutOff }: Reply): Fields {
  const reason = tool !== null ? 'tool_use' : isCutOff ? 'max_tokens' : 'end_turn';
  return { stop_reason: reason, stop_sequence: null, stop_details: null };
}

function messageUsage({ inputTokens }: Reply, outputTokens: number): Fields {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    service_tier: 'standard',
  };
}

function contentBlock({ text, tool }: Reply): Fields {
  if (tool === null) return { type: 'text', text };
  return { type: 'tool_use', id: newId('toolu_'), name: tool.name, input: tool.input, caller: { type: 'direct' } };
}

const messageEnvelope = ({ model }: Reply) => ({ model, id: newId('msg_'), type: 'message', role: 'assistant' });

function plain(reply: Reply): Fields {
  const usage = messageUsage(reply, reply.outputTokens);
  return { ...messageEnvelope(reply), content: [contentBlock(reply)], ...stopFields(reply), usage };
}

function frames(reply: Reply): Frame[] {
  const { pieces, tool, inputTokens, outputTokens } = reply;
  const block = contentBlock(reply);
  const opened = tool === null ? { ...block, text: '' } : { ...block, input: {} };
  const none = { stop_reason: null, stop_sequence: null, stop_details: null };
  // A stream first reports one output token, and all of them at its end.
  const usage = messageUsage(reply, Math.min(1, outputTokens));
  const ended = {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: outputTokens,
  };
  const events: Fields[] = [
    { type: 'message_start', message: { ...messageEnvelope(reply), content: [], ...none, usage } },
    { type: 'content_block_start', index: 0, content_block: opened },
    { type: 'ping' },
    ...pieces.map((piece) => ({
      type: 'content_block_delta',
      index: 0,
      delta: tool === null ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece },
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: stopFields(reply), usage: ended },
    { type: 'message_stop' },
  ];
  return events.map((event) => ({ event: String(event.type), data: event }));
}
