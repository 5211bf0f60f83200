/**
 * The HTTP client of the command line: one request, one envelope.
 *
 * `exchange` sends a request to a path. `callOperation` sends an operation of the contract, which defines the method,
 * the path and the type of the response. The credential is the operator token or an API key, depending on the
 * operation.
 */
import type { z } from 'zod';
import { IDEMPOTENCY_HEADER, MEDIA_TYPE, REPLAY_HEADER } from '../contract/envelope.ts';
import { type Operation, type OperationId, operations } from '../contract/operations.ts';
import { parseJson } from '../platform/json.ts';
import { isLocal, type Target } from './operator-target.ts';

export interface Reply {
  status: number;
  headers: Headers;
  body: {
    result?: { code: string; message?: string };
    data?: unknown;
    error?: { details?: { path: string; message: string }[] };
  };
}

/** The `data` of an operation's successful response. */
export type Data<Id extends OperationId> = z.output<(typeof operations)[Id]['data']>;

export interface Success<Id extends OperationId> {
  data: Data<Id>;
  /** The response is stored from an earlier request with the same idempotency key. */
  replayed: boolean;
}

export interface OperationInput {
  /** The values of the path's parameters. */
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  idempotencyKey?: string;
}

/** The service rejected a request. The message lists each invalid field and the violated rule, and names the server. */
export class Refused extends Error {
  readonly reply: Reply;

  constructor(reply: Reply, { url }: Pick<Target, 'url'>) {
    const { result, error } = reply.body;
    const details = error?.details?.map(({ path, message }) => `\n  ${path}: ${message}`);
    const reason = details?.length ? details.join('') : `: ${result?.message ?? 'no reason'}`;
    super(`${result?.code ?? reply.status}${reason}\nrefused by ${url}`);
    this.reply = reply;
  }
}

const TIMEOUT_MS = 60_000;

export async function exchange(
  target: Target,
  method: string,
  path: string,
  body?: unknown,
  idempotencyKey?: string,
): Promise<Reply> {
  const response = await request(target, method, path, {
    body,
    idempotencyKey,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return readReply(response, `${method} ${target.url}${path}`);
}

interface Sent {
  body?: unknown;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal;
}

function request(
  target: Target,
  method: string,
  path: string,
  { body, idempotencyKey, signal }: Sent,
): Promise<Response> {
  return fetch(target.url + path, {
    method,
    headers: {
      ...(target.credential !== null && { Authorization: `Bearer ${target.credential}` }),
      ...target.access,
      Accept: MEDIA_TYPE,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { [IDEMPOTENCY_HEADER]: idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: Error) => {
    const reason = error.cause instanceof Error ? error.cause.message || error.cause.name : error.message;
    const hint = isLocal(target.url) ? '; `npm start` starts a server on this machine' : '';
    throw new Error(`nothing answers at ${target.url} (${reason})${hint}`, { cause: error });
  });
}

async function readReply(response: Response, asked: string): Promise<Reply> {
  const text = await response.text();
  const parsed = parseJson(text);
  if (!parsed.ok) throw new Error(`${asked} answered ${response.status} without JSON: ${text.slice(0, 200)}`);
  return { status: response.status, headers: response.headers, body: parsed.value as Reply['body'] };
}

/** Sends an operation and returns `data`; throws `Refused` on an error. */
export async function callOperation<Id extends OperationId>(
  target: Target,
  id: Id,
  input: OperationInput = {},
): Promise<Success<Id>> {
  const operation: Operation = operations[id];
  const reply = await exchange(
    target,
    operation.method,
    requestAddress(operation, input),
    input.body,
    input.idempotencyKey,
  );
  if (reply.status !== 200) throw new Refused(reply, target);
  return { data: reply.body.data as Data<Id>, replayed: reply.headers.get(REPLAY_HEADER) === 'true' };
}

/** Streams an operation's response line by line; throws `Refused` on an error. */
export async function openLines(
  target: Target,
  { method, path }: Operation,
  input: OperationInput,
): Promise<AsyncIterable<Uint8Array>> {
  const response = await request(target, method, requestAddress({ path }, input), {});
  if (response.status !== 200) throw new Refused(await readReply(response, `${method} ${target.url}${path}`), target);
  return (response.body ?? []) as unknown as AsyncIterable<Uint8Array>;
}

function requestAddress({ path }: Pick<Operation, 'path'>, { params, query }: OperationInput): string {
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ''));
  const search = new URLSearchParams(query).toString();
  return search ? `${address}?${search}` : address;
}

/** A client of the operator API by path. */
export class OperatorClient {
  readonly #target: Target;

  constructor(url: string, token: string) {
    this.#target = { url, credential: token, access: {} };
  }

  send(method: string, path: string, body?: unknown): Promise<Reply> {
    return exchange(this.#target, method, path, body);
  }

  /** Returns `data`; throws on an error. */
  async demand(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await this.send(method, path, body);
    if (reply.status !== 200)
      throw new Error(
        `${method} ${this.#target.url}${path}: ${reply.body.result?.code} ${reply.body.result?.message ?? ''}`,
      );
    return reply.body.data;
  }
}
