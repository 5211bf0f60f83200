/**
 * Requests per second of several targets, measured side by side in one run.
 *
 * Rounds are interleaved, so that a slow minute of the machine touches every target, and what counts is the median over
 * the rounds of each target's ratio to the floor of the same round.
 */
import autocannon from 'autocannon';

export interface Target {
  name: string;
  url: string;
  headers?: Record<string, string>;
  method?: 'GET' | 'POST';
  body?: string;
  /** What differs from request to request, in turns. */
  requests?: { headers: Record<string, string> }[];
  /** What every answer must be. */
  status: number;
}

export interface Measured {
  name: string;
  requestsPerSecond: number;
  /** To the floor, the first target. */
  ratio: number;
}

const CONNECTIONS = 16;

/** Measures all targets in each round. Throws when a target answers anything but what it should. */
export async function measure(targets: readonly Target[], rounds: number, secondsPerRound: number): Promise<Measured[]> {
  const rates = targets.map(() => [] as number[]);
  for (const target of targets) await load(target, 1);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, target] of targets.entries()) {
      rates[index]?.push(await load(target, secondsPerRound));
      process.stderr.write(`\r  round ${round + 1} of ${rounds}: ${target.name.padEnd(24)}`);
    }
  }
  process.stderr.write('\r'.padEnd(60, ' ').concat('\r'));
  return targets.map(({ name }, index) => ({
    name,
    requestsPerSecond: Math.round(median(rates[index] ?? [])),
    ratio: Number(median((rates[index] ?? []).map((rate, round) => rate / (rates[0]?.[round] ?? Number.NaN))).toFixed(3)),
  }));
}

async function load({ name, url, headers = {}, method = 'GET', body, requests, status }: Target, seconds: number): Promise<number> {
  const more = { ...(body !== undefined && { body }), ...(requests && { requests }) };
  const result = await autocannon({ url, headers, method, ...more, connections: CONNECTIONS, duration: seconds });
  const others = Object.keys(result.statusCodeStats ?? {}).filter((code) => Number(code) !== status);
  if (others.length > 0 || result.errors > 0)
    throw new Error(`${name} answered ${others.join(', ') || 'with errors'} instead of ${status}`);
  return result.requests.average;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? Number.NaN) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
