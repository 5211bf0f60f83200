/**
 * Pages of a large organization: a million calls of ten thousand customers in sixty days, spread over hours, features
 * and models; half of them have the same feature. It measures the first request in a new isolate and later ones, and
 * the processor time of workerd including D1, which is more reliable on a busy machine.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Server } from '../../src/cli/server.ts';
import { encodeCursor } from '../../src/platform/page.ts';
import { OPERATOR_TOKEN } from '../support/api.ts';
import { countCalls } from '../support/usage.ts';
import { openD1, provisionSubject, type Subject, writeCustomers } from './history.ts';
import { Connection, type HttpRequest } from './load.ts';
import { processorMs, workerdProcesses } from './process.ts';
import { printed } from './report.ts';
import { firstRound, median } from './rounds.ts';
import { openState, operatorOf, placeBundle, runServer } from './service.ts';
import type { Column, Options, Row, Suite } from './suite.ts';

const DAY_MS = 86_400_000;
const HISTORY_DAYS = 60;
const CUSTOMERS = 10_000;
/** Calls that one statement writes. */
const CHUNK_CALLS = 20_000;
/** The features of the calls: one with a sixteenth of them, and the one with the most. */
const FEATURES_ASKED = ['feature 1', 'feature 0'] as const;
/** Later requests of each page in a round. Processor time is counted in steps of ten milliseconds. */
const REQUESTS_PER_ROUND = 10;
/** Each round of first requests starts the service anew for each page; in a short run for so many pages. */
const FIRST_ROUNDS_MAX = 3;
const SHORT_PAGES_PER_START = 10;
/** D1 writes the rest of the previous page in this time. */
const REST_MS = 50;
const PROMISED = { of: 'laterMs', atMost: 100 };

const COLUMNS: readonly Column[] = [
  { key: 'firstMs', heading: 'first, ms', digits: 1 },
  { key: 'laterMs', heading: 'later, ms', digits: 1 },
  { key: 'processorMs', heading: 'CPU ms each', digits: 1 },
  { key: 'kilobytes', heading: 'KB', digits: 0 },
];

export const pages: Suite = {
  about: 'pages over a million calls of ten thousand customers',
  rounds: 5,
  seconds: 1,
  async run({ rounds, historyCalls, short, scope, progress }) {
    progress('starting');
    const stateDir = await openState(scope);
    await placeBundle(stateDir);
    const first = await runServer(scope, stateDir);
    const subject = await provisionSubject(first.url, 'other-0');
    await first.stop();
    await writeCustomers(stateDir, subject, CUSTOMERS - 1);
    await writeCalls(stateDir, subject, historyCalls, progress);
    const second = await runServer(scope, stateDir);
    await checkCalls(second.url, subject, historyCalls + 1);
    const targets = await buildTargets(second.url, subject);
    const later = await measureLater(second.url, targets, { rounds, short, progress });
    await second.stop();
    const earliest = await measureFirst(targets, () => runServer(scope, stateDir), { rounds, short, progress });
    const rows = targets.map(({ name }): Row => {
      const { taken = [], processor = [], kilobytes = 0 } = later.get(name) ?? {};
      const figures = { firstMs: median(earliest.get(name) ?? []), laterMs: median(taken), kilobytes };
      return {
        name,
        figures: { ...figures, processorMs: processor.length > 0 ? median(processor) : null },
        promised: PROMISED,
      };
    });
    const title = `${historyCalls} calls, ${CUSTOMERS} customers`;
    return printed('Pages over a big organization', [{ title, columns: COLUMNS, rows }]);
  },
};

interface Target {
  name: string;
  path: string;
  /** Made before each request, and not counted: a token in it does not last. */
  request: (url: string) => HttpRequest | Promise<HttpRequest>;
}

/**
 * Copies of the one call that was made, while the service is down. The copies differ by their number, multiplied by
 * large primes modulo 2^32, so that they are the same in every run; the first twenty customers have an eighth of the
 * calls.
 */
