/**
 * The answers of the vendors on loopback: the same words and counts in each vendor's own form, plain and as a stream.
 * Every vendor for tests takes its forms from here, including those of the cap suite and the benches.
 *
 * The counts of one prompt mean the same in every form; each form writes them in its vendor's way (Anthropic's input
 * without its cache, Google's candidates without its thoughts).
 */

import { countWords, type Fault, type Form, type Json, type Prompt } from './prompt.ts';

export type Vendor = 'openai' | 'anthropic' | 'google';

export interface Frame {
  event?: string;
  data: unknown;
}

const ID = 'fake-1';
const CREATED = 1_760_000_000;
const TOOL_ARGUMENTS = '{"city":"Paris"}';

/** The answer of a prompt: whole, and as the events of a stream. */
export function answer(prompt: Prompt, fault: Fault | null): { plain: Json; frames: Frame[]; form: 'sse' | 'array' } {
  const made = buildAnswer(
    fault === 'zero-usage' ? { ...prompt, inputTokens: 0, cached: 0, written: 0, reasoning: 0 } : prompt,
    fault,
  );
  if (fault === 'no-usage') delete made.plain[prompt.form.startsWith('content') ? 'usageMetadata' : 'usage'];
  const frames = fault === 'stream-error' ? withError(prompt.form, made.frames) : made.frames;
  return { plain: made.plain, frames, form: prompt.form === 'content-array' ? 'array' : 'sse' };
}

function buildAnswer(prompt: Prompt, fault: Fault | null): { plain: Json; frames: Frame[] } {
  switch (prompt.form) {
    case 'chat':
    case 'chat-google':
      return chat(prompt, fault);
    case 'responses':
      return responses(prompt, fault);
    case 'compaction':
      return { plain: compaction(responses(prompt, fault).plain), frames: [] };
    case 'response-count':
      return { plain: { object: 'response.input_tokens', input_tokens: prompt.inputTokens }, frames: [] };
    case 'embeddings':
      return { plain: embeddings(prompt), frames: [] };
    case 'content-embedding':
      return { plain: contentEmbedding(prompt), frames: [] };
    case 'content-embeddings':
      return { plain: contentEmbeddings(prompt), frames: [] };
    case 'message-count':
      return { plain: { input_tokens: prompt.inputTokens }, frames: [] };
    case 'content-count':
      return { plain: { totalTokens: prompt.inputTokens }, frames: [] };
    case 'messages':
      return messages(prompt, fault);
    case 'content':
    case 'content-array':
      return content(prompt, fault);
  }
}

function outputTokens({ replyText, tool, reasoning }: Prompt, fault: Fault | null): number {
  return fault === 'zero-usage' ? 0 : countWords(tool === null ? replyText : TOOL_ARGUMENTS) + reasoning;
}

/** The reply in pieces that together are the reply. */
function piecesOf({ replyText, pieces }: Prompt): string[] {
  if (pieces) return pieces;
  // Large enough that 20 MB are some hundred pieces, small enough that usual replies are one word each.
  if (replyText.length > 100_000) return replyText.match(/[\s\S]{1,65536}/g) ?? [];
  return replyText.match(/\S+\s*/g) ?? [];
}

/** A whole chat completion. */
export function completion(model: string, message: Json, finish: string, usage: Json): Json {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: finish }];
  return { id: `chatcmpl-${ID}`, object: 'chat.completion', created: CREATED, model, choices, usage };
}

/** The events of a streamed one. */
export function buildChunks({ model, includeUsage }: Pick<Prompt, 'model' | 'includeUsage'>) {
  const chunk = (choices: unknown[], more: Json = includeUsage ? { usage: null } : {}): Frame => ({
    data: { id: `chatcmpl-${ID}`, object: 'chat.completion.chunk', created: CREATED, model, choices, ...more },
  });
  return {
    delta: (delta: Json): Frame => chunk([{ index: 0, delta, logprobs: null, finish_reason: null }]),
    finish: (reason: string, more?: Json): Frame =>
      chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: reason }], more),
    usage: (usage: Json): Frame => chunk([], { usage }),
    done: { data: '[DONE]' },
  };
}

