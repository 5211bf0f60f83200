/**
 * An example request for each operation. Examples work with the demo organization of `npm start`, in any order and
 * repeatedly, because each first runs the examples that it `needs`. `$NAME` is a value from another example's answer
 * (`VALUES`).
 */
import type { gatewayOperations } from '../../contract/gateway/operations.ts';
import type { OperationId } from '../../contract/operations.ts';
import type { LookupOperationId } from './lookup.ts';

export type ExampleId = OperationId | keyof typeof gatewayOperations | LookupOperationId;

export interface Example {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** A file of the repository that is sent as the body. */
  bodyFile?: string;
  /** A form: its fields, and a file that has these lines. A line is text, or JSON. */
  upload?: { fields: Record<string, string>; file: { field: string; name: string; lines: readonly unknown[] } };
  /** Overrides the operation's usual credential. */
  credential?: string;
  /** Examples to run first, with changed input if it is given. */
  needs?: readonly (ExampleId | (Pick<Example, 'params' | 'body'> & { id: ExampleId }))[];
}

export interface Value {
  /** The example whose answer has the value. */
  from: ExampleId;
  /** The field of the answer. */
  field: string;
  /** Changed input for that example. */
  body?: unknown;
  /** A plausible value for the document. */
  sample: string;
}

/** The organization that `npm start` creates. */
export const DEMO_ORGANIZATION_ID = '00000000-0000-4000-8000-00000000de00';

const org = { org: DEMO_ORGANIZATION_ID };
const customerId = 'alice';
const alice = { customerId };
const SAMPLE_ID = 'example-sample';
const MODEL = 'openai/gpt-6-luna';
const IMAGE_MODEL = 'openai/gpt-image-2.6-sunburst';
const RECORDING = {
  fields: { model: 'openai/whisper-1', customer: customerId },
  file: { field: 'file', name: 'hello.mp3', lines: ['a recording'] },
};

export const VALUES = {
  CALL_ID: { from: 'beginCall', field: 'callId', sample: `dk-${'X19f'.repeat(10)}X18.${'DAwM'.repeat(7)}DA.1` },
  KEY_ID: { from: 'createKey', field: 'keyId', sample: 'key_0195d2f0c3a27c1e9f6b' },
  EMBED_KEY: {
    from: 'createKey',
    field: 'key',
    body: { name: 'Usage widget', prefix: 'ek-' },
    sample: `ek-${'A'.repeat(43)}`,
  },
  CREDIT_ID: { from: 'grantCredit', field: 'creditId', sample: '0195d2f0-c3a2-7c1e-9f6b-5d0c7f1a2b3e' },
  EVENT_ID: { from: 'incrementMeter', field: 'eventId', sample: '0195d2f0-c3a2-7c1e-9f6b-5d0c7f1a2b3f' },
  SENT_EVENT_ID: { from: 'testWebhook', field: 'eventId', sample: 'evt_0mtzk2p3v0004e1b7c2a9d35' },
  REPRICING_ID: { from: 'startRepricing', field: 'jobId', sample: '0195d2f0-c3a2-7c1e-9f6b-5d0c7f1a2b3d' },
  MIGRATION_ID: { from: 'migratePlan', field: 'jobId', sample: '0195d2f0-c3a2-7c1e-9f6b-5d0c7f1a2b3c' },
  ESTIMATE_ID: { from: 'startCompressionJob', field: 'jobId', sample: '0195d2f0-c3a2-7c1e-9f6b-5d0c7f1a2b3d' },
  OPERATOR_ESTIMATE_ID: {
    from: 'operatorStartCompressionJob',
    field: 'jobId',
    sample: '0195d2f0-c3a2-7c1e-9f6b-5d0c7f1a2b3f',
  },
  RESPONSE_ID: { from: 'createResponse', field: 'id', sample: 'resp_abc123' },
  UPLOAD_ID: { from: 'createUpload', field: 'id', sample: 'upload_abc123' },
  PART_ID: { from: 'addUploadPart', field: 'id', sample: 'part_abc123' },
  FILE_ID: { from: 'uploadFile', field: 'id', sample: 'file-abc123' },
  BATCH_ID: { from: 'createBatch', field: 'id', sample: 'batch_abc123' },
} as const satisfies Record<string, Value>;