async function writeCalls(
  stateDir: string,
  { organizationId }: Subject,
  calls: number,
  progress: Options['progress'],
): Promise<void> {
  using db = await openD1(stateDir);
  const columns = db
    .prepare("SELECT name FROM pragma_table_info('calls')")
    .all()
    .map(({ name }) => String(name));
  const changed: Record<string, string> = {
    call_id: `'in ' || n`,
    customer_id: `'other-' || CAST(${CUSTOMERS} * facts.customer * facts.customer * facts.customer AS INTEGER)`,
    feature: `'feature ' || MAX(0, facts.feature % 16 - 8)`,
    status: `CASE WHEN facts.outcome < 0.95 THEN 'COMPLETED' WHEN facts.outcome < 0.98 THEN 'FAILED' WHEN facts.outcome < 0.99 THEN 'TIMEOUT' ELSE 'NOT_ALLOWED' END`,
    started_at_ms: 'at_ms - 2000',
    finished_at_ms: 'at_ms',
    usage_provider: `CASE WHEN facts.outcome < 0.98 THEN 'vendor-' || (facts.model % 4) ELSE made.usage_provider END`,
    model_key: `CASE WHEN facts.outcome < 0.98 THEN 'vendor-' || (facts.model % 4) || '/model-' || (facts.model % 12) END`,
    input_tokens: 'CASE WHEN facts.outcome < 0.98 THEN 500 + facts.model % 4000 END',
    // One in a thousand has no price.
    cost_nano_usd:
      'CASE WHEN facts.outcome > 0.001 AND facts.outcome < 0.98 THEN (500 + facts.model % 4000) * (1 + facts.model % 12) * 1000 END',
    record: `'{}'`,
  };
  const hashed = (prime: number) => `(n * ${prime} % 4294967296)`;
  const values = columns.map((name) => changed[name] ?? `made.${name}`).join(', ');
  const statement = db.prepare(`
    WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?2),
    facts AS (SELECT n, ${hashed(2_654_435_761)} / 4294967296.0 AS customer, ${hashed(668_265_263)} AS feature, ${hashed(3_266_489_917)} AS model,
      ${hashed(374_761_393)} / 4294967296.0 AS outcome, ?3 - ${hashed(2_246_822_519)} % ${HISTORY_DAYS * DAY_MS} AS at_ms FROM numbers)
    INSERT INTO calls (${columns.join(', ')}) SELECT ${values} FROM facts
    CROSS JOIN (SELECT * FROM calls WHERE organization_id = ?4 ORDER BY call_id DESC LIMIT 1) made`);
  for (let written = 0; written < calls; written += CHUNK_CALLS) {
    progress(`writing call ${written} of ${calls}`);
    const before = Number(db.prepare('SELECT MAX(rowid) AS n FROM calls').get()?.n);
    // Numbers would be read as floating, and a feature be called `feature 1.0`.
    statement.run(BigInt(written), BigInt(Math.min(written + CHUNK_CALLS, calls)), BigInt(Date.now()), organizationId);
    for (const sql of countCalls(`rowid > ${before}`)) db.exec(sql);
  }
}

/** Throws if the service does not know the written calls: the figures would be meaningless. */
async function checkCalls(url: string, { key }: Subject, calls: number): Promise<void> {
  const from = new Date(Date.now() - (HISTORY_DAYS + 1) * DAY_MS).toISOString().slice(0, 10);
  const { totals, byCustomer, byFeature } = (
    await operatorOf(url).with(key).send('readUsageSummary', { query: { from } })
  ).data;
  if (totals.calls !== calls) throw new Error(`${totals.calls} calls instead of ${calls}`);
  for (const feature of FEATURES_ASKED)
    if (!byFeature.some((used) => used.feature === feature)) throw new Error(`no calls of ${feature}`);
  if (byCustomer[0]?.customerId !== 'other-0') throw new Error(`${byCustomer[0]?.customerId} has the highest cost`);
}

async function buildTargets(url: string, { organizationId, customerId, key }: Subject): Promise<Target[]> {
  const cookie = await signIn(url);
  const embedKey = (
    await operatorOf(url).send('createKey', {
      params: { org: organizationId },
      body: { name: 'embed', scopes: ['embeds:read'], prefix: 'ek-' },
    })
  ).data.key;
  const { callId } = (await operatorOf(url).with(key).send('beginCall', { body: { customerId } })).data;
  const own = `/console/organizations/${organizationId}`;
  const consolePages = {
    overview: '/console',
    organizations: '/console/organizations',
    'usage, 30 days': own,
    'usage, 7 days': `${own}?days=7`,
    'usage, 90 days': `${own}?days=90`,
    'usage of a customer': `${own}?customerId=${customerId}`,
    'usage of a feature': `${own}?${new URLSearchParams({ feature: FEATURES_ASKED[0] })}`,
    'usage of the largest feature': `${own}?${new URLSearchParams({ feature: FEATURES_ASKED[1] })}`,
    'margin by plan': `${own}/margin`,
    'margin by feature': `${own}/margin?by=feature`,
    'margin by model': `${own}/margin?by=model`,
    'anomalies, 60 days': `${own}/anomalies`,
    'anomalies, 100 days': `${own}/anomalies?days=100`,
    customers: `${own}/customers`,
    'customers by a search': `${own}/customers?search=r-99`,
    'customers, nothing found': `${own}/customers?search=zzz`,
    'customers near a limit': `${own}/customers?nearLimit=0.8`,
    'customers that fail': `${own}/customers?failing=0.1`,
    'customers that fail, none': `${own}/customers?failing=1`,
    'customers not profitable': `${own}/customers?unprofitable=true`,
    'customers of a model that ends': `${own}/customers?endingModel=true`,
    'customers, page 2': `${own}/customers?sort=customerId&cursor=${encodeCursor('other-5')}`,
    'a customer': `${own}/customers/${customerId}`,
    calls: `${own}/calls`,
    'calls of a status': `${own}/calls?status=FAILED`,
    'denied calls': `${own}/calls?status=NOT_ALLOWED`,
    'calls without a price': `${own}/unpriced`,
    'models that end': `${own}/ending-models`,
    'a call': `${own}/calls/${encodeURIComponent(callId)}`,
    plans: `${own}/plans`,
    'a plan': `${own}/plans/test`,
    keys: `${own}/keys`,
    'model mappings': `${own}/models`,
    vendors: `${own}/vendors`,
    sampling: `${own}/sampling`,
    samples: `${own}/samples`,
    compression: `${own}/compression`,
    'events of the organization': `${own}/events`,
    settings: `${own}/settings`,
    catalog: '/console/catalog',
    events: '/console/events',
    health: '/console/health',
  };
  const publicPages = {
    'API reference': '/docs',
    'API reference, an operation': '/docs/endCall',
    'OpenAPI document': '/openapi.json',
    models: '/models',
    'a model': '/models/openai/gpt-4o',
  };
  const widgetForm = async (address: string): Promise<HttpRequest> => {
    const { token } = (await operatorOf(address).with(embedKey).send('createEmbedSession', { body: { customerId } }))
      .data;
    return { method: 'POST', body: new URLSearchParams({ token }).toString() };
  };
  return [
    ...Object.entries(consolePages).map(([name, path]) => ({
      name: `console: ${name}`,
      path,
      request: () => ({ headers: { Cookie: cookie } }),
    })),
    ...Object.entries(publicPages).map(([name, path]) => ({ name, path, request: () => ({}) })),
    { name: 'usage widget', path: '/embed', request: widgetForm },
  ];
}

