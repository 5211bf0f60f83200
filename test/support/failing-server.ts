/**
 * A local server that speaks the contract and fails on order: each request takes the next step of a script, and past
 * its end everything works.
 *
 * It keeps idempotency as the service does: a write is applied once a key, and answered with the stored data after
 * that.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CORRELATION_HEADER, IDEMPOTENCY_HEADER, MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { LOOKUP_PATH } from '../../src/contract/model-lookup.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';

export interface Seen {
  method: string;
  path: string;
  query: string;
  headers: Record<string, string>;
  /** The requested operation; `lookup` for the model lookup, empty for no route. */
  operation: string;
  key: string | undefined;
  body: Record<string, unknown> | null;
}

interface Exchange {
  seen: Seen;
  response: ServerResponse;
  /** Applies the request, once for each key, and returns a working server's answer. */
  apply(): unknown;
}

export type Step = (exchange: Exchange) => void;

const JSON_TYPE = { 'Content-Type': 'application/json' };

export const works: Step = ({ response, apply }) => send(response, 200, apply());

/** Answers without having applied anything. */
export function answers(status: number, body: unknown, headers: Record<string, string> = {}): Step {
  return ({ response }) => send(response, status, body, headers);
}

/** A refusal in the service's own shape. */
export function refuses(
  status: number,
  code: string,
  headers: Record<string, string> = {},
  members: object = {},
): Step {
  const message = `because of ${code}`;
  const result = { status: 'ERROR', code, message, timestamp: '2026-11-20T00:00:00.000Z' };
  return answers(status, { result, error: { code, message, ...members }, correlationId: 'from-the-server' }, headers);
}

export function html(status: number): Step {
  return ({ response }) =>
    response
      .writeHead(status, { 'Content-Type': 'text/html' })
      .end('<html><h1>Bad Gateway</h1>secret of a proxy</html>');
}

/** Applied after a while: too late for a client that does not wait. */
export function slow(ms: number): Step {
  return ({ response, apply }) => {
    const data = apply();
    setTimeout(() => send(response, 200, data), ms);
  };
}

/** The headers arrive, the body never ends. */
export const stalls: Step = ({ response, apply }) => {
  response.writeHead(200, JSON_TYPE).write(JSON.stringify(apply()).slice(0, 20));
};

/** The connection breaks in the middle of the body. */
export const cut: Step = ({ response, apply }) => {
  const text = JSON.stringify(apply());
  response.writeHead(200, { ...JSON_TYPE, 'Content-Length': String(text.length) });
  response.write(text.slice(0, 20), () => response.socket?.destroy());
};

export const resetBefore: Step = ({ response }) => response.socket?.resetAndDestroy();

export const resetAfter: Step = ({ response, apply }) => {
  apply();
  response.socket?.resetAndDestroy();
};

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { ...JSON_TYPE, ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body));
}

export class FailingServer {
  readonly seen: Seen[] = [];
  readonly #server: Server;
  readonly #data: (seen: Seen) => object;
  readonly #stored = new Map<string, object>();
  #script: Step[] = [];

  private constructor(data: (seen: Seen) => object) {
    this.#data = data;
    this.#server = createServer((request, response) => void this.#handle(request, response));
  }

  /** `data` makes the answer to a request. */
  static async start(data: (seen: Seen) => object): Promise<FailingServer> {
    const server = new FailingServer(data);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many writes took effect. */
  get applied(): number {
    return this.#stored.size;
  }

  /** Forgets the requests so far, and fails as scripted from the next request on. */
  script(...steps: Step[]): void {
    this.#script = steps;
    this.#stored.clear();
    this.seen.length = 0;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const seen = readRequest(request, text);
    this.seen.push(seen);
    const step = this.#script.shift() ?? works;
    const broken = ruleBroken(seen);
    if (broken !== null) send(response, 406, broken);
    else step({ seen, response, apply: () => this.#apply(seen) });
  }

  #apply(seen: Seen): unknown {
    if (seen.operation === 'lookup') return this.#data(seen);
    const stored = seen.key === undefined ? undefined : this.#stored.get(`${seen.operation} ${seen.key}`);
    const data = stored ?? this.#data(seen);
    if (seen.key !== undefined) this.#stored.set(`${seen.operation} ${seen.key}`, data);
    const { code } = operations[seen.operation as keyof typeof operations] as Operation;
    const result = { status: 'ACCEPTED', code, timestamp: '2026-11-20T00:00:00.000Z' };
    return { result, data, correlationId: seen.headers[CORRELATION_HEADER] ?? '' };
  }
}

function readRequest(request: IncomingMessage, text: string): Seen {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  const headers = request.headers as Record<string, string>;
  const method = request.method ?? '';
  const found = Object.values<Operation>(operations).find(
    (operation) => operation.method === method && patternOf(operation.path).test(pathname),
  );
  const operation = pathname.startsWith(LOOKUP_PATH) ? 'lookup' : (found?.operationId ?? '');
  const body = text === '' ? null : (JSON.parse(text) as Record<string, unknown>);
  return {
    method,
    path: pathname,
    query: search,
    headers,
    operation,
    key: headers[IDEMPOTENCY_HEADER.toLowerCase()],
    body,
  };
}

/** The rules of every request, whatever the script. */
function ruleBroken({ operation, headers, body }: Seen): string | null {
  if (operation === '') return 'no such route';
  if (operation === 'lookup') return headers.authorization === undefined ? null : 'a lookup must not carry a key';
  if (headers.accept !== MEDIA_TYPE) return 'the Accept header must name the media type';
  if (headers.authorization === undefined) return 'the Authorization header is missing';
  return body === null || headers['content-type'] === 'application/json' ? null : 'the body must be JSON';
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
}
