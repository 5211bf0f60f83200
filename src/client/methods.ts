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

/** A request that changes nothing. */
function get<const Has extends readonly string[]>(path: string, has: Has) {
  return { method: 'GET', path, write: false, has } as const;
}

/** A request that changes state, unless it says otherwise. */
function post<const Has extends readonly string[], const Takes extends readonly (keyof CallDefaults)[] = []>(
  path: string,
  has: Has,
  more: { write?: boolean; takes?: Takes; vendorTimeoutMs?: number } = {},
) {
  return { method: 'POST', path, write: true, has, ...more } as const;
}

function put<const Has extends readonly string[]>(path: string, has: Has) {
  return { method: 'PUT', path, write: true, has } as const;
}

function remove<const Has extends readonly string[]>(path: string, has: Has) {
  return { method: 'DELETE', path, write: true, has } as const;
}

const OF_A_CALL = ['feature', 'tags', 'requested', 'pricingMode'] as const;

export const METHODS = {
  beginCall: post('/call_begin', ['callId', 'allowed', 'entitlementHints'], { takes: OF_A_CALL }),
  endCall: post('/call_end', ['callId', 'status', 'costUSD']),
  makeCall: post('/call', ['begin'], { takes: OF_A_CALL, vendorTimeoutMs: 30_000 }),
  readCall: get('/calls/{callId}', ['callId', 'status', 'pricingStatus']),
  reverseCall: post('/calls/{callId}/reverse', ['callId', 'reversedAt']),
  amendCall: post('/calls/{callId}/amend', ['callId', 'amendedAt']),
  provisionCustomer: post('/customers', ['customerId', 'subscription', 'meters']),
  readUsage: get('/customers/{customerId}/usage', ['customerId', 'subscription', 'meters']),
  changePlan: post('/customers/{customerId}/change_plan', ['success', 'subscription']),
  replenishCustomer: post('/customers/{customerId}/replenish', ['success', 'subscription']),
  incrementMeter: post('/custom_meter', ['eventId', 'blocked', 'meter'], { takes: ['feature', 'tags'] }),
  reverseMeterEvent: post('/meter_events/{eventId}/reverse', ['eventId', 'returned']),
  readUsageSummary: get('/usage/summary', ['period', 'totals']),
  readUsageAnomalies: get('/usage/anomalies', ['period']),
  readUsageContext: get('/customers/{customerId}/usage-context', ['contractVersion']),
  readForecast: get('/customers/{customerId}/forecast', ['customerId', 'status']),
  listLedger: get('/customers/{customerId}/ledger', ['items', 'nextCursor']),
  readModelRadar: get('/v1/model-radar', ['period', 'items', 'nextCursor']),
  listCalls: get('/calls', ['items', 'nextCursor', 'searchedFrom']),
  readEvents: get('/events', ['items', 'nextCursor']),
  putOwnWebhook: put('/webhooks/{webhookId}', ['webhookId', 'url', 'enabled']),
  listOwnWebhooks: get('/webhooks', ['items', 'nextCursor']),
  readOwnWebhook: get('/webhooks/{webhookId}', ['webhookId', 'url', 'enabled']),
  deleteOwnWebhook: remove('/webhooks/{webhookId}', ['webhookId']),
  testOwnWebhook: post('/webhooks/{webhookId}/test', ['eventId', 'delivered']),
  replayOwnWebhook: post('/webhooks/{webhookId}/replay', ['webhookId']),
  rotateOwnWebhook: post('/webhooks/{webhookId}/rotate', ['webhookId', 'secret']),
  listOwnDeliveries: get('/webhooks/{webhookId}/deliveries', ['items', 'nextCursor']),
  sendOwnDelivery: post('/webhooks/{webhookId}/deliveries/{eventId}/send', ['webhookId', 'eventId']),
  listCustomers: get('/customers', ['items', 'nextCursor']),
  listUsagePlans: get('/usage-plans', ['items', 'nextCursor']),
  readSamplingSettings: get('/sampling/settings', ['version', 'rate', 'settingsExpiresAt']),
  decideSampling: post('/sampling/decide', ['sample', 'samplingKey'], { write: false, takes: ['feature'] }),
  storeSample: post('/samples', ['sampleId', 'expiresAt'], { takes: ['feature', 'tags'] }),
  compressPrompt: post('/compress_prompt', ['callId', 'updated']),
  authorizeCompression: post('/v1/compression/authorize', ['authorized'], { write: false }),
  readCompressionProfile: get('/v1/compression/profile', ['techniques', 'aggressiveness']),
  saveCompressionProfile: put('/v1/compression/profile', ['techniques', 'aggressiveness']),
  readCompressionSummary: get('/v1/compression/summary', ['period', 'savedTokens']),
  startCompressionJob: post('/v1/compression/jobs', ['jobId', 'status']),
  readCompressionJob: get('/v1/compression/jobs/{jobId}', ['jobId', 'status', 'progress']),
  createClientSession: post('/v1/client/sessions', ['token', 'expiresAt']),
  createGatewaySession: post('/v1/gateway/sessions', ['token', 'expiresAt']),
  createEmbedSession: post('/v1/embed-sessions', ['token', 'expiresAt', 'embedUrl']),
} satisfies { [Id in keyof Inputs]?: Row<Id> };

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