/** The cookie of a session. */
export async function signIn(url: string): Promise<string> {
  const body = new URLSearchParams({ token: OPERATOR_TOKEN });
  const response = await fetch(`${url}/console/sign-in`, {
    method: 'POST',
    body,
    headers: { Origin: url },
    redirect: 'manual',
  });
  const [cookie] = (response.headers.get('Set-Cookie') ?? '').split(';');
  if (!cookie) throw new Error(`signing in answered ${response.status}`);
  return cookie;
}

interface Later {
  taken: number[];
  /** The processor time of a request, in each round. */
  processor: number[];
  kilobytes: number;
}

type Rounds = Pick<Options, 'rounds' | 'short' | 'progress'>;

/** Every page in turns. */
async function measureLater(
  url: string,
  targets: readonly Target[],
  { rounds, short, progress }: Rounds,
): Promise<Map<string, Later>> {
  using connection = new Connection();
  const measured = new Map<string, Later>(
    targets.map(({ name }) => [name, { taken: [], processor: [], kilobytes: 0 }]),
  );
  const [pid = 0] = await workerdProcesses();
  const requests = short ? 1 : REQUESTS_PER_ROUND;
  for (let round = firstRound(short); round <= rounds; round += 1) {
    for (const { name, path, request } of targets) {
      progress(`round ${round} of ${rounds}: ${name}`);
      const sent = await request(url);
      const before = await processorMs(pid);
      const taken: number[] = [];
      for (let n = 0; n < requests; n += 1) {
        const startMs = performance.now();
        const body = await connection.send(url + path, sent);
        taken.push(performance.now() - startMs);
        const own = measured.get(name);
        if (own) own.kilobytes = Buffer.byteLength(body) / 1_024;
      }
      const after = await processorMs(pid);
      if (round === 0) continue;
      measured.get(name)?.taken.push(...taken);
      if (before !== null && after !== null) measured.get(name)?.processor.push((after - before) / requests);
    }
  }
  return measured;
}

/**
 * Each page as the first one that an isolate is asked for, or in a short run as one of the first. That it starts, which
 * another suite measures, comes before.
 */
async function measureFirst(
  targets: readonly Target[],
  run: () => Promise<Server>,
  { rounds, short, progress }: Rounds,
): Promise<Map<string, number[]>> {
  const measured = new Map<string, number[]>(targets.map(({ name }) => [name, []]));
  const pagesPerStart = short ? SHORT_PAGES_PER_START : 1;
  for (let round = 1; round <= Math.min(rounds, FIRST_ROUNDS_MAX); round += 1) {
    for (let first = 0; first < targets.length; first += pagesPerStart) {
      const server = await run();
      using connection = new Connection();
      await fetch(`${server.url}/nothing-is-here`);
      for (const { name, path, request } of targets.slice(first, first + pagesPerStart)) {
        progress(`first requests, round ${round}: ${name}`);
        const sent = await request(server.url);
        await sleep(REST_MS);
        const startMs = performance.now();
        await connection.send(server.url + path, sent);
        measured.get(name)?.push(performance.now() - startMs);
      }
      await server.stop();
    }
  }
  return measured;
}
