/**
 * Sends raw requests: any bytes as body, duplicate headers, paths that no client would send.
 */
import { Agent, request } from 'node:http';
import type { FuzzRequest } from './requests.ts';

export interface FuzzAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

const ANSWER_MS_MAX = 60_000;

export class Sender {
  readonly #agent: Agent;
  readonly #url: URL;

  constructor(url: string, connections: number) {
    this.#url = new URL(url);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Throws if no answer arrives. */
  send({ method, path, headers, body }: FuzzRequest): Promise<FuzzAnswer> {
    const { hostname, port } = this.#url;
    const length = body === null ? [] : ['Content-Length', String(body.length)];
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          agent: this.#agent,
          hostname,
          port,
          method,
          path: path.replace(/[^\x21-\x7e]/g, '%20'),
          headers: ['Host', `${hostname}:${port}`, ...headers, ...length],
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString(),
            }),
          );
        },
      );
      outgoing.setTimeout(ANSWER_MS_MAX, () => outgoing.destroy(new Error('no answer in time')));
      outgoing.on('error', reject);
      outgoing.end(body ?? undefined);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