type Counts = Pick<Prompt, 'inputTokens' | 'cached' | 'written' | 'reasoning'>;

/** The usage of a chat completion with so much output. */
export function chatUsage({ inputTokens, cached, written, reasoning }: Counts, output: number): Json {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: output,
    total_tokens: inputTokens + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  };
}

/** Google's compatible endpoint has no details, and counts thoughts in the total alone. */
function googleChatUsage({ inputTokens, reasoning }: Counts, output: number): Json {
  const total_tokens = inputTokens + output;
  return { prompt_tokens: inputTokens, completion_tokens: output - reasoning, total_tokens };
}

function chat(prompt: Prompt, fault: Fault | null): { plain: Json; frames: Frame[] } {
  const { model, tool, replyText } = prompt;
  const usage = (prompt.form === 'chat-google' ? googleChatUsage : chatUsage)(prompt, outputTokens(prompt, fault));
  const citation = {
    type: 'url_citation',
    url_citation: { url: 'https://example.com', title: 'News', start_index: 0, end_index: 1 },
  };
  const cited = prompt.cites ? { annotations: [citation] } : {};
  const call = { id: 'call_1', type: 'function', function: { name: tool ?? '', arguments: TOOL_ARGUMENTS } };
  const finish = tool === null ? 'stop' : 'tool_calls';
  const message =
    tool === null
      ? { content: replyText, refusal: null, ...cited }
      : { content: null, refusal: null, tool_calls: [call] };
  const asked = prompt.includeUsage && fault !== 'no-usage';
  const chunks = buildChunks(prompt);
  const deltas =
    tool === null ? piecesOf(prompt).map((text) => ({ content: text })) : [{ tool_calls: [{ index: 0, ...call }] }];
  const together = asked && fault === 'usage-in-choices';
  const frames = [
    chunks.delta({ role: 'assistant', content: '' }),
    ...deltas.map(chunks.delta),
    ...(prompt.cites ? [chunks.delta(cited)] : []),
    together ? chunks.finish(finish, { usage }) : chunks.finish(finish),
    ...(asked && !together ? [chunks.usage(usage)] : []),
    chunks.done,
  ];
  return { plain: completion(model, message, finish, usage), frames };
}

function compaction({ id, created_at, usage }: Json): Json {
  const item = { id: 'cmp_1', type: 'compaction', encrypted_content: 'c2VhbGVk' };
  return { id, object: 'response.compaction', created_at, output: [item], usage };
}

function responses(prompt: Prompt, fault: Fault | null): { plain: Json; frames: Frame[] } {
  const { model, tool, replyText } = prompt;
  const output = outputTokens(prompt, fault);
  const part = { type: 'output_text', text: replyText, annotations: [], logprobs: [] };
  const searches = Array.from({ length: prompt.searches }, (_, index) => ({
    id: `ws_${index}`,
    type: 'web_search_call',
    status: 'completed',
    action: { type: 'search', query: 'news' },
  }));
  const item =
    tool === null
      ? { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [part] }
      : {
          id: 'fc_1',
          type: 'function_call',
          status: 'completed',
          call_id: 'call_1',
          name: tool,
          arguments: TOOL_ARGUMENTS,
        };
  const begun: Json = {
    id: `resp_${ID}`,
    object: 'response',
    created_at: CREATED,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    reasoning: { effort: prompt.effort, summary: null },
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    usage: null,
  };
  const usage = {
    input_tokens: prompt.inputTokens,
    input_tokens_details: { cached_tokens: prompt.cached, cache_write_tokens: prompt.written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: prompt.reasoning },
    total_tokens: prompt.inputTokens + output,
  };
  const plain: Json = {
    ...begun,
    status: 'completed',
    output: [...searches, item],
    usage: fault === 'no-usage' ? null : usage,
  };
  const at = { item_id: item.id, output_index: searches.length };
  const events: Json[] = [
    { type: 'response.created', response: begun },
    {
      type: 'response.output_item.added',
      output_index: at.output_index,
      item: { ...item, status: 'in_progress', ...(tool === null && { content: [] }) },
    },
    ...(tool === null
      ? [
          { type: 'response.content_part.added', ...at, content_index: 0, part: { ...part, text: '' } },
          ...piecesOf(prompt).map((delta) => ({
            type: 'response.output_text.delta',
            ...at,
            content_index: 0,
            delta,
            logprobs: [],
          })),
          { type: 'response.output_text.done', ...at, content_index: 0, text: replyText, logprobs: [] },
          { type: 'response.content_part.done', ...at, content_index: 0, part },
        ]
      : [
          { type: 'response.function_call_arguments.delta', ...at, delta: TOOL_ARGUMENTS },
          { type: 'response.function_call_arguments.done', ...at, name: tool, arguments: TOOL_ARGUMENTS },
        ]),
    { type: 'response.output_item.done', output_index: at.output_index, item },
    { type: 'response.completed', response: plain },
  ];
  const frames = events.map((event, index) => ({
    event: String(event.type),
    data: { ...event, sequence_number: index },
  }));
  return { plain, frames };
}