const PLAN = {
  name: 'Example',
  limitType: 'BLOCK',
  limits: { standardCalls: 1000, premiumCalls: 100 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: {
      label: 'Pages',
      included: 100,
      funding: { credits: true, payg: true },
      overage: { model: 'SINGLE', priceUsd: '0.01', per: '1' },
    },
  },
};

/** Credit pays for Erin's plan. */
const ERIN_PAYS = [
  'putPlan',
  { id: 'provisionCustomer', body: { customerId: 'erin' } },
  { id: 'changePlan', params: { customerId: 'erin' }, body: { planId: 'example' } },
] as const;

const CATALOG_MODEL = {
  provider: 'openai',
  model: 'gpt-4o-2024-08-06',
  displayName: 'GPT-4o',
  family: 'gpt-4o',
  kind: 'chat',
  aliases: ['gpt-4o'],
  lifecycle: {
    status: 'ACTIVE',
    source: { label: 'Deprecations', url: 'https://platform.openai.com/docs/deprecations', checkedAt: '2026-11-01' },
    confidence: 'provider',
  },
  preview: false,
  pricing: {
    inputUsdPerMillion: 2.5,
    outputUsdPerMillion: 10,
    cachedInputUsdPerMillion: 1.25,
    source: 'https://openai.com/api/pricing',
  },
  modalities: { input: ['text', 'image'], output: ['text'] },
  capabilities: ['tools', 'structured_outputs'],
  endpoints: ['chat/completions', 'responses'],
};

const MESSAGES = [{ role: 'user', content: 'Say hello.' }];
const CONTENTS = [{ role: 'user', parts: [{ text: 'Say hello.' }] }];
const GEMINI = { model: 'gemini-3.8-flash' };
/** A vendor with open paths; the address belongs to the vendor for trying out. */
const JINA = {
  id: 'setVendor',
  params: { ...org, provider: 'jina' },
  body: {
    apiKey: 'any-key-will-do-here',
    baseUrl: 'http://127.0.0.1:8788/v1',
    passthrough: ['/v1/rerank', '/v1/libraries/*'],
  },
} as const;
/** An endpoint of an organization; the address belongs to the vendor for trying out. */
const WEBHOOK = { webhookId: 'billing' };
const WEBHOOK_BODY = {
  url: 'http://127.0.0.1:8788/v1/chat/completions',
  types: ['meter.threshold_reached', 'balance.low'],
};
const OWN_WEBHOOK = { webhookId: 'backend' };
const OWN_WEBHOOK_BODY = { url: 'https://backend.example.com/callmeter', description: 'All events' };
const LIBRARY = { provider: 'jina', path: 'v1/libraries/rivers' };
const LIBRARY_BODY = { name: 'Rivers', customer: customerId };
const PUT_LIBRARY = { id: 'putOpenPath', params: LIBRARY, body: LIBRARY_BODY } as const;
const BATCH_LINE = {
  custom_id: 'line-1',
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model: 'gpt-6-luna', messages: MESSAGES },
};

/** An entry of a mapping that the autopilot has switched. */
const SWITCHED = {
  model: 'openai/gpt-6.1-sol',
  switchTo: 'official',
  switchedFrom: 'openai/gpt-5',
  switchedAt: '2026-11-27T00:00:00.000Z',
};

