/**
 * OpenAI's chat completions; also in Google's form, which has no details of the usage.
 */
import { type Fields, fieldsOrEmpty, listOrEmpty, type VendorName } from '../../vendors/usage/figures.ts';
import { type Dialect, type Frame, newId, nowSeconds, wrong } from './dialect.ts';
import { collectText, positiveInteger, type Read, sentText, type Tool, type ToolChoice } from './prompt.ts';
import type { Reply } from './reply.ts';

export function chatDialect(vendor: VendorName): Dialect {
  return {
    read: (body) => read(body, vendor),
    plain: (reply) => plain(reply, vendor),
    frames: (reply, body) => frames(reply, body, vendor),
  };
}

function read(body: Fields, vendor: VendorName): Read {
  const { model, response_format } = body;
  if (typeof model !== 'string' || model === '') return wrong('model', 'must be the name of a model');
  const messages = listOrEmpty(body.messages).map(fieldsOrEmpty);
  if (messages.length === 0) return wrong('messages', 'must have at least one message');
  const said = messages.findLast(({ role }) => role !== 'assistant') ?? {};
  const tools = functionsIn(body.tools, (tool) => fieldsOrEmpty(tool.function));
  const format = fieldsOrEmpty(response_format);
  const isJson = format.type === 'json_schema' || format.type === 'json_object';
  return {
    ok: true,
    prompt: {
      vendor,
      model,
      text: sentText(messages, tools),
      last: { by: said.role === 'tool' ? 'tool' : 'user', text: collectText(said.content) },
      tools,
      toolChoice: choiceIn(body.tool_choice),
      json: isJson ? { schema: fieldsOrEmpty(format.json_schema).schema } : null,
      outputTokensMax: positiveInteger(body.max_completion_tokens) ?? positiveInteger(body.max_tokens),
    },
  };
}

/** The functions among the tools; `of` finds a function's name and parameters in a tool. */
export function functionsIn(tools: unknown, of: (tool: Fields) => Fields): Tool[] {
  return listOrEmpty(tools)
    .map(fieldsOrEmpty)
    .filter(({ type }) => type === 'function')
    .map(of)
    .map(({ name, parameters }) => ({ name: String(name), schema: parameters }));
}

export function choiceIn(choice: unknown): ToolChoice {
  if (choice === 'none' || choice === 'required') return choice;
  const { name = fieldsOrEmpty(fieldsOrEmpty(choice).function).name } = fieldsOrEmpty(choice);
  return typeof name === 'string' ? { name } : 'auto';
}

function completionTokenUsage({ inputTokens, outputTokens }: Reply, vendor: VendorName): Fields {
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  if (vendor !== 'openai') return usage;
  return {
    ...usage,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function chatFinishReason({ tool, isCutOff }: Reply): string {
  return tool !== null ? 'tool_calls' : isCutOff ? 'length' : 'stop';
}

const defaultTier = (vendor: VendorName) => (vendor === 'openai' ? { service_tier: 'default' } : {});

function plain(reply: Reply, vendor: VendorName): Fields {
  const { model, text, tool } = reply;
  const call = tool && { id: newId('call_'), type: 'function', function: { name: tool.name, arguments: text } };
  return {
    id: newId('chatcmpl-'),
    object: 'chat.completion',
    created: nowSeconds(),
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: call ? null : text,
          refusal: null,
          annotations: [],
          ...(call && { tool_calls: [call] }),
        },
        logprobs: null,
        finish_reason: chatFinishReason(reply),
      },
    ],
    usage: completionTokenUsage(reply, vendor),
    ...defaultTier(vendor),
    system_fingerprint: null,
  };
}

function frames(reply: Reply, body: Fields, vendor: VendorName): Frame[] {
  const { model, pieces, tool } = reply;
  const withUsage = fieldsOrEmpty(body.stream_options).include_usage === true;
  const envelope = {
    id: newId('chatcmpl-'),
    object: 'chat.completion.chunk',
    created: nowSeconds(),
    model,
    ...defaultTier(vendor),
    system_fingerprint: null,
  };
  const chunk = (choices: unknown[], usage: unknown = null): Frame => ({
    data: { ...envelope, choices, ...(withUsage && { usage }) },
  });
  const delta = (of: Fields, finish: string | null = null): Frame =>
    chunk([{ index: 0, delta: of, logprobs: null, finish_reason: finish }]);
  const called = tool && { id: newId('call_'), type: 'function', function: { name: tool.name, arguments: '' } };
  return [
    delta({ role: 'assistant', content: tool ? null : '', refusal: null }),
    ...(called ? [delta({ tool_calls: [{ index: 0, ...called }] })] : []),
    ...pieces.map((piece) =>
      delta(tool ? { tool_calls: [{ index: 0, function: { arguments: piece } }] } : { content: piece }),
    ),
    delta({}, chatFinishReason(reply)),
    ...(withUsage ? [chunk([], completionTokenUsage(reply, vendor))] : []),
    { data: '[DONE]' },
  ];
}
