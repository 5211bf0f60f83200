/**
 * OpenAI's responses. The vendor for trying out keeps them (`stored-responses.ts`), but does not continue one: a
 * conversation has to be in `input`.
 */
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../vendors/usage/figures.ts';
import { type Dialect, type Frame, newId, nowSeconds, wrong } from './dialect.ts';
import { choiceIn, functionsIn } from './openai-chat.ts';
import { collectText, positiveInteger, type Read, sentText, type Tool } from './prompt.ts';
import type { Reply } from './reply.ts';

export const RESPONSES: Dialect = {
  read,
  plain: (reply, body) => buildResponse(reply, body, newId('resp_'), [outputItem(reply)]),
  frames,
};

/** A compaction: the messages of the user, and one item for all else, which only this vendor reads. */
export const COMPACTION: Dialect = {
  read,
  plain: ({ text, inputTokens, outputTokens }, { input }) => ({
    id: newId('resp_'),
    object: 'response.compaction',
    created_at: nowSeconds(),
    output: [
      ...itemsIn(input)
        .filter(({ role }) => role === 'user')
        .map((message) => ({ id: newId('msg_'), type: 'message', status: 'completed', ...message })),
      { id: newId('cmp_'), type: 'compaction', encrypted_content: Buffer.from(text).toString('base64') },
    ],
    usage: usageOf(inputTokens, outputTokens),
  }),
  frames: () => [],
};

export const INPUT_TOKENS: Dialect = {
  read,
  plain: ({ inputTokens }) => ({ object: 'response.input_tokens', input_tokens: inputTokens }),
  frames: () => [],
};

function itemsIn(input: unknown): Fields[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : listOrEmpty(input).map(fieldsOrEmpty);
}

function usageOf(inputTokens: number, outputTokens: number): Fields {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

function read(body: Fields): Read {
  const { model, input } = body;
  if (typeof model !== 'string' || model === '') return wrong('model', 'must be the name of a model');
  const items = itemsIn(input);
  if (items.length === 0) return wrong('input', 'must be a text or a list of items');
  const isResult = ({ type }: Fields) => String(type).endsWith('_output');
  const said: Fields =
    items.findLast((item: Fields) => isResult(item) || (item.role !== undefined && item.role !== 'assistant')) ?? {};
  const tools = functionsIn(body.tools, (tool) => tool);
  // The tools of groups, and those in an item of the input: Codex sends its own in this way.
  const grouped = [body, ...items]
    .flatMap((holder) => listOrEmpty(fieldsOrEmpty(holder).tools))
    .map(fieldsOrEmpty)
    .filter(({ type }) => type === 'namespace')
    .flatMap((group) => inGroup(group));
  const brought = items.flatMap((item) => functionsIn(fieldsOrEmpty(item).tools, (tool) => tool));
  const format = fieldsOrEmpty(fieldsOrEmpty(body.text).format);
  const isJson = format.type === 'json_schema' || format.type === 'json_object';
  return {
    ok: true,
    prompt: {
      vendor: 'openai',
      model,
      text: sentText([body.instructions, ...items], tools),
      last: isResult(said)
        ? { by: 'tool', text: collectText(said.output) }
        : { by: 'user', text: collectText(said.content) },
      tools: [...tools, ...brought, ...grouped],
      toolChoice: choiceIn(body.tool_choice),
      json: isJson ? { schema: format.schema } : null,
      outputTokensMax: positiveInteger(body.max_output_tokens),
    },
  };
}

function inGroup({ name, tools }: Fields): Tool[] {
  return functionsIn(tools, (tool) => tool).map((tool) => ({ ...tool, namespace: String(name) }));
}

/** The one item of the output: the model's text, or the function that it calls. */
function outputItem({ text, tool, isCutOff }: Reply): Fields {
  const status = isCutOff ? 'incomplete' : 'completed';
  if (tool === null)
    return { id: newId('msg_'), type: 'message', status, role: 'assistant', content: [textPart(text)] };
  const { name, namespace } = tool;
  const call = { call_id: newId('call_'), name, ...(namespace !== undefined && { namespace }), arguments: text };
  return { id: newId('fc_'), type: 'function_call', status, ...call };
}

function textPart(text: string): Fields {
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

/** With its output, it is complete; without one, in progress. */
function buildResponse(reply: Reply, body: Fields, id: string, output: Fields[] | null): Fields {
  const { model, inputTokens, outputTokens, isCutOff } = reply;
  const over = isCutOff ? 'incomplete' : 'completed';
  return {
    id,
    object: 'response',
    created_at: nowSeconds(),
    status: output === null ? 'in_progress' : over,
    background: false,
    completed_at: output === null || isCutOff ? null : nowSeconds(),
    error: null,
    incomplete_details: output !== null && isCutOff ? { reason: 'max_output_tokens' } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: null,
    model,
    output: output ?? [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: fieldsOrEmpty(body.reasoning).effort ?? null, summary: null },
    safety_identifier: null,
    service_tier: output === null ? 'auto' : 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { format: fieldsOrEmpty(body.text).format ?? { type: 'text' }, verbosity: 'medium' },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_logprobs: 0,
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: output === null ? null : usageOf(inputTokens, outputTokens),
    user: null,
    metadata: body.metadata ?? {},
  };
}

function frames(reply: Reply, body: Fields): Frame[] {
  const id = newId('resp_');
  const begun = buildResponse(reply, body, id, null);
  const item = outputItem(reply);
  const over = buildResponse(reply, body, id, [item]);
  const events: Fields[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...itemEvents(reply, item),
    { type: `response.${over.status}`, response: over },
  ];
  return events.map(({ type, ...members }, index) => ({
    event: String(type),
    data: { type, sequence_number: index, ...members },
  }));
}

function itemEvents({ text, pieces, tool }: Reply, item: Fields): Fields[] {
  const at = { item_id: item.id, output_index: 0 };
  const added = { ...item, status: 'in_progress', ...(tool ? { arguments: '' } : { content: [] }) };
  const ended = { type: 'response.output_item.done', output_index: 0, item };
  const began = { type: 'response.output_item.added', output_index: 0, item: added };
  if (tool) {
    const deltas = pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta }));
    const done = { type: 'response.function_call_arguments.done', ...at, name: tool.name, arguments: text };
    return [began, ...deltas, done, ended];
  }
  const part = { ...at, content_index: 0 };
  return [
    began,
    { type: 'response.content_part.added', ...part, part: textPart('') },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...part, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...part, text, logprobs: [] },
    { type: 'response.content_part.done', ...part, part: textPart(text) },
    ended,
  ];
}