function contentEmbedding({ inputTokens }: Prompt): Json {
  return { embedding: { values: [0.25, -0.5, 0.125] }, usageMetadata: { promptTokenCount: inputTokens } };
}

function contentEmbeddings({ inputTokens, inputs }: Prompt): Json {
  const embeddings = Array.from({ length: inputs }, () => ({ values: [0.25, -0.5, 0.125] }));
  return { embeddings, usageMetadata: { promptTokenCount: inputTokens, totalTokenCount: inputTokens } };
}

function embeddings({ model, inputTokens, inputs }: Prompt): Json {
  const data = Array.from({ length: inputs }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: [0.25, -0.5, 0.125],
  }));
  return { object: 'list', data, model, usage: { prompt_tokens: inputTokens, total_tokens: inputTokens } };
}

function messages(prompt: Prompt, fault: Fault | null): { plain: Json; frames: Frame[] } {
  const { model, tool, replyText } = prompt;
  const block =
    tool === null
      ? { type: 'text', text: replyText, citations: null }
      : { type: 'tool_use', id: 'toolu_1', name: tool, input: JSON.parse(TOOL_ARGUMENTS) };
  const stop = { stop_reason: tool === null ? 'end_turn' : 'tool_use', stop_sequence: null };
  const output_tokens = outputTokens(prompt, fault);
  const ended = {
    // Anthropic counts neither cache reads nor cache writes as input.
    input_tokens: prompt.inputTokens - prompt.cached - prompt.written,
    cache_creation_input_tokens: prompt.written,
    cache_read_input_tokens: prompt.cached,
    output_tokens,
    output_tokens_details: { thinking_tokens: prompt.reasoning },
    server_tool_use: prompt.searches > 0 ? { web_search_requests: prompt.searches, web_fetch_requests: 0 } : null,
  };
  const usage = { ...ended, service_tier: 'standard' };
  const base = { id: `msg_${ID}`, type: 'message', role: 'assistant', model };
  const plain: Json = { ...base, content: [block], ...stop, usage };
  // The beginning of a stream reports a handful of output tokens, replaced at the end.
  const first = {
    ...usage,
    output_tokens: Math.min(1, output_tokens),
    output_tokens_details: null,
    server_tool_use: null,
  };
  const known = fault !== 'no-usage';
  const start = { ...base, content: [], stop_reason: null, stop_sequence: null, ...(known && { usage: first }) };
  const opened = tool === null ? { type: 'text', text: '' } : { ...block, input: {} };
  const deltas =
    tool === null
      ? piecesOf(prompt).map((text) => ({ type: 'text_delta', text }))
      : [{ type: 'input_json_delta', partial_json: TOOL_ARGUMENTS }];
  const events: Json[] = [
    { type: 'message_start', message: start },
    { type: 'content_block_start', index: 0, content_block: opened },
    { type: 'ping' },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: stop, ...(known && { usage: ended }) },
    { type: 'message_stop' },
  ];
  return { plain, frames: events.map((event) => ({ event: String(event.type), data: event })) };
}

