/**
 * The cost of a customer on a day on which it calls, and on one on which it does not, without the plan's included
 * units.
 */
import type { Table } from '../suite.ts';
import { objectSeconds, ofCall } from './deployment.ts';
import {
  ASSUMED,
  BYTES,
  LIMITS,
  ORGANIZATION_ROWS,
  PAIR_CPU_MS,
  PER_PAGE,
  PER_TRANSACTION,
  SETTINGS,
} from './measured.ts';
import { marginalDollars, total, type Usage } from './prices.ts';

/** The usage of a call whose changes share a D1 transaction with this many changes, its own included. */
export function callUsage(changesPerTransaction: number): Usage {
  const transactions = ofCall('pages') / changesPerTransaction;
  const objectRequests =
    ofCall('customerRequests') +
    ofCall('customerAlarms') +
    ofCall('directoryRequests') +
    ofCall('pages') +
    transactions * PER_TRANSACTION.projectorAlarms;
  return {
    workerRequests: ofCall('workerRequests'),
    workerCpuMs: PAIR_CPU_MS,
    objectRequests,
    objectGbSeconds: objectSeconds(objectRequests, ofCall('pages')) * LIMITS.objectGb,
    objectRowsRead:
      ofCall('customerRowsRead') + ofCall('directoryRowsRead') + ofCall('pages') * PER_PAGE.projectorRowsRead,
    objectRowsWritten:
      ofCall('customerRowsWritten') +
      ofCall('directoryRowsWritten') +
      ofCall('pages') * PER_PAGE.projectorRowsWritten +
      transactions * PER_TRANSACTION.projectorRowsWritten,
    objectStoredGb: 0,
    d1RowsRead: ofCall('d1RowsRead'),
    // The end of a call is counted, its begin is not.
    d1RowsWritten: ofCall('d1OwnRows') + ORGANIZATION_ROWS / changesPerTransaction,
    d1StoredGb: 0,
    kvReads: 0,
    logGb: ((ofCall('workerRequests') + objectRequests) * ASSUMED.logBytes) / 1e9,
  };
}

/** The stored data of a customer while it is kept, on one day of a month. */
function storedUsage(callsKept: number): Usage {
  const none = Object.fromEntries(Object.keys(callUsage(1)).map((name) => [name, 0])) as unknown as Usage;
  return {
    ...none,
    d1StoredGb: (callsKept * BYTES.call) / 1e9 / 30,
    objectStoredGb:
      (Math.min(callsKept, SETTINGS.objectCallDays * ASSUMED.callsPerCustomerDay) * BYTES.call) / 1e9 / 30,
  };
}

export function customerDays(): Table {
  const day = (changesPerTransaction: number) =>
    total(marginalDollars(callUsage(changesPerTransaction))) * ASSUMED.callsPerCustomerDay * 1e6;
  const stored = total(marginalDollars(storedUsage(ASSUMED.callsPerCustomerDay * SETTINGS.callRetentionDays))) * 1e6;
  return {
    title: 'a customer, millionths of $ a day',
    columns: [{ key: 'microDollars', heading: 'micro-$', digits: 1 }],
    rows: [
      { name: `${ASSUMED.callsPerCustomerDay} calls, each alone`, figures: { microDollars: day(1) } },
      { name: `${ASSUMED.callsPerCustomerDay} calls, among 100 others`, figures: { microDollars: day(100) } },
      { name: 'storage of 400 such days', figures: { microDollars: stored } },
      { name: 'idle, nothing stored', figures: { microDollars: 0 } },
    ],
  };
}
