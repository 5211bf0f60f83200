/**
 * The service from the command line: one request, one envelope.
 *
 * `exchange` sends to a path, `callOperation` to an entry of the contract's table, which gives the method, the path and
 * the type of the answer. The credential is the operator's token or an API key, as the operation asks.
 */
import type { z } from 'zod';
import { IDEMPOTENCY_HEADER, MEDIA_TYPE, REPLAY_HEADER } from '../contract/envelope.ts';
import { type Operation, type OperationId, operations } from '../contract/operations.ts';

export interface Reply {
  status: number;
  headers: Headers;
  body: { result?: { code: string; message?: string }; data?: unknown; error?: { details?: { path: string; message: string }[] } };
}

/** What an operation answers on success. */
export type Data<Id extends OperationId> = z.output<(typeof operations)[Id]['data']>;

export interface Success<Id extends OperationId> {
  data: Data<Id>;
  /** The answer was stored by an earlier request. */
  replayed: boolean;
}

export interface Target {
  url: string;
  credential: string;
}

export interface OperationInput {
  /** Values of the path's parameters. */
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  idempotencyKey?: string;
}

/** The service refused a request. The message names each field and the rule that it broke. */
export class Refused extends Error {
  readonly reply: Reply;

  constructor(reply: Reply) {
    const { result, error } = reply.body;
    const details = error?.details?.map(({ path, message }) => `\n  ${path}: ${message}`);
    super(`${result?.code ?? reply.status}${details?.length ? details.join('') : `: ${result?.message ?? 'no reason given'}`}`);
    this.reply = reply;
  }
}

const TIMEOUT_MS = 60_000;

export async function exchange(target: Target, method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<Reply> {
  const response = await fetch(target.url + path, {
    method,
    headers: {
      Authorization: `Bearer ${target.credential}`,
      Accept: MEDIA_TYPE,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { [IDEMPOTENCY_HEADER]: idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: Error) => {
    const reason = error.cause instanceof Error ? error.cause.message || error.cause.name : error.message;
    throw new Error(`nothing answers at ${target.url} (${reason}); \`npm start\` starts a server on this machine`, { cause: error });
  });
  const text = await response.text();
  try {
    return { status: response.status, headers: response.headers, body: JSON.parse(text) as Reply['body'] };
  } catch {
    throw new Error(`${method} ${path} answered ${response.status} without JSON: ${text.slice(0, 200)}`);
  }
}

/** The data of a success; throws `Refused` where it is none. */
export async function callOperation<Id extends OperationId>(target: Target, id: Id, input: OperationInput = {}): Promise<Success<Id>> {
  const operation: Operation = operations[id];
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(input.params?.[name] ?? ''));
  const search = new URLSearchParams(input.query).toString();
  const reply = await exchange(target, operation.method, search ? `${path}?${search}` : path, input.body, input.idempotencyKey);
  if (reply.status !== 200) throw new Refused(reply);
  return { data: reply.body.data as Data<Id>, replayed: reply.headers.get(REPLAY_HEADER) === 'true' };
}

/** The operator API by path. */
export class OperatorClient {
  readonly #target: Target;

  constructor(url: string, token: string) {
    this.#target = { url, credential: token };
  }

  send(method: string, path: string, body?: unknown): Promise<Reply> {
    return exchange(this.#target, method, path, body);
  }

  /** The data of a success; throws on a refusal. */
  async demand(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await this.send(method, path, body);
    if (reply.status !== 200) throw new Error(`${method} ${path}: ${reply.body.result?.code} ${reply.body.result?.message ?? ''}`);
    return reply.body.data;
  }
}
