/**
 * A receiver of webhooks, in a process of its own: `node webhook-receiver.ts PORT FILE SEED`. It appends each request
 * to the file, with its answer, and accepts it or fails at random: an error after it has recorded the event, a cut
 * connection, an answer that never comes. It fails each event at most once, so that a test ends within minutes; a
 * restarted receiver knows them from the file.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { seededRandom } from '../../src/demo/random.ts';

export interface Receipt {
  /** `null` if the connection was cut, or left open. */
  status: number | null;
  headers: Record<string, string>;
  text: string;
}

const CHANCE = 0.5;
const FAILURES = ['error', 'error', 'error', 'error', 'cut', 'cut', 'cut', 'hang'] as const;
const [port = '', file = '', seed = ''] = process.argv.slice(2);
const random = seededRandom(seed);
const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
const seen = new Set(lines.map((line) => (JSON.parse(line) as Receipt).headers['webhook-id']));

createServer(async (request, response) => {
  const body = await text(request);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const id = headers['webhook-id'] ?? '';
  const fails = !seen.has(id) && random() < CHANCE;
  const kind = fails ? (FAILURES[Math.floor(random() * FAILURES.length)] ?? 'error') : 'take';
  seen.add(id);
  const status = kind === 'take' ? 200 : kind === 'error' ? 500 : null;
  appendFileSync(file, `${JSON.stringify({ status, headers, text: body } satisfies Receipt)}\n`);
  if (status !== null) response.writeHead(status).end(kind);
  else if (kind === 'cut') response.destroy();
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
