/**
 * All inputs of the model: measurements from this repository, each with its command and the table that has it, and
 * assumptions.
 */

/** Counted for each call by `npm run bench -- costs`, in the table "of each call". */
export interface CallCounts {
  workerRequests: number;
  customerRequests: number;
  customerAlarms: number;
  customerRowsWritten: number;
  customerRowsRead: number;
  directoryRequests: number;
  directoryRowsWritten: number;
  directoryRowsRead: number;
  /** Pages that a projector takes: each is a request and some rows. */
  handOvers: number;
  /** "D1 rows written" without those that calls share: the call's own, and its customer's sums. */
  d1OwnRows: number;
  d1RowsRead: number;
}

/** The column "1 of each 200". */
export const SHORT_CALL: CallCounts = {
  workerRequests: 2,
  customerRequests: 2,
  customerAlarms: 0,
  customerRowsWritten: 9,
  customerRowsRead: 134,
  directoryRequests: 1,
  directoryRowsWritten: 1,
  directoryRowsRead: 3,
  handOvers: 1,
  d1OwnRows: 12,
  d1RowsRead: 148,
};

/** The column "each, long": calls that last longer than their hand-over waits. */
export const LONG_CALL: CallCounts = {
  ...SHORT_CALL,
  customerAlarms: 1,
  customerRowsRead: 12,
};

/** "projector: pages" in the table "rows written: by itself", of each hand-over: D1 takes pages from its memory. */
export const PER_PAGE = { projectorRowsWritten: 0, projectorRowsRead: 2 };
/** The additional units of a projector's transaction: it is counted in the object's own figures. */
export const PER_TRANSACTION = { projectorAlarms: 0, projectorRowsWritten: 1, projectorRowsRead: 20 };
/**
 * Rows of D1 that the calls of an organization share in a transaction, for each pair of feature and model: "D1:
 * organization_..." and "D1: feature_days", "D1: feature_hours", "D1: usage_change_parts" in the table "rows written: by itself".
 */
export const ORGANIZATION_ROWS = 12;
/**
 * The tables "retention: ...": "1200 of one" for a call, which is whole or a past call; "1 of each 200" for a customer's
 * hour (usage_hours) and day (customer_days, forms, walks, alarms).
 */
export const RETENTION_ROWS = {
  call: { objects: 2, d1: 1 },
  pastCall: { objects: 6, d1: 1 },
  customerHour: { objects: 2, d1: 1 },
  customerDay: { objects: 8, d1: 1 },
};
/** A projector answers a hand-over when D1 has it: "projector request ms" of "1 of each 200". */
export const PROJECTOR_ANSWER_MS = 734;

/** `npm run bench -- transactions`, "the line through them". */
export const D1_MS = { transaction: 1.44, row: 0.0047 };

/** `npm run bench -- transactions`, "rows, with their indexes"; in an object, docs/performance.md, "What one customer may be". */
export const BYTES = { call: 810, customerHour: 430, customerDay: 204, callInObject: 2_160, pastCall: 399 };

/** `npm run bench -- calls`, "begin+end, with a key": requests that one customer's object answered in a second. */
export const OBJECT_REQUESTS_PER_SECOND = 1_359;

/** `npm run bench -- gateway`, pairs of 64 customers: processor time of the whole process, storage and D1 included. */
export const PAIR_CPU_MS = 3.2;

export const ASSUMED = {
  /** Calls of a customer on a day on which it calls. */
  callsPerCustomerDay: 50,
  /** Hours of that day in which it calls: eight sessions. */
  hoursPerCustomerDay: 8,
  /** Customers of an organization who call on a day. */
  customersPerOrganization: 1_000,
  /** Share of calls that last longer than their hand-over waits. */
  longShare: 0.5,
  /** Pairs of feature and model that an organization uses. */
  featuresAndModels: 4,
  /** How long an object works for a request or an alarm on Cloudflare: its storage is replicated over a network. */
  objectMs: 20,
  /** The bytes that Workers Logs keeps of an invocation. */
  logBytes: 1_000,
};

/** Limits: Cloudflare's own (pages "Limits" of D1 and Durable Objects), and this deployment's. */
export const LIMITS = {
  databases: 50,
  databaseBytes: 10_000_000_000,
  /** D1 in all databases of an account, until Cloudflare is asked for more. */
  accountBytes: 1_000_000_000_000,
  /** A soft limit. */
  objectRequestsPerSecond: 1_000,
  /** An object stays in memory after its last request. */
  objectIdleSeconds: 10,
  objectGb: 0.128,
};

/** The service's own settings (durable-objects/, src/objects/projectors.ts, src/contract/operator.ts). */
export const SETTINGS = {
  projectors: 8,
  handOverDelayMs: 500,
  gatherMs: 1_000,
  changesMax: 2_000,
  busyMs: 3_000,
  callRetentionDays: 400,
  usageRetentionDays: 2_557,
  objectCallDays: 7,
  /** A customer's newest calls, which stay whole for those days. Others become past calls after an hour, for two days. */
  wholeCalls: 400_000,
  pastCallDays: 2,
};
