/**
 * The client's methods: one entry per operation of the contract that takes an API key.
 *
 * To add a method, add an entry: its types follow from the contract by its name. `test/unit/client-methods.test.ts`
 * compares this table with the contract.
 */
import type { Answers, BeginCallInput, Inputs } from './wire.ts';

/** Fields that the client fills in if an input leaves them out. */
export type CallDefaults = Partial<Pick<BeginCallInput, 'feature' | 'tags' | 'requested' | 'pricingMode'>>;

export interface Method {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** Changes state, so the request carries an idempotency key. */
  write: boolean;
  /** Members that `data` must have; a response without one is invalid. */
  has: readonly string[];
  /** The client's `defaults` that apply to this operation. */
  takes?: readonly (keyof CallDefaults)[];
  /**
   * How long the service waits for a vendor, unless `vendor.timeoutMs` says otherwise. The client adds it to the
   * timeout of each attempt.
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
  reverseCall: { method: 'POST', path: '/calls/{callId}/reverse', write: true, has: ['callId', 'reversedAt'] },
  amendCall: { method: 'POST', path: '/calls/{callId}/amend', write: true, has: ['callId', 'amendedAt'] },
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
  reverseMeterEvent: {
    method: 'POST',
    path: '/meter_events/{eventId}/reverse',
    write: true,
    has: ['eventId', 'returned'],
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
  listLedger: {
    method: 'GET',
    path: '/customers/{customerId}/ledger',
    write: false,
    has: ['items', 'nextCursor'],
  },
  readModelRadar: { method: 'GET', path: '/v1/model-radar', write: false, has: ['period', 'items', 'nextCursor'] },
  listCalls: { method: 'GET', path: '/calls', write: false, has: ['items', 'nextCursor', 'searchedFrom'] },
  readEvents: { method: 'GET', path: '/events', write: false, has: ['items', 'nextCursor'] },
  putOwnWebhook: { method: 'PUT', path: '/webhooks/{webhookId}', write: true, has: ['webhookId', 'url', 'enabled'] },
  listOwnWebhooks: { method: 'GET', path: '/webhooks', write: false, has: ['items', 'nextCursor'] },
  readOwnWebhook: { method: 'GET', path: '/webhooks/{webhookId}', write: false, has: ['webhookId', 'url', 'enabled'] },
  deleteOwnWebhook: { method: 'DELETE', path: '/webhooks/{webhookId}', write: true, has: ['webhookId'] },
  testOwnWebhook: { method: 'POST', path: '/webhooks/{webhookId}/test', write: true, has: ['eventId', 'delivered'] },
  replayOwnWebhook: { method: 'POST', path: '/webhooks/{webhookId}/replay', write: true, has: ['webhookId'] },
  rotateOwnWebhook: { method: 'POST', path: '/webhooks/{webhookId}/rotate', write: true, has: ['webhookId', 'secret'] },
  listOwnDeliveries: {
    method: 'GET',
    path: '/webhooks/{webhookId}/deliveries',
    write: false,
    has: ['items', 'nextCursor'],
  },
  sendOwnDelivery: {
    method: 'POST',
    path: '/webhooks/{webhookId}/deliveries/{eventId}/send',
    write: true,
    has: ['webhookId', 'eventId'],
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

/** Options of one request. */
export interface RequestOptions {
  /** Generated if absent; the same for every attempt. For `beginCall` it becomes the call id. */
  idempotencyKey?: string | undefined;
  /** Generated if absent. It appears in the service's records and in every error. */
  correlationId?: string | undefined;
  /** Aborts the request at once; it then rejects with the signal's reason, as `fetch` does. */
  signal?: AbortSignal | undefined;
  /** Timeout of one attempt in milliseconds, reading the response included. Default: the client's. */
  timeoutMs?: number | undefined;
  /**
   * How long in all to wait, in milliseconds, if the plan's rolling limit allows no further call for now. If it takes longer,
   * the request rejects with `CallDeniedError` at once. Default: the client's.
   */
  rollingWaitMs?: number | undefined;
}

type ClientMethod<Input, Answer> =
  Record<never, never> extends Input
    ? (input?: Input, options?: RequestOptions) => Promise<Answer>
    : (input: Input, options?: RequestOptions) => Promise<Answer>;

/**
 * Each method resolves with `data` of the response, and rejects with a `CallmeterError`; `beginCall` and `makeCall` with a
 * `CallDeniedError` if the plan's rolling limit allows no further call for now.
 */
export type Methods = { [Id in keyof Pick<Inputs, MethodName>]: ClientMethod<Inputs[Id], Answers[Id]> };
