/**
 * Readings of a customer with a million calls, compared with those of a customer with a thousand: milliseconds per
 * reading in interleaved rounds, and the ratio of the medians. Each customer is the only one of an organization.
 */
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { checkHistory, provisionSubject, type Subject, writeHistory } from './history.ts';
import { Connection } from './load.ts';
import { printed } from './report.ts';
import { firstRound, median } from './rounds.ts';
import { openState, placeBundle, runServer } from './service.ts';
import type { Column, Options, Row, Suite } from './suite.ts';

const SMALL_CALLS = 1_000;
const PLAN = { name: 'Bench', limitType: 'NONE' };
/** Readings of one kind in a round, of the one customer and the other in turns; in a short run each once. */
const READINGS_PER_ROUND = 20;
/** Large to small. */
const PROMISED = { of: 'ratio', atMost: 1.2 };

const COLUMNS: readonly Column[] = [
  { key: 'smallMs', heading: 'few calls, ms', digits: 2 },
  { key: 'largeMs', heading: 'many, ms', digits: 2 },
  { key: 'ratio', heading: 'ratio', digits: 3 },
];

const READINGS: Record<string, (customerId: string) => string> = {
  'usage-context': (id) => `/customers/${id}/usage-context`,
  'forecast, dollars': (id) => `/customers/${id}/forecast?metric=dollars`,
  usage: (id) => `/customers/${id}/usage`,
  'summary, 30 days': () => '/usage/summary',
  'summary of a customer': (id) => `/usage/summary?customerId=${id}`,
};

export const readings: Suite = {
  about: 'readings of a customer with a million calls against those of one with a thousand',
  rounds: 7,
  async run({ rounds, historyCalls, short, scope, progress }) {
    progress('starting');
    const stateDir = await openState(scope);
    await placeBundle(stateDir);
    const first = await runServer(scope, stateDir);
    const small = await provisionSubject(first.url, 'small', PLAN);
    const large = await provisionSubject(first.url, 'large', PLAN);
    await first.stop();
    progress(`writing ${historyCalls} calls`);
    await writeHistory(stateDir, small, SMALL_CALLS);
    await writeHistory(stateDir, large, historyCalls);
    const { url } = await runServer(scope, stateDir);
    await checkHistory(url, small, SMALL_CALLS);
    await checkHistory(url, large, historyCalls);
    const rows = await measure(url, { small, large }, { rounds, short, progress });
    const title = `${SMALL_CALLS} and ${historyCalls} calls`;
    return printed('Readings of a customer with few calls and of one with many', [{ title, columns: COLUMNS, rows }]);
  },
};

async function measure(
  url: string,
  { small, large }: { small: Subject; large: Subject },
  { rounds, short, progress }: Pick<Options, 'rounds' | 'short' | 'progress'>,
): Promise<Row[]> {
  using connection = new Connection();
  const times = new Map(Object.keys(READINGS).map((name) => [name, { small: [] as number[], large: [] as number[] }]));
  for (let round = firstRound(short); round <= rounds; round += 1) {
    progress(`round ${round} of ${rounds}`);
    for (const [name, path] of Object.entries(READINGS)) {
      for (let n = 0; n < (short ? 1 : READINGS_PER_ROUND); n += 1) {
        const smallMs = await timeReading(connection, url + path(small.customerId), small.key);
        const largeMs = await timeReading(connection, url + path(large.customerId), large.key);
        if (round === 0) continue;
        times.get(name)?.small.push(smallMs);
        times.get(name)?.large.push(largeMs);
      }
    }
  }
  return [...times].map(([name, taken]) => {
    const [smallMs, largeMs] = [median(taken.small), median(taken.large)];
    return { name, figures: { smallMs, largeMs, ratio: largeMs / smallMs }, promised: PROMISED };
  });
}

async function timeReading(connection: Connection, address: string, key: string): Promise<number> {
  const startMs = performance.now();
  await connection.send(address, { headers: { Authorization: `Bearer ${key}`, Accept: MEDIA_TYPE } });
  return performance.now() - startMs;
}
