/**
 * Lists, searches and sums of an organization with a million customers, compared with those of one with a thousand:
 * milliseconds per request in interleaved rounds over one connection, and the ratio of the medians. Both organizations
 * are in the same database.
 */
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { encodeCursor } from '../../src/platform/page.ts';
import { provisionSubject, type Subject } from './history.ts';
import { Connection } from './load.ts';
import { signIn } from './pages.ts';
import { customerId, FIRST_NAMES, ID_PREFIX, SMALL_PLAN, writePopulation } from './population.ts';
import { printed } from './report.ts';
import { firstRound, median } from './rounds.ts';
import { openState, operatorOf, PLAN, placeBundle, runServer } from './service.ts';
import type { Column, Options, Row, Suite } from './suite.ts';

const SMALL_CUSTOMERS = 1_000;
/** Requests of one kind in a round, to the one organization and the other in turns; in a short run each once. */
const REQUESTS_PER_ROUND = 8;
/** Pages of a search that are turned before the one that is measured. */
const PAGES_TURNED = 10;
/** Large to small. */
const PROMISED = { of: 'ratio', atMost: 1.2 };
/** Searches that find less than a page look at as many customers as a page may. */
const SCANS = ['search: an id', 'search: that name within a plan', 'search: nothing found'];
const SCAN_PROMISED = { of: 'largeMs', atMost: 200 };

const COLUMNS: readonly Column[] = [
  { key: 'smallMs', heading: 'few, ms', digits: 2 },
  { key: 'largeMs', heading: 'many, ms', digits: 2 },
  { key: 'ratio', heading: 'ratio', digits: 3 },
];

interface Organization extends Subject {
  customers: number;
}

/** The request to send. */
type Ask = (organization: Organization) => string | Promise<string>;

export const customers: Suite = {
  about: 'lists, searches and sums with a million customers against those with a thousand',
  rounds: 5,
  async run({ rounds, customers: largest, short, scope, progress }) {
    progress('starting');
    const stateDir = await openState(scope);
    await placeBundle(stateDir);
    const first = await runServer(scope, stateDir);
    const [small, large] = [await provision(first.url, SMALL_CUSTOMERS), await provision(first.url, largest)];
    await first.stop();
    for (const organization of [small, large])
      await writePopulation(stateDir, organization, organization.customers - 1, progress);
    const { url } = await runServer(scope, stateDir);
    for (const organization of [small, large]) await checkPopulation(url, organization);
    const rows = await measure(url, { small, large }, { rounds, short, progress });
    const title = `${SMALL_CUSTOMERS} and ${largest} customers`;
    return printed('An organization with few customers and one with many', [{ title, columns: COLUMNS, rows }]);
  },
};

async function provision(url: string, customers: number): Promise<Organization> {
  const subject = await provisionSubject(url, 'made');
  const params = { org: subject.organizationId, planId: SMALL_PLAN };
  const { status } = await operatorOf(url).send('putPlan', { params, body: PLAN });
  if (status !== 200) throw new Error(`the plan was answered with ${status}`);
  return { ...subject, customers };
}

/** Throws if the service does not know the written customers: the figures would be meaningless. */
async function checkPopulation(url: string, { key, customers }: Organization): Promise<void> {
  const api = operatorOf(url).with(key);
  const { items } = (await api.send('listCustomers', { query: { search: customerId(customers - 1) } })).data;
  if (items.length !== 1) throw new Error(`the last of ${customers} customers was found ${items.length} times`);
  const { byCustomer } = (await api.send('readUsageSummary')).data;
  if (byCustomer.length !== 200) throw new Error(`the summary of ${customers} customers lists ${byCustomer.length}`);
}

/** The start of the last `days` days, today included. */
const since = (days: number) => new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);

/** The cursor of a later page of a search. */
function turned(url: string, search: string): (organization: Organization) => Promise<string> {
  const cursors = new Map<string, Promise<string>>();
  const turn = async ({ key }: Organization) => {
    const api = operatorOf(url).with(key);
    let cursor = '';
    for (let page = 0; page < PAGES_TURNED; page += 1) {
      const query = { search, limit: '50', ...(cursor && { cursor }) };
      const { nextCursor } = (await api.send('listCustomers', { query })).data;
      if (nextCursor === null) throw new Error(`the search for ${search} ends on page ${page + 1}`);
      cursor = nextCursor;
    }
    return cursor;
  };
  return (organization) => {
    const known = cursors.get(organization.organizationId) ?? turn(organization);
    cursors.set(organization.organizationId, known);
    return known;
  };
}

