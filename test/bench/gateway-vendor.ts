/**
 * A simulated vendor in its own process: chat completions, and streams in the form of every endpoint, that take as long
 * as the prompt specifies. It reports its port to the process that started it.
 *
 * A stream starts after 40 % of that time and then arrives in ten parts. A plain response and each event of a streamed
 * completion contain `vendor_ms`, the time from the request to writing it, so that a late timer of this process is not counted as
 * latency of the gateway.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PARTS, plainCompletion, type StreamForm, streamFormAt } from './vendor-streams.ts';

const FIRST_PART_AT = 0.4;

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
    const { url: path = '' } = request;
    const isStream = body.includes('"stream":true') || path.includes(':stream');
    const answered = isStream ? streamAnswer(response, timing, streamFormAt(path)) : plainAnswer(response, timing);
    answered.catch((error: unknown) => response.destroy(error as Error));
  });
});

async function plainAnswer(response: ServerResponse, timing: Timing): Promise<void> {
  if (timing.totalMs > 0) await sleepUntil(timing, timing.totalMs);
  const body = plainCompletion(elapsedMs(timing));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
}

async function streamAnswer(response: ServerResponse, timing: Timing, form: StreamForm): Promise<void> {
  for (let part = 0; part < PARTS; part += 1) {
    await sleepUntil(timing, timing.totalMs * (FIRST_PART_AT + ((1 - FIRST_PART_AT) * part) / (PARTS - 1)));
    if (part === 0) response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write((part === 0 ? form.begin : '') + form.part(elapsedMs(timing)));
  }
  response.end(form.end(elapsedMs(timing)));
}

const elapsedMs = ({ startedMs }: Timing) => performance.now() - startedMs;

async function sleepUntil(timing: Timing, afterMs: number): Promise<void> {
  await sleep(Math.max(0, afterMs - elapsedMs(timing)));
}

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// Ends with the process that started it.
process.on('disconnect', () => process.exit(0));
