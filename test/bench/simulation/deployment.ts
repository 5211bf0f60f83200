/**
 * The model of a deployment: the resources for so many calls a day, from measured counts and times, the shape of a real
 * day, and Zipf's law for organizations and customers.
 *
 * Organizations are assigned to databases like in the service, to the one with the most room. Two databases are
 * simulated at the busiest hour: that of the largest organization, and a typical one.
 */
import { chance } from '../../support/series.ts';
import { countOfCall, type Part, rowsOfTransaction, type Shared, usageOfCall } from './call-cost.ts';
import { CODING_SHARE, largestShare, MINUTE_VARIATION, PEAK_BY_MEAN, shareBeyond } from './day.ts';
import { ASSUMED, BYTES, D1_MS, LIMITS, OBJECT_REQUESTS_PER_SECOND, PAIR_CPU_MS, SETTINGS } from './measured.ts';
import { marginalDollars, monthDollars, NO_USAGE, sumUsage, total, type Usage } from './prices.ts';
import { type QueueResult, runQueue, type Source } from './queue.ts';

const DAY_SECONDS = 86_400;
const MONTH_DAYS = 30;
const SIMULATED_SECONDS = 300;

/** A limit: how much of it is used, 1 being all. */
interface Load {
  what: string;
  share: number;
}

export interface Answer {
  callsPerDay: number;
  customers: number;
  organizations: number;
  peakCallsPerSecond: number;
  objectsAwake: number;
  processors: number;
  largestOrganizationShare: number;
  largestCustomerCallsPerSecond: number;
  d1BytesPerDay: number;
  /** Databases for the default retention, 80 % full. */
  databasesWanted: number;
  /** The days of calls for which all databases have room, and those of the largest organization's database. */
  daysKept: number;
  largestDaysKept: number;
  typical: QueueResult;
  largest: QueueResult;
  rowsPerSecond: number;
  largestRowsPerSecond: number;
  loads: Load[];
  pastShare: number;
  /** Each part's dollars for a million calls, without what the plan includes. */
  dollars: Record<Part, number>;
  dollarsPerMonth: number;
}

/** The rows that a D1 transaction writes. A change is the begin of a call or its end, or both; the end is counted in sums. */
export function countRows(changes: number, organizations: number): number {
  return rowsOfTransaction(changes / countOfCall('handOvers'), organizations);
}

const transactionMs = (changes: number, organizations: number) =>
  D1_MS.transaction + D1_MS.row * countRows(changes, organizations);

/** The share of all calls that the largest database has, and the shares of its organizations and of a typical one's. */
export function placed(organizations: number, databases: number): { largest: number[]; typical: number[] } {
  const first = largestShare(organizations);
  const filled = Array.from({ length: databases }, (): { sum: number; shares: number[] } => ({ sum: 0, shares: [] }));
  for (let rank = 1; rank <= organizations; rank += 1) {
    const emptiest = filled.reduce((least, other) => (other.sum < least.sum ? other : least));
    emptiest.sum += first / rank;
    emptiest.shares.push(first / rank);
  }
  const [largest, ...others] = filled.toSorted((a, b) => b.sum - a.sum);
  const typical = others[Math.floor(others.length / 2)] ?? largest;
  return { largest: largest?.shares ?? [], typical: typical?.shares ?? [] };
}