function requestsOf(url: string): { api: Record<string, Ask>; console: Record<string, Ask> } {
  const name = FIRST_NAMES[0] as string;
  const later = turned(url, ID_PREFIX);
  const own = ({ organizationId }: Organization) => `/console/organizations/${organizationId}`;
  return {
    api: {
      'customers, first page': () => '/customers',
      'customers, 200 on a page': () => '/customers?limit=200',
      'customers, a deep page': () => `/customers?cursor=${encodeCursor(`${ID_PREFIX}e0`)}`,
      'customers of a plan': () => `/customers?planId=${SMALL_PLAN}`,
      'customers of a plan, a deep page': () =>
        `/customers?planId=${SMALL_PLAN}&cursor=${encodeCursor(`${ID_PREFIX}e0`)}`,
      'search: an id': ({ customers }) => `/customers?search=${customerId(customers - 1)}`,
      'search: the prefix of all ids': () => `/customers?search=${ID_PREFIX}`,
      'search: the same, a later page': async (organization) =>
        `/customers?search=${ID_PREFIX}&cursor=${await later(organization)}`,
      'search: a name that a twelfth has': () => `/customers?search=${name}`,
      'search: that name within a plan': () => `/customers?search=${name}&planId=${SMALL_PLAN}&limit=5`,
      'search: nothing found': () => '/customers?search=zzz',
      'summary, 30 days': () => '/usage/summary',
      'summary, 7 days': () => `/usage/summary?from=${since(7)}`,
      'summary, today': () => `/usage/summary?from=${since(1)}`,
      'summary, 90 days': () => `/usage/summary?from=${since(90)}`,
      'summary, 400 days': () => `/usage/summary?from=${since(400)}`,
      'summary of a feature': () => '/usage/summary?feature=feature%201',
      'summary of a customer': ({ customers }) => `/usage/summary?customerId=${customerId(customers - 1)}`,
      anomalies: () => '/usage/anomalies',
      'anomalies, 100 days': () => '/usage/anomalies?days=100',
      'compression summary': () => '/v1/compression/summary',
    },
    console: {
      'usage, 30 days': own,
      'usage, 90 days': (organization) => `${own(organization)}?days=90`,
      customers: (organization) => `${own(organization)}/customers`,
      'customers by a search': (organization) => `${own(organization)}/customers?search=${ID_PREFIX}`,
      calls: (organization) => `${own(organization)}/calls`,
      anomalies: (organization) => `${own(organization)}/anomalies`,
    },
  };
}

async function measure(
  url: string,
  { small, large }: { small: Organization; large: Organization },
  { rounds, short, progress }: Pick<Options, 'rounds' | 'short' | 'progress'>,
): Promise<Row[]> {
  using connection = new Connection();
  const cookie = await signIn(url);
  const { api, console } = requestsOf(url);
  const asked = [
    ...Object.entries(api).map(([name, ask]) => ({
      name,
      ask,
      headersOf: ({ key }: Organization) => ({ Authorization: `Bearer ${key}`, Accept: MEDIA_TYPE }),
    })),
    ...Object.entries(console).map(([name, ask]) => ({
      name: `console: ${name}`,
      ask,
      headersOf: () => ({ Cookie: cookie }),
    })),
  ];
  const times = new Map(asked.map(({ name }) => [name, { small: [] as number[], large: [] as number[] }]));
  for (let round = firstRound(short); round <= rounds; round += 1) {
    for (const { name, ask, headersOf } of asked) {
      progress(`round ${round} of ${rounds}: ${name}`);
      const timed = async (organization: Organization) => {
        const address = url + (await ask(organization));
        const startMs = performance.now();
        await connection.send(address, { headers: headersOf(organization) });
        return performance.now() - startMs;
      };
      for (let n = 0; n < (short ? 1 : REQUESTS_PER_ROUND); n += 1) {
        const [smallMs, largeMs] = [await timed(small), await timed(large)];
        if (round === 0) continue;
        times.get(name)?.small.push(smallMs);
        times.get(name)?.large.push(largeMs);
      }
    }
  }
  return [...times].map(([name, taken]) => {
    const [smallMs, largeMs] = [median(taken.small), median(taken.large)];
    return {
      name,
      figures: { smallMs, largeMs, ratio: largeMs / smallMs },
      promised: SCANS.includes(name) ? SCAN_PROMISED : PROMISED,
    };
  });
}
