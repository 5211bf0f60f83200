/**
 * The vendor for trying out, on loopback: OpenAI, Anthropic and Google at one address, with made-up answers.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Frame, newId } from './dialect.ts';
import { failureBody } from './failure.ts';
import type { Outcome, Told } from './outcome.ts';
import type { Words } from './prompt.ts';
import { chooseErrorForm, newRouter, type Received } from './routes.ts';

export interface TrialVendorOptions {
  /** 0 for any free port. */
  port: number;
  /** Called after every answer. */
  onAnswer?: (entry: Entry) => void;
  /** How long an answer takes if its prompt says `slow`. */
  slowMs?: number;
}

/** One request and its answer. */
export interface Entry extends Partial<Told> {
  method: string;
  path: string;
  status: number;
  stream: boolean;
}

export interface TrialVendor {
  /** `http://127.0.0.1:port`, without a path. */
  url: string;
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
export const SLOW_MS = 5_000;
const BODY_BYTES_MAX = 32 * 1024 * 1024;
/** Statuses after which vendors tell clients when to retry. */
const RETRY_AFTER: readonly number[] = [429, 503, 529];

/** Throws if the port is in use. */
export async function startTrialVendor({ port, onAnswer, slowMs = SLOW_MS }: TrialVendorOptions): Promise<TrialVendor> {
  const router = newRouter();
  const server = createServer((request, response) => {
    receive(request)
      .then(async (whole) => {
        const outcome = whole ? await router(whole) : TOO_LARGE;
        const status = await send(response, outcome, whole, slowMs);
        const { method = '', url = '' } = request;
        const told = 'told' in outcome ? outcome.told : undefined;
        onAnswer?.({ method, path: requestPath(url), status, stream: outcome.kind === 'events', ...told });
      })
      .catch((error: Error) => {
        // The other side has left.
        if (response.headersSent || response.destroyed) return response.destroy();
        sendJson(response, 500, failureBody('openai', 500, `the vendor for trying out failed: ${error.message}`, null));
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) =>
      reject(new Error(code === 'EADDRINUSE' ? `port ${port} is in use` : message)),
    );
    server.listen(port, HOST, resolve);
  });
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const TOO_LARGE: Outcome = { kind: 'refused', status: 413, message: `the body has more than ${BODY_BYTES_MAX} bytes` };

function requestPath(url: string): string {
  return new URL(url, 'http://vendor').pathname;
}

/** `null` if the body is too large; the rest of it is read and dropped. */
async function receive(request: IncomingMessage): Promise<Received | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  if (bytes > BODY_BYTES_MAX) return null;
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const url = new URL(request.url ?? '/', 'http://vendor');
  return { method: request.method ?? 'GET', url, headers, body: Buffer.concat(chunks) };
}

/** The status that was sent. */
async function send(
  response: ServerResponse,
  outcome: Outcome,
  received: Received | null,
  slowMs: number,
): Promise<number> {
  const id = newId('req_');
  response.setHeader('x-request-id', id);
  response.setHeader('request-id', id);
  switch (outcome.kind) {
    case 'refused': {
      const { status, message, field = null } = outcome;
      if (RETRY_AFTER.includes(status)) response.setHeader('retry-after', '1');
      const form = received ? chooseErrorForm(received) : 'openai';
      sendJson(response, status, failureBody(form, status, message, field));
      return status;
    }
    case 'file':
      if (outcome.words?.slow) await sleep(slowMs);
      sendFile(response, outcome);
      return 200;
    case 'json':
      if (outcome.words?.slow) await sleep(slowMs);
      if (outcome.words?.cut) cutJson(response, outcome.body);
      else sendJson(response, 200, outcome.body);
      return 200;
    case 'events':
      await sendEvents(response, outcome, slowMs);
      return 200;
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, jsonHeaders(text)).end(text);
}

function jsonHeaders(json: string): Record<string, string> {
  return { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(json)) };
}

function sendFile(response: ServerResponse, { content, type, words }: Extract<Outcome, { kind: 'file' }>): void {
  const bytes = Buffer.from(content);
  const headers = { 'content-type': type ?? 'application/octet-stream', 'content-length': bytes.length };
  response.writeHead(200, headers);
  if (!words?.cut) {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, bytes.length / 2));
  response.socket?.destroySoon();
}

/** The connection breaks in the middle of the answer. */
function cutJson(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(200, jsonHeaders(text));
  response.write(text.slice(0, text.length / 2));
  response.socket?.destroySoon();
}

async function sendEvents(
  response: ServerResponse,
  { form, frames, words }: Extract<Outcome, { kind: 'events' }>,
  slowMs: number,
): Promise<void> {
  response.writeHead(200, { 'content-type': form === 'sse' ? 'text/event-stream' : 'application/json' });
  const texts = frames.map((frame, index) => written(frame, index, frames.length, form));
  await pipeline(Readable.from(paced(texts, words, slowMs)), response, { end: !words.cut });
  if (words.cut) response.socket?.destroySoon();
}

async function* paced(texts: string[], { slow, cut }: Words, slowMs: number): AsyncGenerator<string> {
  const sent = cut ? texts.slice(0, Math.ceil(texts.length / 2)) : texts;
  for (const text of sent) {
    if (slow) await sleep(slowMs / texts.length);
    yield text;
  }
}

function written({ event, data }: Frame, index: number, count: number, form: 'sse' | 'array'): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  if (form === 'sse') return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
  return `${index === 0 ? '[' : ',\r\n'}${text}${index === count - 1 ? ']' : ''}`;
}
