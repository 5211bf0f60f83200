/**
 * The cost of begin and end as data grow: a customer's history, an organization's customers, plans and keys. Each size
 * is a separate organization with one calling customer, compared with the smallest size. Rows of each kind are apart (growth-rows.ts).
 *
 * Histories and customers are written into the files while the service is down; plans and keys are created by requests.
 */
import { measureRows } from './growth-rows.ts';
import { checkHistory, provisionSubject, type Subject, writeCustomers, writeHistory } from './history.ts';
import { Connection } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import { printed } from './report.ts';
import { LATENCY_COLUMNS, measureLatencies, measureRates, RATE_COLUMNS, type Target, type Timed } from './rounds.ts';
import { openState, operatorOf, PLAN, placeBundle, type RunningServer, runServer } from './service.ts';
import type { Options, Suite, Table } from './suite.ts';

/** Slower by at most this, whatever has grown. */
const SLOWER_MAX = 1.15;
const LATENCY = { atMost: SLOWER_MAX };
/** The same of a rate. */
const RATE = { atLeast: Number((1 / SLOWER_MAX).toFixed(2)) };

const CUSTOMERS_MAX = 100_000;
const PLANS_AND_KEYS_MAX = 1_000;
/** With few customers there are few plans and keys too. */
const CUSTOMERS_PER_PLAN = 20;
/** The middle size of each, as a part of the largest. */
const MIDDLE = { history: 1 / 100, customers: 1 / 100, plansAndKeys: 1 / 10 };
/** Plans and keys that are created at a time. */
const CREATED_AT_ONCE = 8;

interface Size {
  name: string;
  subject: Subject;
}

export const growth: Suite = {
  about:
    'begin and end with 0 to a million calls or rows of any kind, 1 to 100,000 customers, 1 to 1,000 plans and keys',
  rounds: 5,
  seconds: 1,
  async run(options) {
    const { scope, historyCalls, progress } = options;
    const mostCustomers = Math.min(CUSTOMERS_MAX, options.customers);
    const mostPlans = Math.min(PLANS_AND_KEYS_MAX, Math.ceil(options.customers / CUSTOMERS_PER_PLAN));
    progress('starting');
    const stateDir = await openState(scope);
    await placeBundle(stateDir);
    const first = await runServer(scope, stateDir);
    const [histories, customers, plans] = await Promise.all([
      measureSizes(first.url, 'calls of history', [0, Math.ceil(MIDDLE.history * historyCalls), historyCalls]),
      measureSizes(first.url, 'customers', [1, Math.ceil(MIDDLE.customers * mostCustomers), mostCustomers]),
      measureSizes(first.url, 'plans and keys', [1, Math.ceil(MIDDLE.plansAndKeys * mostPlans), mostPlans]),
    ]);
    for (const [count, { subject }] of plans) {
      progress(`creating ${count} plans and keys`);
      await createPlansAndKeys(first.url, subject, count);
    }
    await first.stop();
    for (const [count, { subject }] of histories) {
      progress(`writing ${count} calls`);
      if (count > 0) await writeHistory(stateDir, subject, count);
    }
    for (const [count, { subject }] of customers) await writeCustomers(stateDir, subject, count - 1);
    const { url, pid, stop } = await runServer(scope, stateDir);
    for (const [count, { subject }] of histories) await checkHistory(url, subject, count);
    for (const [count, { subject }] of customers) await checkCustomers(url, subject, count);
    const tables: Table[] = [];
    for (const sizes of [histories, customers, plans])
      tables.push(...(await measure({ url, pid }, [...sizes.values()], options)));
    await stop();
    tables.push(await measureRows(options, LATENCY));
    return printed('Begin and end as things grow', tables);
  },
};

/** An organization for each size, by the size. */
async function measureSizes(url: string, things: string, counts: readonly number[]): Promise<Map<number, Size>> {
  const sizes = counts.map(async (count): Promise<[number, Size]> => {
    const name = `${count} ${things}`;
    return [count, { name, subject: await provisionSubject(url, name.replaceAll(' ', '-')) }];
  });
  return new Map(await Promise.all(sizes));
}

/** The organization has one of each already. */
async function createPlansAndKeys(url: string, { organizationId: org }: Subject, count: number): Promise<void> {
  const operator = operatorOf(url);
  for (let next = 1; next < count; next += CREATED_AT_ONCE) {
    const names = Array.from(
      { length: Math.min(CREATED_AT_ONCE, count - next) },
      (_, index) => `other-${next + index}`,
    );
    const replies = names.flatMap((name) => [
      operator.send('putPlan', { params: { org, planId: name }, body: PLAN }),
      operator.send('createKey', { params: { org }, body: { name } }),
    ]);
    for (const { status, body } of await Promise.all(replies))
      if (status !== 200) throw new Error(`a plan or key was refused: ${JSON.stringify(body)}`);
  }
}

/** Throws if the service does not list the written customers. */
async function checkCustomers(url: string, { key }: Subject, count: number): Promise<void> {
  const { items } = (
    await operatorOf(url)
      .with(key)
      .send('listCustomers', { query: { limit: '100' } })
  ).data;
  if (items.length !== Math.min(count, 100)) throw new Error(`${items.length} customers are listed, of ${count}`);
}

async function measure(
  { url, pid }: Pick<RunningServer, 'url' | 'pid'>,
  sizes: readonly Size[],
  options: Options,
): Promise<Table[]> {
  using connection = new Connection();
  const loads = sizes.map(({ name, subject }) => ({ name, load: new MeteredLoad(url, subject, [subject.customerId]) }));
  const [smallest] = loads;
  const compared = <P>(name: string, target: string, promised: P) =>
    name === smallest?.name ? {} : { floor: `${target}, ${smallest?.name}`, promised };
  const timed = loads.flatMap(({ name, load }): Timed[] => {
    let callId = '';
    return [
      {
        name: `begin, ${name}`,
        once: async () => {
          callId = await load.beginOnce(connection, { keyed: true });
        },
        ...compared(name, 'begin', LATENCY),
      },
      { name: `end, ${name}`, once: () => load.endOnce(connection, callId), ...compared(name, 'end', LATENCY) },
    ];
  });
  const targets = loads.map(
    ({ name, load }): Target => ({
      name: `begin+end, ${name}`,
      pid,
      load: (seconds) => load.pairs(seconds, { keyed: true }),
      settle: () => load.settle(),
      ...compared(name, 'begin+end', RATE),
    }),
  );
  return [
    { title: 'latencies, one connection', columns: LATENCY_COLUMNS, rows: await measureLatencies(timed, options) },
    { title: 'rates, 16 connections', columns: RATE_COLUMNS, rows: await measureRates(targets, options) },
  ];
}
