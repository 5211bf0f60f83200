/**
 * The client's methods: one line per operation of the contract that takes an API key.
 *
 * A new line here is a new method; its types follow from the contract by its name. `test/unit/client-methods.test.ts`
 * compares the table with the contract's.
 */
import type { Answers, BeginCallInput, Inputs } from './wire.ts';

/** Fields that a client fills in where an input leaves them out. */
export type CallDefaults = Partial<Pick<BeginCallInput, 'feature' | 'tags' | 'requested' | 'pricingMode'>>;

export interface Method {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** Changes something, and so carries an idempotency key. */
  write: boolean;
  /** Members that the data of an answer must have; what lacks one is another shape. */
  has: readonly string[];
  /** The defaults that it takes. */
  takes?: readonly (keyof CallDefaults)[];
  /**
   * The service waits for a vendor, so long unless `vendor.timeoutMs` says otherwise; each try is given that time on
   * top.
   */
  vendorTimeoutMs?: number;
}

type Row<Id extends keyof Inputs> = Method & {
  has: readonly (keyof Answers[Id])[];
  takes?: readonly (keyof Inputs[Id])[];
};

export const METHODS = {
  beginCall: {
    method: 'POST',
    path: '/call_begin',
    write: true,
    has: ['callId', 'allowed', 'entitlementHints'],
    takes: ['feature', 'tags', 'requested', 'pricingMode'],
  },
  endCall: { method: 'POST', path: '/call_end', write: true, has: ['callId', 'status', 'costUSD'] },
  makeCall: {
    method: 'POST',
    path: '/call',
    write: true,
    has: ['begin'],
    takes: ['feature', 'tags', 'requested', 'pricingMode'],
    vendorTimeoutMs: 30_000,
  },
  readCall: { method: 'GET', path: '/calls/{callId}', write: false, has: ['callId', 'status', 'pricingStatus'] },
  provisionCustomer: { method: 'POST', path: '/customers', write: true, has: ['customerId', 'subscription', 'meters'] },
  readUsage: {
    method: 'GET',
    path: '/customers/{customerId}/usage',
    write: false,
    has: ['customerId', 'subscription', 'meters'],
  },
  changePlan: {
    method: 'POST',
    path: '/customers/{customerId}/change_plan',
    write: true,
    has: ['success', 'subscription'],
  },
  replenishCustomer: {
    method: 'POST',
    path: '/customers/{customerId}/replenish',
    write: true,
    has: ['success', 'subscription'],
  },
  incrementMeter: {
    method: 'POST',
    path: '/custom_meter',
    write: true,
    has: ['eventId', 'blocked', 'meter'],
    takes: ['feature', 'tags'],
  },
  readUsageSummary: { method: 'GET', path: '/usage/summary', write: false, has: ['period', 'totals'] },
  readUsageAnomalies: { method: 'GET', path: '/usage/anomalies', write: false, has: ['period'] },
  readUsageContext: {
    method: 'GET',
    path: '/customers/{customerId}/usage-context',
    write: false,
    has: ['contractVersion'],
  },
  readForecast: {
    method: 'GET',
    path: '/customers/{customerId}/forecast',
    write: false,
    has: ['customerId', 'status'],
  },
  listCustomers: { method: 'GET', path: '/customers', write: false, has: ['items', 'nextCursor'] },
  listUsagePlans: { method: 'GET', path: '/usage-plans', write: false, has: ['items', 'nextCursor'] },
  readSamplingSettings: {
    method: 'GET',
    path: '/sampling/settings',
    write: false,
    has: ['version', 'rate', 'settingsExpiresAt'],
  },
  decideSampling: {
    method: 'POST',
    path: '/sampling/decide',
    write: false,
    has: ['sample', 'samplingKey'],
    takes: ['feature'],
  },
  storeSample: {
    method: 'POST',
    path: '/samples',
    write: true,
    has: ['sampleId', 'expiresAt'],
    takes: ['feature', 'tags'],
  },
  compressPrompt: { method: 'POST', path: '/compress_prompt', write: true, has: ['callId', 'updated'] },
  authorizeCompression: { method: 'POST', path: '/v1/compression/authorize', write: false, has: ['authorized'] },
  readCompressionProfile: {
    method: 'GET',
    path: '/v1/compression/profile',
    write: false,
    has: ['techniques', 'aggressiveness'],
  },
  saveCompressionProfile: {
    method: 'PUT',
    path: '/v1/compression/profile',
    write: true,
    has: ['techniques', 'aggressiveness'],
  },
  readCompressionSummary: {
    method: 'GET',
    path: '/v1/compression/summary',
    write: false,
    has: ['period', 'savedTokens'],
  },
  startCompressionJob: { method: 'POST', path: '/v1/compression/jobs', write: true, has: ['jobId', 'status'] },
  readCompressionJob: {
    method: 'GET',
    path: '/v1/compression/jobs/{jobId}',
    write: false,
    has: ['jobId', 'status', 'progress'],
  },
  createClientSession: { method: 'POST', path: '/v1/client/sessions', write: true, has: ['token', 'expiresAt'] },
  createGatewaySession: { method: 'POST', path: '/v1/gateway/sessions', write: true, has: ['token', 'expiresAt'] },
  createEmbedSession: {
    method: 'POST',
    path: '/v1/embed-sessions',
    write: true,
    has: ['token', 'expiresAt', 'embedUrl'],
  },
} as const satisfies { [Id in keyof Inputs]?: Row<Id> };

export type MethodName = keyof typeof METHODS;

/** One request on behalf of the application. */
export interface RequestOptions {
  /** Made where absent, once, and the same in every try. Of a begin it becomes the call id. */
  idempotencyKey?: string | undefined;
  /** Made where absent; it is in the service's records and in every error. */
  correlationId?: string | undefined;
  /** Ends the request at once; it then rejects with the signal's reason, as `fetch` does. */
  signal?: AbortSignal | undefined;
  /** Of one try, answer included; default the client's. */
  timeoutMs?: number | undefined;
}

type Ask<Input, Answer> =
  Record<never, never> extends Input
    ? (input?: Input, options?: RequestOptions) => Promise<Answer>
    : (input: Input, options?: RequestOptions) => Promise<Answer>;

/** Each resolves with the `data` of the answer, and rejects with a `CallmeterError`. */
export type Methods = { [Id in keyof Pick<Inputs, MethodName>]: Ask<Inputs[Id], Answers[Id]> };
