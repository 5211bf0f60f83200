/**
 * Model vendors on loopback, one of each kind, that bill the worst that a request allows by the price of its model, and
 * log it before they answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import { findModelLimits } from '../../src/catalog/limits.ts';
import { LAST_STEP_TOKENS } from '../../src/domain/hold.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import type { Usage } from '../../src/domain/usage.ts';
import { GENERATED_VENDORS, type GeneratedVendor, PRICED_AT_MS, resolveGenerated } from '../support/generated-calls.ts';
import type { Json } from '../support/request-generator.ts';
import type { RequestForm } from '../support/request-types.ts';
import { worstUsages } from '../support/worst-vendor.ts';
import { serveOnLoopback } from '../vendors/loopback.ts';

export interface WorstBill {
  /** The header with which clients name their requests. */
  marker: string;
  form: RequestForm;
  /** The amount of the most expensive usage, in nano-USD; `null` if the price has no rate for it. */
  owed: bigint | null;
  usage: Usage;
}

export interface WorstServer {
  /** The base address of a vendor, with its version. */
  baseUrl(provider: GeneratedVendor): string;
  log: readonly WorstBill[];
  close(): Promise<void>;
}

const PATHS: readonly (readonly [RegExp, RequestForm])[] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/completions$/, 'completions'],
  [/\/responses$/, 'responses'],
  [/\/responses\/compact$/, 'compact'],
  [/\/messages$/, 'messages'],
  [/enerateContent$/, 'generateContent'],
  [/\/embeddings$/, 'embeddings'],
  [/:embedContent$/, 'embedContent'],
  [/:batchEmbedContents$/, 'batchEmbedContents'],
  [/\/images\/generations$/, 'images'],
  [/\/images\/edits$/, 'imageEdits'],
  [/\/audio\/speech$/, 'speech'],
  [/\/audio\/transcriptions$/, 'transcriptions'],
  [/\/audio\/translations$/, 'translations'],
  [/\/moderations$/, 'moderations'],
];
/** Matches counters of prompts. It has none, so each request is bounded by its bytes. */
const COUNTER = /(?:\/count_tokens|:countTokens|\/input_tokens)$/;
/** Each is an item of the answer; a request that allows more is refused. */
const FILE_SEARCHES_MAX = 5_000;
/** Longer than a run: see vendor.ts. */
const KEEP_ALIVE_MS = 3_600_000;

export async function startWorstServer(): Promise<WorstServer> {
  const log: WorstBill[] = [];
  const options = { keepAliveTimeout: KEEP_ALIVE_MS };
  const { url, close } = await serveOnLoopback((request, response) => answer(log, request, response), options);
  return { baseUrl: (provider) => `${url}/${provider}/v1`, log, close };
}

