/**
 * A receiver of webhooks, in a process of its own: `node webhook-receiver.ts PORT FILE SEED`. It appends each request to the
 * file, with what it answered, and takes it or fails at random: an error after it has recorded the event, a connection that
 * is cut, an answer that never comes. An event fails twice at most.
 */
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { seededRandom } from '../../src/demo/random.ts';

export interface Receipt {
  /** `null` where the connection was cut, or left open. */
  status: number | null;
  headers: Record<string, string>;
  text: string;
}

const FAILURES_MAX = 2;
/** That the first attempt fails, and the second after it. */
const CHANCES = [0.4, 0.2] as const;
const FAILURES = ['error', 'error', 'error', 'error', 'cut', 'cut', 'cut', 'hang'] as const;
const [port = '', file = '', seed = ''] = process.argv.slice(2);
const random = seededRandom(seed);
const failures = new Map<string, number>();

createServer(async (request, response) => {
  const body = await text(request);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const id = headers['webhook-id'] ?? '';
  const failed = failures.get(id) ?? 0;
  const fails = failed < FAILURES_MAX && random() < CHANCES[failed as 0 | 1];
  const kind = fails ? (FAILURES[Math.floor(random() * FAILURES.length)] ?? 'error') : 'take';
  if (fails) failures.set(id, failed + 1);
  const status = kind === 'take' ? 200 : kind === 'error' ? 500 : null;
  appendFileSync(file, `${JSON.stringify({ status, headers, text: body } satisfies Receipt)}\n`);
  if (status !== null) response.writeHead(status).end(kind);
  else if (kind === 'cut') response.destroy();
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
