/**
 * What one call uses, in the parts of a bill: from the counts of measured.ts and the number of calls that share a
 * transaction of D1.
 */
import {
  ASSUMED,
  type CallCounts,
  LIMITS,
  LONG_CALL,
  ORGANIZATION_ROWS,
  PAIR_CPU_MS,
  PER_PAGE,
  PER_TRANSACTION,
  PROJECTOR_ANSWER_MS,
  RETENTION_ROWS,
  SETTINGS,
  SHORT_CALL,
} from './measured.ts';
import { NO_USAGE, type Usage } from './prices.ts';

/** The parts of a bill, in the order in which they are printed. */
export const PARTS = [
  'rows that objects write',
  'rows that D1 writes',
  'rows deleted by the retention',
  'rows read',
  'requests',
  'processor',
  'timer before a hand-over',
  'waiting for a projector',
  'work of objects',
  'alarms',
  'logs',
  'storage',
] as const;
export type Part = (typeof PARTS)[number];

/** Calls that reach D1 together. */
export interface Shared {
  callsPerTransaction: number;
  organizationsPerTransaction: number;
  /** The share of calls that become past calls in their customer's object. */
  pastShare: number;
}

/** A count of a call, over short and long ones. */
export function countOfCall(name: keyof CallCounts, longShare = ASSUMED.longShare): number {
  return (1 - longShare) * SHORT_CALL[name] + longShare * LONG_CALL[name];
}

/** The rows of a transaction with so many ended calls: their own, and those that the calls of an organization share. */
export function rowsOfTransaction(calls: number, organizations: number): number {
  return (
    calls * countOfCall('d1OwnRows') + ORGANIZATION_ROWS * Math.min(calls, organizations * ASSUMED.featuresAndModels)
  );
}

/** The usage of a call but its storage, which lasts. */
export function usageOfCall(shared: Shared): Record<Exclude<Part, 'storage'>, Usage> {
  const { callsPerTransaction, organizationsPerTransaction, pastShare } = shared;
  const transactions = 1 / callsPerTransaction;
  const handOvers = countOfCall('handOvers');
  const requests = countOfCall('customerRequests') + countOfCall('directoryRequests') + handOvers;
  const alarms = countOfCall('customerAlarms') + transactions * PER_TRANSACTION.projectorAlarms;
  const workerRequests = countOfCall('workerRequests');
  const retention = retentionRows(pastShare);
  const awake = (ms: number): Partial<Usage> => ({ objectGbSeconds: (ms / 1_000) * LIMITS.objectGb });
  const parts: Record<Exclude<Part, 'storage'>, Partial<Usage>> = {
    'rows that objects write': {
      objectRowsWritten:
        countOfCall('customerRowsWritten') +
        countOfCall('directoryRowsWritten') +
        handOvers * PER_PAGE.projectorRowsWritten +
        transactions * PER_TRANSACTION.projectorRowsWritten,
    },
    'rows that D1 writes': {
      d1RowsWritten: rowsOfTransaction(callsPerTransaction, organizationsPerTransaction) * transactions,
    },
    'rows deleted by the retention': { objectRowsWritten: retention.objects, d1RowsWritten: retention.d1 },
    'rows read': {
      objectRowsRead:
        countOfCall('customerRowsRead') +
        countOfCall('directoryRowsRead') +
        handOvers * PER_PAGE.projectorRowsRead +
        transactions * PER_TRANSACTION.projectorRowsRead,
      d1RowsRead: countOfCall('d1RowsRead'),
    },
    requests: { workerRequests, objectRequests: requests },
    processor: { workerCpuMs: PAIR_CPU_MS },
    'timer before a hand-over': awake(handOvers * SETTINGS.handOverDelayMs),
    'waiting for a projector': awake(handOvers * PROJECTOR_ANSWER_MS),
    'work of objects': awake(requests * ASSUMED.objectMs),
    alarms: { objectRequests: alarms, ...awake(alarms * ASSUMED.objectMs) },
    logs: { logGb: ((workerRequests + requests + alarms) * ASSUMED.logBytes) / 1e9 },
  };
  return Object.fromEntries(
    Object.entries(parts).map(([part, usage]) => [part, { ...NO_USAGE, ...usage }]),
  ) as unknown as Record<Exclude<Part, 'storage'>, Usage>;
}

/** The rows that are written later for a call, with its part of its customer's hours and days. */
function retentionRows(pastShare: number): { objects: number; d1: number } {
  const { call, pastCall, customerHour, customerDay } = RETENTION_ROWS;
  const { hoursPerCustomerDay, callsPerCustomerDay } = ASSUMED;
  const rows = (where: 'objects' | 'd1') =>
    (1 - pastShare) * call[where] +
    pastShare * pastCall[where] +
    (hoursPerCustomerDay * customerHour[where] + customerDay[where]) / callsPerCustomerDay;
  return { objects: rows('objects'), d1: rows('d1') };
}
