/**
 * Load over HTTP: many connections at once to measure rates, or one request after another to measure latencies.
 *
 * Every response is checked. A wrong one ends the benchmark with its text.
 */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import autocannon from 'autocannon';

const CONNECTIONS = 16;
/** Between two looks at whether a few requests are all answered. */
const FEW_POLL_MS = 20;
/** Only ends requests that hang: a busy machine is slow. */
const REQUEST_SECONDS_MAX = 120;
/** The part of a wrong answer that is printed. */
const BODY_LENGTH_MAX = 500;

export interface HttpRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
}

/** The facts that a connection keeps from an answer for its next requests. */
interface Memory {
  callId?: string;
}

/** Requests of one connection, in order and again and again. */
export interface Step {
  path: string;
  /** The status of every answer. */
  status: number;
  /** Every request, or a function that makes each one when it is sent. The first costs the client less. */
  request: HttpRequest | ((memory: Memory) => HttpRequest & { path?: string });
  answered?(body: string, memory: Memory): void;
}

/** The answers, and their times. */
export interface Load {
  answers: number;
  seconds: number;
}

/** Sends requests from 16 connections for this long, or each once if it is 0. Throws if an answer is wrong. */
export async function loadSteps(url: string, steps: readonly Step[], seconds: number): Promise<Load> {
  const wrong: string[] = [];
  const requests = steps.map(({ path, status, request, answered }): autocannon.Request => {
    if (typeof request !== 'function') return { path, ...request };
    return {
      path,
      setupRequest: (sent, memory) => ({ ...sent, ...request(memory) }),
      onResponse: (code, body, memory) => {
        if (code !== status)
          wrong.push(`${path} answered ${code} instead of ${status}: ${body.slice(0, BODY_LENGTH_MAX)}`);
        else answered?.(body, memory);
      },
    };
  });
  const result = await autocannon({
    url,
    requests,
    connections: CONNECTIONS,
    ...(seconds > 0 ? { duration: seconds } : { amount: CONNECTIONS * requests.length, sampleInt: FEW_POLL_MS }),
    timeout: REQUEST_SECONDS_MAX,
  });
  const expected = new Set(steps.map(({ status }) => String(status)));
  const others = Object.keys(result.statusCodeStats ?? {}).filter((code) => !expected.has(code));
  if (others.length > 0) wrong.push(`${url} answered ${others.join(', ')} instead of ${[...expected].join(', ')}`);
  if (result.errors > 0) wrong.push(`${url}: ${result.errors} requests were not answered`);
  if (result.requests.total === 0) wrong.push(`${url} answered nothing`);
  if (wrong.length > 0) throw new Error(wrong[0]);
  return { answers: result.requests.total, seconds: result.duration };
}

/** An answer with another status than 200. */
export class UnexpectedStatus extends Error {
  override readonly name = 'UnexpectedStatus';
  readonly status: number | undefined;
  /** The header `Retry-After`. */
  readonly retryAfter: string | undefined;

  constructor(message: string, { statusCode, headers }: IncomingMessage) {
    super(message);
    this.status = statusCode;
    this.retryAfter = headers['retry-after'];
  }
}

/** One connection that is kept open, or as many as there are requests at the same time. */
export class Connection implements Disposable {
  readonly #agent: Agent;

  constructor(sockets = 1) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets });
  }

  /** The body of the answer. `onData` gets its parts when they arrive. Throws if its status is not 200. */
  send(
    url: string,
    { method = 'GET', headers = {}, body }: HttpRequest = {},
    onData?: (part: Buffer) => void,
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
      const options = {
        method,
        agent: this.#agent,
        headers: { ...headers, ...length },
        timeout: REQUEST_SECONDS_MAX * 1_000,
      };
      const sent = httpRequest(url, options, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => {
          parts.push(part);
          onData?.(part);
        });
        // An answer that breaks off.
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          if (response.statusCode === 200) resolve(text);
          else {
            const answered = `${method} ${url} answered ${response.statusCode}: ${text.slice(0, BODY_LENGTH_MAX)}`;
            reject(new UnexpectedStatus(answered, response));
          }
        });
      });
      sent.on('timeout', () =>
        sent.destroy(new Error(`${method} ${url} was not answered in ${REQUEST_SECONDS_MAX} s`)),
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
