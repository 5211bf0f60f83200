/**
 * The model's measurements from this repository, each with its command, and its assumptions.
 */

/** Counted for each call by `npm run bench -- costs`; a long call lasts longer than its hand-over waits. */
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
  pages: number;
  /** Rows of D1 that no other call shares: the call's own, and its customer's sums. */
  d1OwnRows: number;
  d1RowsRead: number;
}

export const SHORT_CALL: CallCounts = {
  workerRequests: 2,
  customerRequests: 2,
  customerAlarms: 0,
  customerRowsWritten: 20,
  customerRowsRead: 70,
  directoryRequests: 1,
  directoryRowsWritten: 2,
  directoryRowsRead: 4,
  pages: 1,
  d1OwnRows: 14,
  d1RowsRead: 80,
};

export const LONG_CALL: CallCounts = {
  ...SHORT_CALL,
  customerAlarms: 0,
  customerRowsWritten: 22,
  customerRowsRead: 26,
  pages: 2,
  d1OwnRows: 15,
  d1RowsRead: 134,
};

/** `npm run bench -- costs`, "projector rows written" and "D1 rows written". */
export const PER_PAGE = { projectorRowsWritten: 3, projectorRowsRead: 6 };
/** The additional units of a projector's transaction: its alarm is a request, and setting it writes a row. */
export const PER_TRANSACTION = { projectorAlarms: 1, projectorRowsWritten: 1, projectorRowsRead: 3 };
/** Rows of D1 that the calls of an organization share in a transaction, for each pair of feature and model. */
export const ORGANIZATION_ROWS = 10;

/** `npm run bench -- transactions`, "the line through them". */
export const D1_MS = { transaction: 1.44, row: 0.0047 };

/** `npm run bench -- transactions`, "rows, with their indexes". */
export const BYTES = { call: 2_276, customerHour: 430, customerDay: 204 };

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
  handOverDelayMs: 1_500,
  gatherMs: 1_000,
  changesMax: 2_000,
  busyMs: 3_000,
  callRetentionDays: 400,
  usageRetentionDays: 2_557,
  objectCallDays: 7,
};