function content(prompt: Prompt, fault: Fault | null): { plain: Json; frames: Frame[] } {
  const { model, tool, replyText, reasoning } = prompt;
  const output = outputTokens(prompt, fault) - (fault === 'zero-usage' ? 0 : reasoning);
  const metadata = (candidates: number) => ({
    promptTokenCount: prompt.inputTokens,
    ...(prompt.cached > 0 && { cachedContentTokenCount: prompt.cached }),
    // A zero is left out, as Google does.
    ...(candidates > 0 && { candidatesTokenCount: candidates }),
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    totalTokenCount: prompt.inputTokens + candidates + reasoning,
  });
  const grounding =
    prompt.searches > 0
      ? { groundingMetadata: { webSearchQueries: Array.from({ length: prompt.searches }, (_, i) => `q${i}`) } }
      : {};
  const chunk = (parts: Json[], candidates: number, last: boolean): Json => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...(last && { finishReason: 'STOP', ...grounding }) }],
    ...(fault !== 'no-usage' && { usageMetadata: metadata(candidates) }),
    modelVersion: model,
    responseId: ID,
  });
  const call = { functionCall: { name: tool ?? '', args: JSON.parse(TOOL_ARGUMENTS) } };
  const pieces = tool === null ? piecesOf(prompt).map((text) => ({ text })) : [call];
  const plain = chunk([tool === null ? { text: replyText } : call], output, true);
  const frames = pieces.map((part, index) => ({ data: chunk([part], Math.min(index + 1, output), false) }));
  return { plain, frames: [...frames, { data: chunk([{ text: '' }], output, true) }] };
}

/** The first half of the stream, and then the error in the form in which the vendor reports one there. */
function withError(form: Form, frames: Frame[]): Frame[] {
  const half = frames.slice(0, Math.max(1, Math.floor(frames.length / 2)));
  if (form === 'messages') return [...half, { event: 'error', data: failureBody('anthropic', 529) }];
  if (form === 'responses') {
    const data = {
      type: 'error',
      code: 'server_error',
      message: 'The model is overloaded',
      param: null,
      sequence_number: half.length,
    };
    return [...half, { event: 'error', data }];
  }
  return [...half, { data: failureBody(form.startsWith('content') ? 'google' : 'openai', 503) }];
}

const WORDS: Record<number, [anthropic: string, google: string, message: string]> = {
  400: ['invalid_request_error', 'INVALID_ARGUMENT', 'The request is not valid'],
  401: ['authentication_error', 'UNAUTHENTICATED', 'No API key was provided'],
  404: ['not_found_error', 'NOT_FOUND', 'There is no such thing'],
  429: ['rate_limit_error', 'RESOURCE_EXHAUSTED', 'Too many requests'],
  500: ['api_error', 'INTERNAL', 'Something went wrong'],
  503: ['overloaded_error', 'UNAVAILABLE', 'The model is overloaded'],
  529: ['overloaded_error', 'UNAVAILABLE', 'The model is overloaded'],
};

const OPENAI_CODES: Record<number, string> = { 401: 'invalid_api_key', 429: 'rate_limit_exceeded' };

/** `code` has OpenAI's form, for an error other than the usual one. */
export function failureBody(vendor: Vendor, status: number, code = OPENAI_CODES[status] ?? null): Json {
  const [anthropic, google, message] = WORDS[status] ?? ['api_error', 'INTERNAL', 'Something went wrong'];
  if (vendor === 'anthropic') return { type: 'error', error: { type: anthropic, message }, request_id: 'req_fake' };
  if (vendor === 'google') return { error: { code: status, message, status: google } };
  const type = status === 429 ? 'rate_limit_exceeded' : status >= 500 ? 'server_error' : 'invalid_request_error';
  return { error: { message, type, param: null, code } };
}

/** An event as it travels. */
export function writeFrame({ event, data }: Frame): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${textOfData(data)}\n\n`;
}

/** Text is sent as it is. */
export function textOfData(data: unknown): string {
  return typeof data === 'string' ? data : JSON.stringify(data);
}
