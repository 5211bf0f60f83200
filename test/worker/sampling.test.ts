/**
 * Sampling over HTTP: the settings with their version and their caching, the operator's policy in force at once, and
 * decisions with every reason (contract 2.8, 4.12, 4.13).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const POLICY = {
  rate: 0.25,
  minInputTokens: 50,
  features: { include: ['chat', 'search'], exclude: ['legal'] },
  customers: { exclude: ['secret'] },
  retentionDays: 14,
};
const DEFAULTS = {
  rate: 0,
  minInputTokens: 0,
  features: { include: [], exclude: [] },
  customers: { exclude: [] },
  retentionDays: 30,
};

let tenant: Tenant;
let key: string;
beforeAll(async () => {
  tenant = await createTenant(operator);
  const body = { name: 'compression', prefix: 'cmp-' };
  key = (await operator.send('createKey', { params: { org: tenant.organizationId }, body })).data.key;
});

const setPolicy = (body: object, { organizationId } = tenant) =>
  operator.send('setSampling', { params: { org: organizationId }, body });

async function settings(headers: Record<string, string> = {}): Promise<Response> {
  return worker.fetch('https://callmeter.test/sampling/settings', {
    headers: { Authorization: `Bearer ${key}`, Accept: MEDIA_TYPE, ...headers },
  }) as unknown as Promise<Response>;
}

describe('the settings', () => {
  test('sample nothing until the operator sets a policy', async () => {
    const { data, body, headers } = await tenant.api.send('readSamplingSettings');
    expect(body.result.code).toBe('SAMPLING_SETTINGS_READ');
    const { version, settingsExpiresAt, ...rest } = data;
    expect(rest).toEqual({ ...DEFAULTS, cacheSeconds: 300 });
    expect(version).toMatch(/^sp_[0-9a-f]{16}$/);
    expect(Date.parse(settingsExpiresAt) - Date.parse(body.result.timestamp)).toBe(300_000);
    expect(headers.get('ETag')).toBe(`"${version}"`);
    expect(headers.get('Cache-Control')).toBe('private, max-age=300');
  });

  test('take effect as soon as the change is acknowledged, with a version of their content', async () => {
    const { api, organizationId } = await createTenant(operator);
    const initial = (await api.send('readSamplingSettings')).data.version;
    const saved = await setPolicy(POLICY, { organizationId } as Tenant);
    expect(saved.body.result.code).toBe('SAMPLING_SAVED');
    expect(saved.data).toEqual({ version: expect.stringMatching(/^sp_[0-9a-f]{16}$/), ...POLICY });
    const read = (await api.send('readSamplingSettings')).data;
    expect(read).toMatchObject({ ...POLICY, version: saved.data.version });
    expect(read.version).not.toBe(initial);

    const other = await createTenant(operator);
    expect((await setPolicy(POLICY, other)).data.version).toBe(saved.data.version);
    const changed = await setPolicy({ ...POLICY, rate: 0.26 }, other);
    expect(changed.data.version).not.toBe(saved.data.version);
    expect((await other.api.send('readSamplingSettings')).data.rate).toBe(0.26);
    expect((await api.send('readSamplingSettings')).data.rate).toBe(0.25);
    expect((await setPolicy(DEFAULTS, other)).data.version).toBe(initial);
  });

  test('are 304 without a body if the ETag matches, and sent again once they changed', async () => {
    const first = await settings();
    expect(first.status).toBe(200);
    await first.body?.cancel();
    const etag = first.headers.get('ETag') ?? '';
    for (const header of [etag, `W/${etag}`, `"other", ${etag}`, `"other",W/${etag} `, '*']) {
      const again = await settings({ 'If-None-Match': header });
      expect([header, again.status, await again.text()]).toEqual([header, 304, '']);
      expect([again.headers.get('ETag'), again.headers.get('Cache-Control')]).toEqual([etag, 'private, max-age=300']);
    }
    for (const header of ['"other"', etag.slice(1, -1), '""']) {
      const other = await settings({ 'If-None-Match': header });
      expect([header, other.status]).toEqual([header, 200]);
      await other.body?.cancel();
    }
    await setPolicy({ rate: 0.125 });
    const changed = await settings({ 'If-None-Match': etag });
    expect(changed.status).toBe(200);
    expect((await changed.json<{ data: object }>()).data).toMatchObject({ ...DEFAULTS, rate: 0.125 });
    await setPolicy(DEFAULTS);
  });
});

describe('the operator', () => {
  test('leaves an event for each change, with the values before and after', async () => {
    const { organizationId } = await createTenant(operator);
    await setPolicy({ rate: 1 }, { organizationId } as Tenant);
    await setPolicy(POLICY, { organizationId } as Tenant);
    const { items } = (await operator.send('listEvents', { query: { organizationId, limit: '2' } })).data;
    expect(items).toEqual([
      expect.objectContaining({
        action: 'sampling.put',
        subject: organizationId,
        before: { ...DEFAULTS, rate: 1 },
        after: POLICY,
      }),
      expect.objectContaining({ action: 'sampling.put', before: DEFAULTS, after: { ...DEFAULTS, rate: 1 } }),
    ]);
  });

  test.each([
    ['rate', { rate: undefined }],
    ['rate', { rate: -0.000_1 }],
    ['rate', { rate: 1.000_1 }],
    ['rate', { rate: '0.5' }],
    ['rate', { rate: null }],
    ['minInputTokens', { minInputTokens: -1 }],
    ['minInputTokens', { minInputTokens: 0.5 }],
    ['retentionDays', { retentionDays: 0 }],
    ['retentionDays', { retentionDays: 366 }],
    ['retentionDays', { retentionDays: 1.5 }],
    ['features.include', { features: { include: 'chat' } }],
    ['features.include.0', { features: { include: [''] } }],
    ['features.exclude', { features: { exclude: Array.from({ length: 501 }, (_, n) => `f${n}`) } }],
    ['customers.exclude.0', { customers: { exclude: [5] } }],
    ['customers', { customers: [] }],
  ])('is told about %s in %j, and nothing changes', async (field, change) => {
    const { status, refusal } = await setPolicy({ ...POLICY, ...change });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
    const row = await bindings.DB.prepare('SELECT sampling FROM organizations WHERE organization_id = ?')
      .bind(tenant.organizationId)
      .first();
    expect(JSON.parse(String(row?.sampling))).toEqual(DEFAULTS);
  });

  test.each([{ rate: 0 }, { rate: 1, retentionDays: 1 }, { rate: 0.5, retentionDays: 365 }])(
    'may set %j',
    async (policy) => {
      const own = await createTenant(operator);
      expect((await setPolicy(policy, own)).data).toMatchObject({ ...DEFAULTS, ...policy });
    },
  );

  test('gets 404 for an unknown organization', async () => {
    const reply = await setPolicy(POLICY, { organizationId: crypto.randomUUID() } as Tenant);
    expect([reply.status, reply.refusal.code]).toEqual([404, 'NOT_FOUND']);
  });
});

describe('a decision', () => {
  let own: Tenant;
  let version: string;
  beforeAll(async () => {
    own = await createTenant(operator);
    version = (await setPolicy({ ...POLICY, rate: 0.5 }, own)).data.version;
  });
  const decide = async (body: object) => (await own.api.send('decideSampling', { body })).data;
  const CHAT = { feature: 'chat', inputTokens: 50 };

  test('answers every field', async () => {
    const { data, body } = await own.api.send('decideSampling', {
      body: { ...CHAT, samplingKey: 'k1', customerId: 'ann' },
    });
    expect(body.result.code).toBe('SAMPLING_DECIDED');
    expect(data).toEqual({
      sample: data.reason === 'SELECTED',
      reason: expect.stringMatching(/^(NOT_)?SELECTED$/),
      decisionId: expect.stringMatching(/^sd_[0-9a-f]{32}$/),
      samplingKey: 'k1',
      policyVersion: version,
      settingsExpiresAt: expect.any(String),
    });
    expect(Date.parse(data.settingsExpiresAt) - Date.parse(body.result.timestamp)).toBe(300_000);
  });

  test.each([
    ['CUSTOMER_EXCLUDED', { customerId: 'secret', feature: 'legal' }],
    ['CUSTOMER_EXCLUDED', { customer: { id: 'secret' } }],
    ['CUSTOMER_EXCLUDED', { customer_id: 'secret' }],
    ['FEATURE_EXCLUDED', { customerId: 'ann', feature: 'legal' }],
    ['FEATURE_NOT_INCLUDED', { feature: 'other', inputTokens: 0 }],
    ['FEATURE_NOT_INCLUDED', {}],
    ['BELOW_MIN_INPUT_TOKENS', { feature: 'chat' }],
    ['BELOW_MIN_INPUT_TOKENS', { feature: 'chat', inputTokens: 49 }],
    ['BELOW_MIN_INPUT_TOKENS', { feature: 'chat', inputCharacters: 196 }],
    ['BELOW_MIN_INPUT_TOKENS', { feature: 'chat', inputTokens: 49, inputCharacters: 1_000_000 }],
  ])('is %s for %j', async (reason, body) => {
    expect(await decide(body)).toMatchObject({ sample: false, reason });
  });

  test.each([{ inputTokens: 50 }, { inputCharacters: 197 }, { inputCharacters: 0, inputTokens: 50 }])(
    'is up to the rate for %j',
    async (counts) => {
      expect((await decide({ feature: 'chat', ...counts })).reason).toMatch(/SELECTED$/);
    },
  );

  test('without a key returns a new one, with which it can be repeated', async () => {
    const [one, other] = [await decide(CHAT), await decide(CHAT)];
    expect(one.samplingKey).not.toBe(other.samplingKey);
    expect(await decide({ ...CHAT, samplingKey: one.samplingKey })).toMatchObject({
      reason: one.reason,
      decisionId: one.decisionId,
    });
  });

  test('needs no body, with any content type', async () => {
    for (const headers of [{}, { 'Content-Type': 'application/json' }] as Record<string, string>[]) {
      const { data } = await own.api.send('decideSampling', { headers });
      expect(data.reason).toBe('FEATURE_NOT_INCLUDED');
    }
  });

  test.each([
    ['samplingKey', { samplingKey: '' }],
    ['samplingKey', { samplingKey: 7 }],
    ['samplingKey', { samplingKey: 'x'.repeat(256) }],
    ['customerId', { customerId: '' }],
    ['feature', { feature: 'x'.repeat(201) }],
    ['inputTokens', { inputTokens: -1 }],
    ['inputTokens', { inputTokens: 1.5 }],
    ['inputTokens', { inputTokens: '5' }],
    ['inputCharacters', { inputCharacters: -4 }],
  ])('names %s in %j', async (field, body) => {
    const { status, refusal } = await own.api.send('decideSampling', { body });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
  });
});