export const EXAMPLES: Record<ExampleId, Example> = {
  beginCall: { body: { customerId, feature: 'chat', requested: { premium: true } } },
  endCall: {
    body: {
      callId: '$CALL_ID',
      modelUsed: 'anthropic/claude-opus-5-5',
      inputTokens: 1200,
      cachedInputTokens: 400,
      responseTokens: 350,
    },
  },
  makeCall: {
    body: { customerId, feature: 'chat', usage: { modelUsed: MODEL, inputTokens: 1200, responseTokens: 350 } },
  },
  listCalls: { query: { feature: 'chat', sort: 'cost', limit: '10' } },
  listOrganizationCalls: { params: org, query: { costAboveUsd: '0.01', limit: '10' } },
  readCall: { params: { callId: '$CALL_ID' } },
  readOrganizationCall: { params: { ...org, callId: '$CALL_ID' } },
  provisionCustomer: { body: { customerId, customerFriendlyName: 'Alice', customerEmail: 'alice@example.com' } },
  readUsage: { params: alice, needs: ['provisionCustomer'] },
  changePlan: { params: alice, body: { planId: 'pro', strategy: 'AT_NEXT_REPLENISH' }, needs: ['provisionCustomer'] },
  operatorCreateCustomer: { params: org, body: { customerId, customerFriendlyName: 'Alice' } },
  operatorChangePlan: {
    params: { ...org, ...alice },
    body: { planId: 'pro', strategy: 'AT_NEXT_REPLENISH' },
    needs: ['provisionCustomer'],
  },
  previewPlanChange: {
    params: { ...org, ...alice },
    query: { planId: 'free', strategy: 'IMMEDIATE_PRORATED' },
    needs: ['provisionCustomer'],
  },
  operatorReplenish: { params: { ...org, ...alice }, needs: ['provisionCustomer'] },
  replenishCustomer: { params: alice, needs: ['provisionCustomer'] },
  amendCall: {
    params: { callId: '$CALL_ID' },
    body: {
      reason: 'the retry was counted twice',
      modelUsed: 'anthropic/claude-opus-5-5',
      inputTokens: 600,
      responseTokens: 350,
    },
    needs: ['endCall'],
  },
  reverseCall: { params: { callId: '$CALL_ID' }, body: { reason: 'sent by a test' }, needs: ['endCall'] },
  incrementMeter: {
    body: { customerId: 'erin', meterSlot: 'CUSTOM1', amount: 3, feature: 'export' },
    needs: ERIN_PAYS,
  },
  reverseMeterEvent: {
    params: { eventId: '$EVENT_ID' },
    body: { reason: 'sent by a test', customerId: 'erin' },
  },
  readUsageSummary: { query: { timezone: 'Europe/Berlin' } },
  readUsageAnomalies: { query: { days: '60' } },
  readUsageContext: { params: alice, query: { forecastMetric: 'dollars' }, needs: ['provisionCustomer'] },
  readForecast: { params: alice, query: { metric: 'calls' }, needs: ['provisionCustomer'] },
  listLedger: { params: { customerId: 'erin' }, query: { limit: '10' }, needs: [...ERIN_PAYS, 'grantCredit'] },
  readOrganizationUsage: { params: org, query: { timezone: 'Europe/Berlin' } },
  readOrganizationMargin: { params: org, query: { timezone: 'Europe/Berlin' } },
  listCustomerLedger: {
    params: { ...org, customerId: 'erin' },
    query: { cause: 'GRANT' },
    needs: [...ERIN_PAYS, 'grantCredit'],
  },
  listCustomerMargins: { params: org, query: { sort: 'cost', limit: '10' } },
  readCustomerMargin: { params: { ...org, ...alice }, needs: ['provisionCustomer'] },
  readOrganizationAnomalies: { params: org, query: { days: '60' } },
  readOrganizationUsageContext: { params: { ...org, ...alice }, needs: ['provisionCustomer'] },
  readOrganizationForecast: { params: { ...org, ...alice }, query: { metric: 'calls' }, needs: ['provisionCustomer'] },
  readModelRadar: { query: { horizonDays: '180' } },
  readEvents: { query: { type: 'meter.threshold_reached', limit: '10' } },
  putOwnWebhook: { params: OWN_WEBHOOK, body: OWN_WEBHOOK_BODY },
  listOwnWebhooks: {},
  readOwnWebhook: { params: OWN_WEBHOOK, needs: ['putOwnWebhook'] },
  deleteOwnWebhook: { params: OWN_WEBHOOK, needs: ['putOwnWebhook'] },
  testOwnWebhook: { params: WEBHOOK, needs: ['putWebhook'] },
  replayOwnWebhook: {
    params: WEBHOOK,
    body: { from: '2026-11-24T00:00:00Z', to: '2026-11-25T00:00:00Z' },
    needs: ['putWebhook'],
  },
  rotateOwnWebhook: { params: OWN_WEBHOOK, needs: ['putOwnWebhook'] },
  listOwnDeliveries: { params: WEBHOOK, query: { limit: '10' }, needs: ['putWebhook'] },
  sendOwnDelivery: { params: { ...WEBHOOK, eventId: '$SENT_EVENT_ID' } },
  listCustomers: { query: { sort: 'worstMeter', limit: '10' } },
  listUsagePlans: {},
  readSamplingSettings: {},
  decideSampling: { body: { samplingKey: 'example-request', customerId, feature: 'chat', inputTokens: 1200 } },
  storeSample: {
    body: {
      sampleId: SAMPLE_ID,
      customerId,
      feature: 'chat',
      provider: 'openai',
      model: 'gpt-6-luna',
      input: { messages: MESSAGES },
      output: 'Hello!',
    },
  },
  compressPrompt: {
    body: {
      callId: '$CALL_ID',
      promptCompression: {
        provider: 'heuristic',
        originalTokens: 1600,
        compressedTokens: 1200,
        techniques: ['whitespace', 'filler'],
      },
    },
  },
  authorizeCompression: { body: { customerId }, needs: ['provisionCustomer'] },
  readCompressionProfile: {},
  saveCompressionProfile: { body: { techniques: ['json', 'whitespace'], protectedPhrases: ['Terms of service'] } },
  readCompressionSummary: {},
  startCompressionJob: { body: { profile: { techniques: ['json', 'toon'] } } },
  readCompressionJob: { params: { jobId: '$ESTIMATE_ID' } },
  createClientSession: {
    body: {
      customerId,
      customerUserId: 'user-1',
      feature: 'chat',
      tags: ['web'],
      models: ['service/standard', 'openai/gpt-5.2'],
    },
  },
  createGatewaySession: { body: { customerId } },
  createEmbedSession: {
    body: { customerId, origins: ['https://app.example.com'], theme: 'auto', variant: 'detailed' },
    credential: '$EMBED_KEY',
  },
  readIdentity: {},
  putOperator: { params: { name: 'ada@example.com' }, body: { role: 'editor' } },
  listOperators: { needs: ['putOperator'] },
  readOperator: { params: { name: 'ada@example.com' }, needs: ['putOperator'] },
  deleteOperator: { params: { name: 'ada@example.com' }, needs: ['putOperator'] },
  createOrganization: { body: { name: 'Example' } },
  listOrganizations: { query: { limit: '10' } },
  readOrganization: { params: org },
  readOrganizationSetup: { params: org },
  updateOrganization: { params: org, body: { name: 'Demo' } },
  putPlan: { params: { ...org, planId: 'example' }, body: PLAN },
  listPlans: { params: org },
  readPlan: { params: { ...org, planId: 'pro' } },
  archivePlan: {
    params: { ...org, planId: 'seasonal' },
    needs: [{ id: 'putPlan', params: { ...org, planId: 'seasonal' }, body: PLAN }],
  },
  restorePlan: {
    params: { ...org, planId: 'seasonal' },
    needs: [{ id: 'putPlan', params: { ...org, planId: 'seasonal' }, body: PLAN }],
  },
  migratePlan: { params: { ...org, planId: 'example' }, body: { when: 'AT_NEXT_REPLENISH' }, needs: ['putPlan'] },
  readMigration: { params: { ...org, jobId: '$MIGRATION_ID' } },
  setModels: {
    params: org,
    body: {
      standard: [MODEL, 'google/gemini-3.8-flash', 'anthropic/claude-haiku-5-5'],
      premium: ['anthropic/claude-opus-5-5', 'openai/gpt-6-sol'],
    },
  },
  switchModelBack: {
    params: org,
    body: { mapping: 'premium', model: 'openai/gpt-6.1-sol' },
    needs: [{ id: 'setModels', params: org, body: { premium: [SWITCHED] } }],
  },
  readOrganizationModelRadar: { params: org, query: { horizonDays: '180' } },
  readModels: { params: org },
  deleteModels: { params: org },
  readSampling: { params: org },
  deleteSampling: { params: org },
  setSampling: { params: org, body: { rate: 0.1, features: { exclude: ['medical'] }, retentionDays: 14 } },
  listSamples: { params: org, query: { limit: '10' } },
  exportSamples: { params: org, query: { customerId }, needs: ['storeSample'] },
  readSample: { params: { ...org, sampleId: SAMPLE_ID }, needs: ['storeSample'] },
  deleteSample: { params: { ...org, sampleId: SAMPLE_ID }, needs: ['storeSample'] },
  readOrganizationCompressionProfile: { params: org },
  operatorSaveCompressionProfile: { params: org, body: { techniques: ['json', 'whitespace'], aggressiveness: 0.3 } },
  readOrganizationCompressionSummary: {
    params: org,
    query: { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' },
  },
  operatorStartCompressionJob: { params: org, body: { customerId } },
  readOrganizationCompressionJob: { params: { ...org, jobId: '$OPERATOR_ESTIMATE_ID' } },
  setPrice: {
    params: { ...org, modelKey: 'openai/ft:gpt-4.1:acme::x1' },
    body: { inputUsdPerMillion: 3, outputUsdPerMillion: 12, cachedInputUsdPerMillion: 0.75 },
  },
  listPrices: { params: org },
  readPrices: { params: { ...org, modelKey: 'openai/ft:gpt-4.1:acme::x1' }, needs: ['setPrice'] },
  deletePrices: { params: { ...org, modelKey: 'openai/ft:gpt-4.1:acme::x1' }, needs: ['setPrice'] },
  startRepricing: {
    params: org,
    body: { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z', dryRun: true },
    needs: ['setPrice'],
  },
  readRepricing: { params: { ...org, jobId: '$REPRICING_ID' } },
  setVendor: { params: { ...org, provider: 'openai' }, body: { apiKey: '$OPENAI_API_KEY' } },
  listVendors: { params: org },
  readVendor: { params: { ...org, provider: 'openai' }, needs: ['setVendor'] },
  deleteVendor: { params: { ...org, provider: 'openai' }, needs: ['setVendor'] },
  createKey: { params: org, body: { name: 'Example', scopes: ['usage:read', 'usage:write'] } },
  listKeys: { params: org },
  readKey: { params: { ...org, keyId: '$KEY_ID' } },
  rotateKey: { params: { ...org, keyId: '$KEY_ID' }, body: { overlapHours: 48 } },
  updateKey: { params: { ...org, keyId: '$KEY_ID' }, body: { scopes: ['usage:read'] } },
  revokeKey: { params: { ...org, keyId: '$KEY_ID' } },
  listOrganizationCustomers: { params: org, query: { nearLimit: '0.8', sort: 'worstMeter', limit: '10' } },
  readCustomer: { params: { ...org, ...alice }, needs: ['provisionCustomer'] },
  cancelCustomer: {
    params: { ...org, customerId: 'carol' },
    needs: [{ id: 'provisionCustomer', body: { customerId: 'carol' } }],
  },
  reactivateCustomer: {
    params: { ...org, customerId: 'carol' },
    needs: [{ id: 'provisionCustomer', body: { customerId: 'carol' } }],
  },
  grantCredit: {
    params: { ...org, customerId: 'erin' },
    body: { kind: 'USD', amountUsd: '25.00', reference: 'invoice 1042' },
    needs: ERIN_PAYS,
  },
  revokeCredit: {
    params: { ...org, customerId: 'erin', creditId: '$CREDIT_ID' },
    body: { reason: 'granted twice' },
  },
  operatorAmendCall: {
    params: { ...org, callId: '$CALL_ID' },
    body: {
      reason: 'the retry was counted twice',
      modelUsed: 'anthropic/claude-opus-5-5',
      inputTokens: 600,
      responseTokens: 350,
    },
    needs: ['endCall'],
  },
  operatorReverseCall: {
    params: { ...org, callId: '$CALL_ID' },
    body: { reason: 'sent by a test' },
    needs: ['endCall'],
  },
  operatorReverseMeterEvent: {
    params: { ...org, eventId: '$EVENT_ID' },
    body: { reason: 'sent by a test', customerId: 'erin' },
  },
  eraseCustomer: {
    params: { ...org, customerId: 'dave' },
    needs: [{ id: 'provisionCustomer', body: { customerId: 'dave' } }],
  },
  putWebhook: { params: { ...org, ...WEBHOOK }, body: WEBHOOK_BODY },
  listWebhooks: { params: org },
  readWebhook: { params: { ...org, ...WEBHOOK }, needs: ['putWebhook'] },
  deleteWebhook: {
    params: { ...org, webhookId: 'old' },
    needs: [{ id: 'putWebhook', params: { ...org, webhookId: 'old' }, body: WEBHOOK_BODY }],
  },
  testWebhook: { params: { ...org, ...WEBHOOK }, needs: ['putWebhook'] },
  replayWebhook: {
    params: { ...org, ...WEBHOOK },
    body: { from: '2026-11-24T00:00:00Z', to: '2026-11-25T00:00:00Z' },
    needs: ['putWebhook'],
  },
  rotateWebhook: { params: { ...org, ...WEBHOOK }, needs: ['putWebhook'] },
  listDeliveries: { params: { ...org, ...WEBHOOK }, query: { limit: '10' }, needs: ['putWebhook'] },
  sendDelivery: { params: { ...org, ...WEBHOOK, eventId: '$SENT_EVENT_ID' } },
  readOrganizationEvents: { params: org, query: { limit: '10' } },
  listSharedStripeCustomers: {},
  releaseStripeCustomer: {
    params: { ...org, stripeCustomerId: 'cus_example' },
    needs: [{ id: 'provisionCustomer', body: { customerId: 'frank', stripeCustomerId: 'cus_example' } }],
  },
  listOutbox: { params: org },
  resendOutbox: { params: org },
  readCatalog: {},
  publishCatalog: { body: { models: [CATALOG_MODEL] }, bodyFile: 'src/catalog/models.json' },
  listReviews: {},
  readReview: { params: { modelKey: 'openai/gpt-5.1' }, needs: ['putReview'] },
  putReview: {
    params: { modelKey: 'openai/gpt-5.1' },
    body: { replacementModelKey: 'openai/gpt-6.1-sol', reason: 'Answers our test set alike at the same price.' },
  },
  deleteReview: { params: { modelKey: 'openai/gpt-5.1' }, needs: ['putReview'] },
  listEvents: { query: { limit: '10' } },
  listDatabases: {},
  listArchive: {},
  verifyArchive: {},
  exportHistory: { params: org, query: { from: '2026-11-01', to: '2026-12-01' } },
  readAttention: { query: { organizationId: DEMO_ORGANIZATION_ID } },
  searchEverything: { query: { q: 'free', organizationId: DEMO_ORGANIZATION_ID } },
  readHealth: {},
  readHealthHistory: {},
  createChatCompletion: { body: { model: MODEL, messages: MESSAGES, customer: customerId, feature: 'chat' } },
  createResponse: { body: { model: MODEL, input: 'Say hello.', customer: customerId } },
  compactResponse: { body: { model: MODEL, input: 'Say hello.', customer: customerId } },
  countResponseTokens: { body: { model: MODEL, input: 'Say hello.' } },
  createEmbedding: { body: { model: 'openai/text-embedding-3-small', input: 'Say hello.', customer: customerId } },
  createCompletion: {
    body: { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Say hello.', customer: customerId },
  },
  createModeration: { body: { input: 'Say hello.', customer: customerId } },
  createImage: { body: { model: IMAGE_MODEL, prompt: 'A river.', customer: customerId } },
  createImageEdit: {
    upload: {
      fields: { model: IMAGE_MODEL, prompt: 'A boat on it.', customer: customerId },
      file: { field: 'image', name: 'river.png', lines: ['an image'] },
    },
  },
  createSpeech: { body: { model: 'openai/tts-1', voice: 'alloy', input: 'Hello.', customer: customerId } },
  createTranscription: { upload: RECORDING },
  createTranslation: { upload: RECORDING },
  createMessage: {
    body: { model: 'anthropic/claude-sonnet-5-5', max_tokens: 100, messages: MESSAGES, customer: customerId },
  },
  countMessageTokens: { body: { model: 'anthropic/claude-sonnet-5-5', messages: MESSAGES } },
  generateContent: { params: GEMINI, body: { contents: CONTENTS, customer: customerId } },
  streamGenerateContent: { params: GEMINI, body: { contents: CONTENTS, customer: customerId } },
  countTokens: { params: GEMINI, body: { contents: CONTENTS } },
  embedContent: {
    params: { model: 'gemini-embedding-2' },
    body: { content: { parts: [{ text: 'Say hello.' }] }, customer: customerId },
  },
  batchEmbedContents: {
    params: { model: 'gemini-embedding-2' },
    body: { requests: [{ content: { parts: [{ text: 'Say hello.' }] } }], customer: customerId },
  },
  listModels: {},
  retrieveModel: { params: { model: MODEL } },
  listGoogleModels: { query: { pageSize: '2' } },
  retrieveGoogleModel: { params: GEMINI },
  uploadFile: {
    upload: { fields: { purpose: 'batch' }, file: { field: 'file', name: 'lines.jsonl', lines: [BATCH_LINE] } },
  },
  retrieveResponse: { params: { id: '$RESPONSE_ID' } },
  deleteResponse: { params: { id: '$RESPONSE_ID' } },
  cancelResponse: { params: { id: '$RESPONSE_ID' } },
  listInputItems: { params: { id: '$RESPONSE_ID' }, query: { limit: '10' } },
  getOpenPath: { params: LIBRARY, needs: [JINA, PUT_LIBRARY] },
  postOpenPath: {
    params: { provider: 'jina', path: 'v1/rerank' },
    body: {
      model: 'jina-reranker-v3',
      query: 'the longest river',
      documents: ['A mountain', 'A long river'],
      customer: customerId,
    },
    needs: [JINA],
  },
  putOpenPath: { params: LIBRARY, body: LIBRARY_BODY, needs: [JINA] },
  patchOpenPath: { params: LIBRARY, body: LIBRARY_BODY, needs: [JINA, PUT_LIBRARY] },
  deleteOpenPath: { params: LIBRARY, needs: [JINA, PUT_LIBRARY] },
  createUpload: {
    body: {
      filename: 'lines.jsonl',
      purpose: 'batch',
      // The bytes include the line end.
      bytes: JSON.stringify(BATCH_LINE).length + 1,
      mime_type: 'text/jsonl',
    },
  },
  addUploadPart: {
    params: { id: '$UPLOAD_ID' },
    upload: { fields: {}, file: { field: 'data', name: 'part', lines: [BATCH_LINE] } },
  },
  completeUpload: { params: { id: '$UPLOAD_ID' }, body: { part_ids: ['$PART_ID'] } },
  cancelUpload: { params: { id: '$UPLOAD_ID' } },
  listFiles: {},
  retrieveFile: { params: { id: '$FILE_ID' } },
  deleteFile: { params: { id: '$FILE_ID' } },
  readFileContent: { params: { id: '$FILE_ID' } },
  createBatch: {
    body: {
      input_file_id: '$FILE_ID',
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      customer: customerId,
    },
  },
  listBatches: {},
  retrieveBatch: { params: { id: '$BATCH_ID' } },
  cancelBatch: { params: { id: '$BATCH_ID' } },
  discoverModels: {},
  resolveModel: { params: { provider: 'openai', model: 'gpt-4-32k' }, query: { response: 'light' } },
  resolveModelKey: { params: { modelKey: 'anthropic/claude-3-opus' }, query: { purpose: 'retirement' } },
};
