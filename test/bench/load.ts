/**
 * Load over HTTP: many connections at once to measure rates, or one request after another to measure latencies.
 *
 * Every response is checked. A wrong one ends the benchmark with its text.
 */
import { Agent, request as httpRequest } from 'node:http';
import autocannon from 'autocannon';

const CONNECTIONS = 16;
/** Between two looks at whether a few requests are all answered. */
const FEW_POLL_MS = 20;
/** Only ends what hangs: a busy machine is slow. */
const REQUEST_SECONDS_MAX = 120;
/** Of an answer that is not what it should be. */
const BODY_LENGTH_MAX = 500;

export interface HttpRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
}

/** What a connection notes from an answer for its next requests. */
interface Memory {
  callId?: string;
}

/** Requests of one connection, in order and again and again. */
export interface Step {
  path: string;
  /** The status of every answer. */
  status: number;
  /** What every request is like, or what each one is like when it is sent. The first costs the client less. */
  request: HttpRequest | ((memory: Memory) => HttpRequest & { path?: string });
  answered?(body: string, memory: Memory): void;
}

/** What was answered, and how long that took. */
export interface Load {
  answers: number;
  seconds: number;
}

/** Asks from 16 connections for so long, or each once where that is 0. Throws where an answer is not as it should be. */
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

/** One connection that is kept open, or as many as there are requests at the same time. */
export class Connection implements Disposable {
  readonly #agent: Agent;

  constructor(sockets = 1) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets });
  }

  /** The body of the answer. `onData` sees its parts as they arrive. Throws where its status is not 200. */
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
          else reject(new Error(`${method} ${url} answered ${response.statusCode}: ${text.slice(0, BODY_LENGTH_MAX)}`));
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
