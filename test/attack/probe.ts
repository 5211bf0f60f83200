/**
 * A thread that acts as an honest tenant during an attack: it begins a call every few milliseconds and reports the
 * latencies.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

export interface ProbeOptions {
  url: string;
  key: string;
}

export interface ProbeReport {
  latenciesMs: number[];
  failed: number;
}

const EVERY_MS = 15;
const WARM_BEGINS = 20;

const { url, key } = workerData as ProbeOptions;
let stopped = false;
parentPort?.once('message', () => {
  stopped = true;
});

async function beginOne(): Promise<boolean> {
  const response = await fetch(`${url}/call_begin`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      Accept: 'application/vnd.service.v1+json',
      'Content-Type': 'application/json',
      'Idempotency-Key': crypto.randomUUID(),
    },
    body: JSON.stringify({ customerId: 'honest' }),
  });
  await response.arrayBuffer();
  return response.status === 200;
}

for (let warm = 0; warm < WARM_BEGINS; warm += 1) await beginOne();
parentPort?.postMessage('ready');
const report: ProbeReport = { latenciesMs: [], failed: 0 };
while (!stopped) {
  const startedMs = performance.now();
  const done = await beginOne().catch(() => false);
  report.latenciesMs.push(performance.now() - startedMs);
  if (!done) report.failed += 1;
  await sleep(EVERY_MS);
}
parentPort?.postMessage(report);
