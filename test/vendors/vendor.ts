/**
 * Vendors on loopback: OpenAI, Anthropic and Google, with the wire formats of their official SDKs.
 *
 * Token counts follow from the prompt alone (`countWords`), so that a test can compute what a call must have used. Words
 * in the prompt ask for more: `[reply:20]` words of answer, `[reasoning:7]`, `[cached:5]`, `[written:3]`,
 * `[searches:2]`, `[tool]`, and `[fail:x]` for a `Fault`. It records every request, and keeps uploaded files and
 * batches.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { answer, type Frame, failureBody, textOfData, type Vendor, writeFrame } from './answers.ts';
import { serveOnLoopback, writable } from './loopback.ts';
import { type Fault, type Prompt, readPrompt } from './prompt.ts';

export { countWords, type Fault } from './prompt.ts';

interface VendorRecord {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string>;
  /** Parsed JSON, else the text. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
  /** The connection was closed by the other side before the answer was written. */
  abandoned: boolean;
}

export interface FakeVendor {
  /** `http://127.0.0.1:port`, without a path. */
  url: string;
  requests: VendorRecord[];
  /** The next requests fail in this way, one each, before any word in their prompts is looked at. */
  fail(...faults: Fault[]): void;
  close(): Promise<void>;
}

/** How long `slow` waits before it answers, and before each event. */
const SLOW_MS = 50;
/** The text that `big` sends. */
const BIG_BYTES = 20 * 1024 * 1024;
const BATCH_STATES = ['validating', 'in_progress', 'completed'] as const;

interface State {
  requests: VendorRecord[];
  faults: Fault[];
  files: Map<string, { name: string; purpose: string; content: string }>;
  batches: Map<string, { body: Record<string, unknown>; polls: number; outputFileId: string | null }>;
}

export async function startVendor(): Promise<FakeVendor> {
  const state: State = { requests: [], faults: [], files: new Map(), batches: new Map() };
  const { url, close } = await serveOnLoopback((request, response) => handle(state, request, response));
  return { url, requests: state.requests, fail: (...faults) => void state.faults.push(...faults), close };
}

async function handle(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const path = request.url ?? '/';
  const record: VendorRecord = {
    method: request.method ?? 'GET',
    path,
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    body: parsed(text),
    abandoned: false,
  };
  state.requests.push(record);
  response.on('close', () => {
    record.abandoned = !response.writableFinished;
  });
  const url = new URL(path, 'http://vendor');
  const vendor = findVendor(url.pathname);
  if (!isAuthorized(vendor, record, url)) return sendFailure(response, vendor, 401);
  const prompt = readPrompt(url, record.body);
  const fault = state.faults.shift() ?? prompt?.fault ?? null;
  if (fault === 'no-stream-options' && 'stream_options' in record.body) {
    const detail = [
      { type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' },
    ];
    return sendJson(response, 422, { detail });
  }
  if (await failed(response, vendor, fault)) return;
  if (prompt) return send(response, prompt, fault);
  const found = stored(state, record, url.pathname);
  if (found === null) sendFailure(response, vendor, 404);
  else if (typeof found === 'string')
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found);
  else sendJson(response, 200, found);
}

function findVendor(pathname: string): Vendor {
  if (pathname.startsWith('/v1/messages')) return 'anthropic';
  return /^\/v1beta\/|Content$/.test(pathname) ? 'google' : 'openai';
}

function isAuthorized(vendor: Vendor, { headers }: VendorRecord, url: URL): boolean {
  const bearer = /^Bearer \S+/.test(headers.authorization ?? '');
  if (vendor === 'anthropic') return bearer || Boolean(headers['x-api-key']);
  return bearer || (vendor === 'google' && Boolean(headers['x-goog-api-key'] ?? url.searchParams.get('key')));
}

/** Whether the fault was answered already; the others show in the answer itself. */
async function failed(response: ServerResponse, vendor: Vendor, fault: Fault | null): Promise<boolean> {
  switch (fault) {
    case '400':
    case '429':
    case '500':
    case '503':
      sendFailure(response, vendor, Number(fault));
      return true;
    case 'cut-first':
      response.socket?.destroy();
      return true;
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Please log in</body></html>');
      return true;
    case 'shape':
      sendJson(response, 200, { hello: 'world', usage: 'plenty' });
      return true;
    case 'redirect':
      response.writeHead(302, { location: '/elsewhere' }).end();
      return true;
    case 'hang':
      // Until the other side gives up.
      return true;
    case 'slow':
      await sleep(SLOW_MS);
      return false;
    default:
      return false;
  }
}

function sendFailure(response: ServerResponse, vendor: Vendor, status: number): void {
  if (status === 429 || status === 503) response.setHeader('retry-after', '1');
  sendJson(response, status, failureBody(vendor, status));
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_fake' })
    .end(JSON.stringify(body));
}

async function send(response: ServerResponse, prompt: Prompt, fault: Fault | null): Promise<void> {
  const big = fault === 'big' ? { ...prompt, replyText: `${'x'.repeat(1023)} `.repeat(BIG_BYTES / 1024) } : prompt;
  const { plain, frames, form } = answer(big, fault);
  if (!prompt.stream) {
    if (fault !== 'cut') return sendJson(response, 200, plain);
    const text = JSON.stringify(plain);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) });
    response.write(text.slice(0, text.length / 2));
    await sleep(10);
    response.destroy();
    return;
  }
  response.writeHead(200, {
    'content-type': form === 'sse' ? 'text/event-stream' : 'application/json',
    'x-request-id': 'req_fake',
  });
  await sendFrames(
    response,
    frames.map((frame, index) => written(frame, index, frames.length, form)),
    fault,
  );
}

