/**
 * The setup of a fuzz run: a server, model vendors on loopback, an organization with customers, calls, samples and keys
 * of every kind, and a second one for the operator's changes. Every secret in it carries a marker.
 */
import { createHmac } from 'node:crypto';
import { createKillableServer, type KillableServer } from '../crash/killable-server.ts';
import { Api, createTenant, type Tenant } from '../support/api.ts';
import { type FakeVendor, startVendor } from '../vendors/vendor.ts';
import type { Targets } from './requests.ts';

export interface World {
  server: KillableServer;
  vendor: FakeVendor;
  targets: Targets;
  /** Values that may not appear anywhere on disk or in a log, by their kind. */
  secrets: Map<string, string>;
  close(): Promise<void>;
}

const OPERATOR_TOKEN = 'MARKED-fuzz-operator-token-of-at-least-32-characters';
const SECRETS = {
  OPERATOR_TOKEN,
  VENDOR_KEY_SECRET: 'MARKED-fuzz-vendor-key-secret-of-32-characters',
  SESSION_SECRET: 'MARKED-fuzz-session-secret-of-32-characters',
};
const VENDOR_KEY = 'sk-MARKED-fuzz-vendor-key-0123456789';
const OPEN_PATHS = ['/v1/models', '/v1/models/*'];
const VENDOR_HEADER = 'MARKED-fuzz-vendor-header-0123456789';
const PROMPT = 'MARKED fuzz prompt that nobody is to keep';

const CUSTOMERS = ['customer-0', 'customer-1', 'customer-2', 'customer-3'];
const CALLS = Array.from({ length: 8 }, (_, index) => `call-${index}`);
const PLAN = {
  name: 'Fuzz',
  limitType: 'BLOCK',
  limits: { premiumCalls: 100_000, searches: 10 },
  payg: { enabled: true, markupPercent: 10 },
  customMeters: {
    CUSTOM1: {
      label: 'units',
      included: 100,
      funding: { credits: true, payg: true },
      overage: { model: 'SINGLE', priceUsd: '0.01' },
    },
    AGENTIC_API: { label: 'requests', unlimited: true },
  },
};

export async function createWorld(): Promise<World> {
  const [server, vendor] = await Promise.all([createKillableServer({ ...SECRETS, CONFIG_TTL_MS: 100 }), startVendor()]);
  const close = async () => {
    await server.remove();
    await vendor.close();
  };
  try {
    return { server, vendor, close, ...(await furnished(server, vendor)) };
  } catch (error) {
    await close();
    throw error;
  }
}

async function furnished(server: KillableServer, vendor: FakeVendor): Promise<Pick<World, 'targets' | 'secrets'>> {
  await server.start();
  const operator = new Api(fetch, server.url, OPERATOR_TOKEN);
  const tenant = await createTenant(operator, PLAN);
  const changed = await createTenant(operator, PLAN);
  const secrets = new Map([
    ...Object.entries(SECRETS),
    ['vendor key', VENDOR_KEY],
    ['vendor header', VENDOR_HEADER],
    ['prompt', PROMPT],
  ]);
  const { apiKey, otherKeys } = await createKeys(tenant, secrets);
  await furnish(tenant, vendor);
  const targets = { apiKey, otherKeys, operatorToken: OPERATOR_TOKEN, pools: poolsOf(tenant, changed, vendor) };
  return { targets, secrets };
}

async function createKeys({ operator, api, organizationId }: Tenant, secrets: Map<string, string>) {
  const params = { org: organizationId };
  const create = async (name: string, body: object) => {
    const { key, keyId } = (await operator.send('createKey', { params, body: { name, ...body } })).data;
    secrets.set(`API key ${name}`, key);
    return { key, keyId };
  };
  const [all, reading, legacy, embedding, revoked] = await Promise.all([
    create('all', {}),
    create('reading', { scopes: ['usage:read'] }),
    create('legacy', { prefix: 'cmp-' }),
    create('embedding', { prefix: 'ek-' }),
    create('revoked', {}),
  ]);
  await operator.send('revokeKey', { params: { ...params, keyId: revoked.keyId } });
  const session = (await api.send('createClientSession', { body: { customerId: 'customer-0' } })).data.token;
  secrets.set('session token', session);
  const forged = `${session.split('.').slice(0, 2).join('.')}.${createHmac('sha256', 'wrong').update('x').digest('base64url')}`;
  const malformed = ['utk-short', `utk-${'A'.repeat(43)}`, 'a.b.c', forged];
  return { apiKey: all.key, otherKeys: [reading.key, legacy.key, embedding.key, revoked.key, session, ...malformed] };
}

