/**
 * Memory of the workerd process under a steady mix of requests: after each round, and its growth over the second half,
 * when caches are full and code is compiled.
 *
 * The mix has 200 customers: begin and end, an increment, a lookup and a read of usage. A run sends as many requests as
 * possible; the table shows how many, and the hourly rate. No figure is promised: the process's caches are limited by
 * number, and SQLite's by the machine.
 */
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { Connection, loadSteps, type Step } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import { residentMiB } from './process.ts';
import { printed } from './report.ts';
import { createTenantKey, startAlone } from './service.ts';
import type { Column, Row, Suite } from './suite.ts';

const CUSTOMERS = 200;
const HOUR_SECONDS = 3_600;
const SLOPE_REQUESTS = 100_000;

interface Sample {
  requests: number;
  rssMiB: number;
}

const COLUMNS: readonly Column[] = [
  { key: 'requests', heading: 'requests', digits: 0 },
  { key: 'rssMiB', heading: 'MiB', digits: 1 },
];
const GROWTH_COLUMNS: readonly Column[] = [
  { key: 'requests', heading: 'requests', digits: 0 },
  { key: 'hourPerSecond', heading: 'an hour at, /s', digits: 1 },
  { key: 'slopeMiB', heading: 'MiB/100,000', digits: 1 },
];

export const memory: Suite = {
  about: "memory of the process over an hour's worth of requests, compressed",
  shares: true,
  rounds: 10,
  seconds: 6,
  async run(options) {
    const { rounds, seconds, progress } = options;
    progress('starting');
    const { url, pid } = await startAlone(options);
    const tenant = await createTenantKey(url);
    const customers = Array.from({ length: CUSTOMERS }, (_, index) => `customer-${index}`);
    const load = new MeteredLoad(url, tenant, customers);
    using connection = new Connection();
    await load.beginAndEndOnce(connection);
    const reading: Step = {
      path: '/customers/',
      status: 200,
      request: () => ({
        path: `/customers/${load.nextCustomer()}/usage`,
        headers: { Authorization: `Bearer ${tenant.key}`, Accept: MEDIA_TYPE },
      }),
    };
    const lookup: Step = { path: '/v1/model-alternatives/openai/gpt-4o', status: 200, request: {} };
    const steps = [...load.pairSteps({ keyed: true }), ...load.incrementSteps({ keyed: true }), lookup, reading];
    const samples: Sample[] = [{ requests: 0, rssMiB: await residentMiB(pid) }];
    for (let round = 1; round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}`);
      const { requests = 0 } = samples.at(-1) ?? {};
      const { answers } = await loadSteps(url, steps, seconds);
      samples.push({ requests: requests + answers, rssMiB: await residentMiB(pid) });
    }
    return printed('Memory of the workerd process', [
      { title: 'resident', columns: COLUMNS, rows: samples.map(buildRow) },
      { title: 'growth', columns: GROWTH_COLUMNS, rows: [growthOf(samples)] },
    ]);
  },
};

const buildRow = ({ requests, rssMiB }: Sample, index: number): Row => ({
  name: index === 0 ? `${CUSTOMERS} customers, one call each` : `after round ${index}`,
  figures: { requests, rssMiB },
});

/** The line through the samples of the second half that misses them least, by squares. */
function growthOf(samples: readonly Sample[]): Row {
  const requests = samples.at(-1)?.requests ?? 0;
  const half = samples.filter((sample) => sample.requests >= requests / 2);
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanRequests = mean(half.map((sample) => sample.requests));
  const meanMiB = mean(half.map((sample) => sample.rssMiB));
  const along = half.map((sample) => sample.requests - meanRequests);
  const above = half.map((sample, index) => (sample.rssMiB - meanMiB) * (along[index] ?? 0));
  const slope = mean(above) / mean(along.map((distance) => distance ** 2));
  const slopeMiB = half.length > 2 ? slope * SLOPE_REQUESTS : null;
  return { name: 'the second half', figures: { requests, hourPerSecond: requests / HOUR_SECONDS, slopeMiB } };
}