function written(frame: Frame, index: number, count: number, form: 'sse' | 'array'): string {
  if (form === 'sse') return writeFrame(frame);
  return `${index === 0 ? '[' : ',\r\n'}${textOfData(frame.data)}${index === count - 1 ? ']' : ''}`;
}

async function sendFrames(response: ServerResponse, frames: string[], fault: Fault | null): Promise<void> {
  const half = Math.max(1, Math.floor(frames.length / 2));
  for (const [index, frame] of frames.entries()) {
    if (response.destroyed) return;
    if (fault === 'slow') await sleep(SLOW_MS);
    if (fault === 'split') {
      for (const byte of Buffer.from(frame)) response.write(Buffer.of(byte));
      await sleep(1);
      continue;
    }
    if (index === half && fault === 'cut') {
      response.write(frame.slice(0, frame.length / 2));
      await sleep(10);
      response.destroy();
      return;
    }
    if (index === half && fault === 'end-early') break;
    // Until the other side gives up.
    if (index === half && fault === 'silent') return;
    if (!response.write(frame)) await writable(response);
  }
  response.end();
}

/** A model, a file or a batch as JSON, a file's content as text; `null` if there is none. */
function stored(state: State, { method, headers, body }: VendorRecord, pathname: string): object | string | null {
  const [, noun, id, member] =
    /^\/v1(?:beta\/openai)?\/(models|files|batches)(?:\/([^/]+))?(?:\/(content))?$/.exec(pathname) ?? [];
  const creates = method === 'POST' && id === undefined;
  if (noun === 'models') {
    return id === undefined
      ? { object: 'list', data: ['gpt-5.2', 'gpt-4.1-mini'].map(model) }
      : model(decodeURIComponent(id));
  }
  if (noun === 'files') {
    if (creates) return storeFile(state, headers['content-type'] ?? '', String(body));
    const file = state.files.get(id ?? '');
    if (!file || id === undefined) return null;
    if (member === 'content') return file.content;
    return method === 'DELETE' ? { id, object: 'file', deleted: state.files.delete(id) } : fileObject(state, id);
  }
  if (noun !== 'batches') return null;
  if (creates) {
    const created = `batch_${state.batches.size + 1}`;
    state.batches.set(created, { body, polls: 0, outputFileId: null });
    return batchObject(state, created);
  }
  const batch = state.batches.get(id ?? '');
  if (!batch || id === undefined) return null;
  batch.polls = Math.min(batch.polls + 1, BATCH_STATES.length - 1);
  return batchObject(state, id);
}

const model = (id: string) => ({ id, object: 'model', created: 1_760_000_000, owned_by: 'system' });

/** The parts of a multipart form: a field by its name, the file with its content. */
function storeFile(state: State, contentType: string, form: string): object {
  const boundary = /boundary=([^;]+)/.exec(contentType)?.[1]?.replaceAll('"', '') ?? '\0';
  const part = (name: string) => form.split(`--${boundary}`).find((text) => text.includes(`name="${name}"`)) ?? '';
  const partContent = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4).replace(/\r\n$/, '');
  const id = `file_${state.files.size + 1}`;
  const name = /filename="([^"]*)"/.exec(part('file'))?.[1] ?? 'file';
  state.files.set(id, { name, purpose: partContent(part('purpose')), content: partContent(part('file')) });
  return fileObject(state, id);
}

function fileObject({ files }: State, id: string) {
  const { name = '', purpose = '', content = '' } = files.get(id) ?? {};
  const bytes = Buffer.byteLength(content);
  return { id, object: 'file', bytes, created_at: 1_760_000_000, filename: name, purpose, status: 'processed' };
}

function batchObject(state: State, id: string) {
  const batch = state.batches.get(id);
  if (!batch) throw new Error(`no batch ${id}`);
  const status = BATCH_STATES[batch.polls] ?? 'completed';
  const input = state.files.get(String(batch.body.input_file_id))?.content ?? '';
  const lines = input.split('\n').filter((line) => line.trim() !== '');
  if (status === 'completed' && batch.outputFileId === null) {
    batch.outputFileId = `file_out_${id}`;
    const content = lines.map((line, index) => JSON.stringify(batchLine(line, index))).join('\n');
    state.files.set(batch.outputFileId, { name: 'output.jsonl', purpose: 'batch_output', content: `${content}\n` });
  }
  const completed = status === 'completed' ? lines.length : 0;
  return {
    id,
    object: 'batch',
    endpoint: batch.body.endpoint,
    input_file_id: batch.body.input_file_id,
    completion_window: batch.body.completion_window ?? '24h',
    metadata: batch.body.metadata ?? null,
    status,
    created_at: 1_760_000_000,
    request_counts: { total: lines.length, completed, failed: 0 },
    ...(batch.outputFileId !== null && { output_file_id: batch.outputFileId, completed_at: 1_760_000_100 }),
  };
}

function batchLine(line: string, index: number) {
  const { custom_id, url, body } = JSON.parse(line) as { custom_id: string; url: string; body: object };
  const prompt = readPrompt(new URL(url, 'http://vendor'), body);
  if (!prompt) throw new Error(`no batch endpoint: ${url}`);
  const refused = prompt.fault === '400';
  const response = refused
    ? { status_code: 400, request_id: `req_${index}`, body: failureBody('openai', 400) }
    : { status_code: 200, request_id: `req_${index}`, body: answer(prompt, null).plain };
  return { id: `batch_req_${index}`, custom_id, response, error: null };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