async function furnish({ api, operator, organizationId }: Tenant, vendor: FakeVendor): Promise<void> {
  const params = { org: organizationId };
  await operator.send('putPlan', { params: { ...params, planId: 'pro' }, body: { ...PLAN, name: 'Pro' } });
  for (const provider of ['openai', 'anthropic', 'google']) {
    const baseUrl = `${vendor.url}/${provider === 'google' ? 'v1beta/openai' : 'v1'}`;
    // The other two take their keys in another way than the vendor of this run does at these paths.
    const body = { apiKey: VENDOR_KEY, baseUrl, ...(provider === 'openai' && { passthrough: OPEN_PATHS }) };
    await operator.send('setVendor', { params: { ...params, provider }, body });
  }
  await operator.send('setModels', { params, body: { standard: ['openai/gpt-4o-mini'], premium: ['openai/gpt-4o'] } });
  for (const [index, customerId] of CUSTOMERS.entries()) {
    await api.send('provisionCustomer', { body: { customerId } });
    await operator.send('grantCredit', {
      params: { ...params, customerId },
      body: { kind: 'USD', amountUsd: String(10 * index + 1) },
    });
  }
  for (const [index, callId] of CALLS.entries()) {
    const body = { customerId: CUSTOMERS[index % CUSTOMERS.length] };
    await api.send('beginCall', { body, headers: { 'Idempotency-Key': callId } });
    if (index % 2 === 0) await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', responseTokens: 5 } });
    await api.send('storeSample', {
      body: { sampleId: `sample-${index}`, provider: 'openai', input: 'kept on purpose' },
    });
  }
}

/** Names of fields with values that are there, so that requests get past the first check. */
function poolsOf({ organizationId }: Tenant, changed: Tenant, vendor: FakeVendor): Targets['pools'] {
  const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: PROMPT }] };
  return {
    customerId: [...CUSTOMERS, 'new-1', 'new-2'],
    callId: [...CALLS, 'no-such-call'],
    idempotencyKey: ['key-0', 'key-1', 'key-2', ...CALLS],
    idempotency: ['key-0', 'key-1'],
    sampleId: ['sample-0', 'sample-1', 'no-such-sample'],
    planId: ['test', 'pro', 'no-such-plan'],
    // Operators' changes go to the second organization; the other requests use the first one.
    org: [
      changed.organizationId,
      changed.organizationId,
      changed.organizationId,
      '00000000-0000-4000-8000-000000000000',
    ],
    organizationId: [organizationId, '00000000-0000-4000-8000-000000000000'],
    keyId: ['no-such-key'],
    webhookId: ['hook-0', 'hook-1', 'no-such-webhook'],
    jobId: ['no-such-job'],
    provider: ['openai', 'anthropic', 'acme'],
    providerUsed: ['openai', 'anthropic'],
    modelUsed: ['gpt-4o', 'gpt-4o-mini', 'no-such-model', 'ft:gpt-4o:x'],
    model: ['openai/gpt-4o-mini', 'gpt-4o', 'service/standard', 'service/premium', 'acme/none'],
    modelKey: [
      'openai/gpt-4o',
      'anthropic/claude-3-opus-20240229',
      'google/gemini-1.5-pro',
      'gpt-4o',
      'openai/nothing',
    ],
    messages: [...Array(6).fill(chat.messages), ['@@somewhat-deep@@'], ['@@deepest-array@@']],
    input: [...Array(6).fill('text'), { a: '@@somewhat-deep@@' }, '@@deeper-array@@'],
    stream: [false, false, true],
    timezone: ['UTC', 'Europe/Berlin', 'Nowhere/None'],
    metric: ['calls', 'dollars', 'agenticApi'],
    meterSlot: ['CUSTOM1', 'AGENTIC_API', 'CUSTOM2'],
    amount: [1, 2, 50],
    metadata: [{ a: 1 }, { a: '@@deep-array@@' }, { a: '@@somewhat-deep@@' }, { a: '@@deep-object@@' }],
    baseUrl: [`${vendor.url}/v1`, 'http://127.0.0.1:1/v1'],
    url: [
      `${vendor.url}/v1/chat/completions`,
      `${vendor.url}/v1/messages`,
      'https://fuzz.invalid/',
      'https://10.0.0.1/x',
      'http://127.0.0.1:1/',
    ],
    headers: [{ Authorization: `Bearer ${VENDOR_HEADER}`, 'x-api-key': VENDOR_HEADER }],
    timeoutMs: [1_000],
    body: [chat],
    apiKey: [VENDOR_KEY],
    input_file_id: ['no-such-file'],
    id: ['no-such-file', 'no-such-batch'],
    path: ['v1/models', 'v1/models/gpt-4o', 'v1/models/../files', 'v1/files'],
    passthrough: [OPEN_PATHS, ['/v1/../files']],
  };
}
