/**
 * A simulated vendor in its own process: chat completions, plain or streamed, that take as long as the prompt
 * specifies. It reports its port to the process that started it.
 *
 * A stream starts after 40 % of that time and then arrives in ten parts. A plain response and each event of a stream
 * contain `vendor_ms`, the time from the request to writing it, so that a late timer of this process is not counted as
 * latency of the gateway.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const WORDS = 40;
const PARTS = 10;
const FIRST_PART_AT = 0.4;

const head = { id: 'chatcmpl-bench', created: 1_760_000_000, model: 'gpt-5.2' };
const usage = { prompt_tokens: 12, completion_tokens: WORDS, total_tokens: 12 + WORDS };

/** When a request arrived, and how long its answer takes. */
interface Timing {
  startedMs: number;
  totalMs: number;
}

const server = createServer((request, response) => {
  const startedMs = performance.now();
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts).toString();
    const timing = { startedMs, totalMs: Number(/answer after (\d+) ms/.exec(body)?.[1] ?? 0) };
    const answer = body.includes('"stream":true') ? streamAnswer : plainAnswer;
    answer(response, timing).catch((error: unknown) => response.destroy(error as Error));
  });
});

async function plainAnswer(response: ServerResponse, timing: Timing): Promise<void> {
  if (timing.totalMs > 0) await sleepUntil(timing, timing.totalMs);
  const message = { role: 'assistant', content: 'word '.repeat(WORDS) };
  const body = JSON.stringify({
    ...head,
    object: 'chat.completion',
    vendor_ms: elapsedMs(timing),
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
}

async function streamAnswer(response: ServerResponse, timing: Timing): Promise<void> {
  for (let part = 0; part < PARTS; part += 1) {
    await sleepUntil(timing, timing.totalMs * (FIRST_PART_AT + ((1 - FIRST_PART_AT) * part) / (PARTS - 1)));
    if (part === 0) response.writeHead(200, { 'content-type': 'text/event-stream' });
    const words = eventOf(timing, [{ index: 0, delta: { content: 'word ' }, finish_reason: null }]);
    response.write(words.repeat(WORDS / PARTS));
  }
  const stop = eventOf(timing, [{ index: 0, delta: {}, finish_reason: 'stop' }]);
  response.end(`${stop}${eventOf(timing, [], { usage })}data: [DONE]\n\n`);
}

function eventOf(timing: Timing, choices: unknown[], more: object = {}): string {
  const chunk = { ...head, object: 'chat.completion.chunk', vendor_ms: elapsedMs(timing), choices, ...more };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

const elapsedMs = ({ startedMs }: Timing) => performance.now() - startedMs;

async function sleepUntil(timing: Timing, afterMs: number): Promise<void> {
  await sleep(Math.max(0, afterMs - elapsedMs(timing)));
}

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// Ends with the process that started it.
process.on('disconnect', () => process.exit(0));