export function answerFor(callsPerDay: number, seed = 1): Answer {
  const customers = callsPerDay / ASSUMED.callsPerCustomerDay;
  const organizations = customers / ASSUMED.customersPerOrganization;
  const perSecond = callsPerDay / DAY_SECONDS;
  const peakCallsPerSecond = perSecond * PEAK_BY_MEAN;
  const { largest, typical } = placed(organizations, LIMITS.databases);
  const queueOf = (shares: readonly number[]) => simulated(shares, peakCallsPerSecond * countOfCall('handOvers'), seed);
  const [largestQueue, typicalQueue] = [queueOf(largest), queueOf(typical)];
  const sumShares = (shares: readonly number[]) => shares.reduce((sum, share) => sum + share, 0);
  const rowsPerSecond = (shares: readonly number[], queue: QueueResult) => {
    const changes = peakCallsPerSecond * countOfCall('handOvers') * sumShares(shares);
    return (
      queue.transactionsPerSecond *
      countRows(changes / Math.max(queue.transactionsPerSecond, 1e-9), queue.organizationsPerTransaction)
    );
  };
  const largestOrganizationShare = largestShare(organizations);
  const largestCustomerCallsPerSecond = peakCallsPerSecond * largestShare(customers);
  const callBytes = callsPerDay * BYTES.call;
  const usageBytes = customers * (ASSUMED.hoursPerCustomerDay * BYTES.customerHour + BYTES.customerDay);
  const d1BytesPerDay = callBytes + usageBytes;
  const usable = 0.8 * LIMITS.databaseBytes;
  const wantedBytes = callBytes * SETTINGS.callRetentionDays + usageBytes * SETTINGS.usageRetentionDays;
  const daysKept = (usable * LIMITS.databases) / d1BytesPerDay;
  const largestDaysKept = usable / (d1BytesPerDay * sumShares(largest));
  const loads = [
    { what: 'room, all databases', share: wantedBytes / (usable * LIMITS.databases) },
    {
      what: 'room, the largest database',
      share: (wantedBytes * sumShares(largest)) / usable,
    },
    { what: "D1's time, the largest database", share: largestQueue.utilization },
    { what: "D1's time, a typical database", share: typicalQueue.utilization },
    {
      what: 'projector, largest organization',
      share:
        (peakCallsPerSecond * countOfCall('handOvers') * largestOrganizationShare) / LIMITS.objectRequestsPerSecond,
    },
    {
      what: 'object, largest customer',
      share:
        (largestCustomerCallsPerSecond * countOfCall('customerRequests')) /
        Math.min(OBJECT_REQUESTS_PER_SECOND, LIMITS.objectRequestsPerSecond),
    },
  ].toSorted((a, b) => b.share - a.share);
  const days = SETTINGS.objectCallDays;
  const pastShare = shareBeyond(customers, days * callsPerDay * largestShare(customers), SETTINGS.wholeCalls);
  const averageQueue = simulated(typical, perSecond * countOfCall('handOvers'), seed);
  const ofCall = usageOfCall(sharing(perSecond * sumShares(typical), averageQueue, pastShare));
  const storedBytes = Math.min(d1BytesPerDay * SETTINGS.callRetentionDays, usable * LIMITS.databases);
  const stored = storage(callsPerDay, storedBytes, pastShare);
  const callsPerMonth = callsPerDay * MONTH_DAYS;
  const dollars = {
    ...Object.fromEntries(Object.entries(ofCall).map(([part, one]) => [part, dollarsOf(sumUsage([one], 1e6))])),
    storage: dollarsOf(sumUsage([stored], 1e6 / callsPerMonth)),
  } as Answer['dollars'];
  return {
    callsPerDay,
    customers,
    organizations,
    peakCallsPerSecond,
    objectsAwake: Math.min(customers, peakCallsPerSecond * LIMITS.objectIdleSeconds),
    processors: (peakCallsPerSecond * PAIR_CPU_MS) / 1_000,
    largestOrganizationShare,
    largestCustomerCallsPerSecond,
    d1BytesPerDay,
    databasesWanted: Math.ceil(wantedBytes / usable),
    daysKept,
    largestDaysKept,
    typical: typicalQueue,
    largest: largestQueue,
    rowsPerSecond: rowsPerSecond(typical, typicalQueue),
    largestRowsPerSecond: rowsPerSecond(largest, largestQueue),
    loads,
    pastShare,
    dollars,
    dollarsPerMonth: total(monthDollars(sumUsage([sumUsage(Object.values(ofCall), callsPerMonth), stored]))),
  };
}

const dollarsOf = (usage: Usage) => total(marginalDollars(usage));

/** A database at the busiest hour; the same for the same seed. */
function simulated(shares: readonly number[], changesPerSecond: number, seed: number): QueueResult {
  const draw = chance(seed);
  const sources = shares.map(
    (share): Source => ({
      changesPerSecond: changesPerSecond * share,
      projector: Math.floor(draw.uniform() * SETTINGS.projectors),
      variation: draw.uniform() < CODING_SHARE ? MINUTE_VARIATION.coding : MINUTE_VARIATION.conversation,
    }),
  );
  return runQueue(draw, { ...SETTINGS, transactionMs }, sources, SIMULATED_SECONDS);
}

/** The calls that share a transaction of a database on an average hour. */
function sharing(callsPerSecond: number, queue: QueueResult, pastShare: number): Shared {
  const { transactionsPerSecond, organizationsPerTransaction } = queue;
  return { callsPerTransaction: callsPerSecond / transactionsPerSecond, organizationsPerTransaction, pastShare };
}

/** What is stored for a month. */
function storage(callsPerDay: number, d1StoredBytes: number, pastShare: number): Usage {
  const { objectCallDays, pastCallDays } = SETTINGS;
  const bytesOfCall = (1 - pastShare) * objectCallDays * BYTES.callInObject + pastShare * pastCallDays * BYTES.pastCall;
  return { ...NO_USAGE, objectStoredGb: (callsPerDay * bytesOfCall) / 1e9, d1StoredGb: d1StoredBytes / 1e9 };
}