async function answer(log: WorstBill[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://vendor');
  if (COUNTER.test(pathname)) {
    response.writeHead(404).end();
    return;
  }
  const provider = pathname.split('/')[1] as GeneratedVendor;
  const form = PATHS.find(([pattern]) => pattern.test(pathname))?.[1];
  if (form === undefined) throw new Error(`no vendor has ${pathname}`);
  const body = await readBody(request);
  const inPath = decodeURIComponent(/\/models\/(.+):\w+$/.exec(pathname)?.[1] ?? '');
  const model = inPath || String(body.model ?? '');
  const kind = GENERATED_VENDORS[provider];
  const { contextTokens, maxOutputTokens } = findModelLimits(catalog, model, PRICED_AT_MS);
  const isStream = searchParams.get('alt') === 'sse' || String(body.stream) === 'true';
  const usages = worstUsages({ kind, form, model, body, contextTokens, maxOutputTokens });
  const bill = await dearest(provider, form, model, isStream ? usages.map(asShown) : usages);
  if (bill === null) return refuse(response);
  log.push({ ...bill, marker: String(request.headers['x-client-request-id'] ?? ''), form });
  const { type, text } = written({
    form,
    model,
    usage: bill.usage,
    body,
    isStream,
    isListed: /:stream/.test(pathname),
  });
  response.writeHead(200, { 'content-type': type }).end(text);
}

/**
 * A stream bills its shown output, and shows no more than the first step that may be held. The scenario `streams` tests
 * longer ones.
 */
function asShown(usage: Usage): Usage {
  const atMost = (tokens = 0) => Math.min(tokens, LAST_STEP_TOKENS);
  return {
    ...usage,
    responseTokens: atMost(usage.responseTokens),
    ...(usage.imageOutputTokens && { imageOutputTokens: atMost(usage.imageOutputTokens) }),
    ...(usage.audioOutputTokens && { audioOutputTokens: atMost(usage.audioOutputTokens) }),
  };
}

async function dearest(
  provider: GeneratedVendor,
  form: RequestForm,
  model: string,
  usages: readonly Usage[],
): Promise<Pick<WorstBill, 'owed' | 'usage'> | null> {
  const price = await resolveGenerated(provider, model);
  // OpenAI's forms have no cache writes for an hour, and speech has no cache.
  const sayable = usages.filter(
    (usage) =>
      (form === 'messages' || usage.cacheWrite1hInputTokens === undefined) &&
      (form !== 'speech' || usage.cachedInputTokens + usage.cacheWriteInputTokens === 0) &&
      (usage.toolUses?.fileSearch ?? 0) <= FILE_SEARCHES_MAX,
  );
  const bills = sayable.map((usage) => {
    const priced = price.available ? computeCost(price.card, usage, 'standard') : null;
    return { usage, owed: priced?.known ? priced.cost.totalNanoUsd : null };
  });
  const unpriced = bills.find(({ owed }) => owed === null);
  return (
    unpriced ??
    bills.reduce<(typeof bills)[number] | null>((a, b) => ((a?.owed ?? -1n) >= (b.owed ?? 0n) ? a : b), null)
  );
}

function refuse(response: ServerResponse): void {
  const error = { message: 'so many answers are refused', type: 'invalid_request_error' };
  response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

async function readBody(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/')) return JSON.parse(bytes.toString()) as Json;
  const fields: Json = {};
  for (const [name, value] of await new Response(bytes, { headers: { 'content-type': type } }).formData()) {
    const file = typeof value === 'string' ? value : await describeFile(value);
    const before = fields[name];
    fields[name] = before === undefined ? file : [...(Array.isArray(before) ? before : [before]), file];
  }
  return fields;
}

async function describeFile(file: File): Promise<Json> {
  const head = new Uint8Array(await file.slice(0, 64).arrayBuffer());
  return { fileName: file.name, contentType: file.type, bytes: file.size, head };
}

/** The answer, and its form. */
interface Written {
  form: RequestForm;
  model: string;
  usage: Usage;
  body: Json;
  isStream: boolean;
  /** Google's stream without events, a list. */
  isListed: boolean;
}

/** The usage in the form of its vendor. */
function written({ form, model, usage, body, isStream, isListed }: Written): { type: string; text: string } {
  const json = (value: unknown) => ({ type: 'application/json', text: JSON.stringify(value) });
  const events = (values: readonly unknown[]) => ({
    type: 'text/event-stream',
    text: values.map((value) => writeEvent(value)).join(''),
  });
  switch (form) {
    case 'chat':
    case 'completions': {
      const message = { role: 'assistant', content: 'x' };
      const choice = { index: 0, text: 'x', message, delta: message, finish_reason: 'stop' };
      const whole = { id: 'a', object: 'chat.completion', model, choices: [choice], ...completionUsage(usage) };
      return isStream ? events([whole, '[DONE]']) : json(whole);
    }
    case 'responses': {
      const response = { id: 'a', object: 'response', model, status: 'completed', ...responseUsage(usage) };
      return isStream ? events([{ type: 'response.completed', response }]) : json(response);
    }
    case 'compact':
      return json({ id: 'a', object: 'response.compaction', output: [], ...responseUsage(usage) });
    case 'messages': {
      const message = { id: 'a', type: 'message', role: 'assistant', model, ...messageUsage(usage) };
      const content = [{ type: 'text', text: 'x' }];
      if (!isStream) return json({ ...message, content, stop_reason: 'end_turn' });
      return events([
        { type: 'message_start', message: { ...message, content: [] } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: message.usage },
        { type: 'message_stop' },
      ]);
    }
    case 'generateContent': {
      const content = buildContent(model, usage);
      return isStream ? events([content]) : json(isListed ? [content] : content);
    }
    case 'images':
    case 'imageEdits': {
      const made = { created: 1, data: Array.from({ length: usage.images ?? 1 }, () => ({ b64_json: 'AAAA' })) };
      const tokens = {
        usage: { ...tokenFields(usage), output_tokens_details: { image_tokens: usage.imageOutputTokens ?? 0 } },
      };
      return isStream ? events([{ type: 'image_generation.completed', ...tokens }]) : json({ ...made, ...tokens });
    }
    case 'speech':
      return body.stream_format === 'sse'
        ? events([{ type: 'speech.audio.done', usage: tokenFields(usage) }])
        : { type: 'audio/mpeg', text: 'x' };
    case 'transcriptions':
    case 'translations': {
      const seconds = usage.audioSeconds > 0;
      const used = seconds
        ? { type: 'duration', seconds: usage.audioSeconds }
        : { type: 'tokens', ...tokenFields(usage) };
      const done = { text: 'x', usage: used, ...(seconds && { duration: usage.audioSeconds }) };
      if (/^(?:text|srt|vtt)$/.test(String(body.response_format))) return { type: 'text/plain', text: 'x' };
      return isStream ? events([{ type: 'transcript.text.done', ...done }]) : json(done);
    }
    case 'embeddings':
      return json({ object: 'list', model, data: [], ...completionUsage(usage) });
    case 'embedContent':
      return json({ embedding: { values: [0] }, usageMetadata: buildContent(model, usage).usageMetadata });
    case 'batchEmbedContents':
      return json({ embeddings: [], usageMetadata: buildContent(model, usage).usageMetadata });
    case 'moderations':
      return json({ id: 'a', model, results: [] });
  }
}

function writeEvent(value: unknown): string {
  if (typeof value === 'string') return `data: ${value}\n\n`;
  const { type } = value as { type?: string };
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(value)}\n\n`;
}

function completionUsage(usage: Usage): Json {
  return {
    ...(usage.serviceTier && { service_tier: usage.serviceTier }),
    usage: {
      prompt_tokens: usage.inputTokens,
      completion_tokens: usage.responseTokens,
      total_tokens: usage.inputTokens + usage.responseTokens,
      prompt_tokens_details: {
        cached_tokens: usage.cachedInputTokens,
        cache_write_tokens: usage.cacheWriteInputTokens,
        audio_tokens: usage.audioInputTokens ?? 0,
        image_tokens: usage.imageInputTokens ?? 0,
        cache_write_tokens_details: { ttl_12h_tokens: usage.cacheWrite12hInputTokens ?? 0 },
      },
      completion_tokens_details: {
        audio_tokens: usage.audioOutputTokens ?? 0,
        image_tokens: usage.imageOutputTokens ?? 0,
      },
      ...(usage.searches > 0 && { server_tool_use: { web_search_requests: usage.searches } }),
    },
  };
}

function tokenFields(usage: Usage): Json {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.responseTokens,
    total_tokens: usage.inputTokens + usage.responseTokens,
    input_token_details: {
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteInputTokens,
      audio_tokens: usage.audioInputTokens ?? 0,
      image_tokens: usage.imageInputTokens ?? 0,
    },
  };
}

function responseUsage(usage: Usage): Json {
  const searches = Array.from({ length: usage.toolUses?.fileSearch ?? 0 }, () => ({
    type: 'file_search_call',
  }));
  return {
    ...(usage.serviceTier && { service_tier: usage.serviceTier }),
    output: searches,
    tool_usage: { web_search: { num_requests: usage.searches } },
    usage: {
      input_tokens: usage.inputTokens,
      output_tokens: usage.responseTokens,
      input_tokens_details: {
        cached_tokens: usage.cachedInputTokens,
        cache_write_tokens: usage.cacheWriteInputTokens,
        audio_tokens: usage.audioInputTokens ?? 0,
        image_tokens: usage.imageInputTokens ?? 0,
        cache_write_tokens_details: { ttl_12h_tokens: usage.cacheWrite12hInputTokens ?? 0 },
      },
      output_tokens_details: { audio_tokens: usage.audioOutputTokens ?? 0, image_tokens: usage.imageOutputTokens ?? 0 },
    },
  };
}

/** Anthropic counts cached tokens and cache writes besides its input. */
function messageUsage(usage: Usage): { usage: Json } {
  const oneHour = usage.cacheWrite1hInputTokens ?? 0;
  return {
    usage: {
      input_tokens: usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteInputTokens,
      output_tokens: usage.responseTokens,
      cache_read_input_tokens: usage.cachedInputTokens,
      cache_creation_input_tokens: usage.cacheWriteInputTokens,
      cache_creation: {
        ephemeral_1h_input_tokens: oneHour,
        ephemeral_5m_input_tokens: usage.cacheWriteInputTokens - oneHour,
      },
      server_tool_use: { web_search_requests: usage.searches },
      service_tier: usage.serviceTier ?? 'standard',
      speed: usage.speed ?? 'standard',
      inference_geo: usage.region ?? 'global',
    },
  };
}

function buildContent(model: string, usage: Usage): Json {
  const of = (modality: string, tokens = 0) => (tokens > 0 ? [{ modality, tokenCount: tokens }] : []);
  const queries = Array.from({ length: usage.searches }, (_, place) => `query ${place}`);
  return {
    modelVersion: model,
    candidates: [
      {
        content: { role: 'model', parts: [{ text: 'x' }] },
        finishReason: 'STOP',
        ...(queries.length > 0 && { groundingMetadata: { webSearchQueries: queries } }),
      },
    ],
    usageMetadata: {
      promptTokenCount: usage.inputTokens,
      cachedContentTokenCount: usage.cachedInputTokens,
      candidatesTokenCount: usage.responseTokens,
      promptTokensDetails: [...of('AUDIO', usage.audioInputTokens), ...of('IMAGE', usage.imageInputTokens)],
      candidatesTokensDetails: [...of('AUDIO', usage.audioOutputTokens), ...of('IMAGE', usage.imageOutputTokens)],
      ...(usage.serviceTier && { trafficType: `ON_DEMAND_${usage.serviceTier.toUpperCase()}` }),
    },
  };
}
