/**
 * Vendors of an organization: their keys are stored encrypted and shown to nobody, and their addresses are the only
 * ones outside the public internet that a call may go to.
 */

import { createExecutionContext } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { OrganizationConfig } from '../../src/config/credentials.ts';
import { openVendorKey } from '../../src/config/vendor-keys.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { VENDOR_BASE_URLS } from '../../src/contract/vendors.ts';
import { asOrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { bindings, operator } from '../support/worker.ts';

const SECRET = 'sk-proj-abcdefghijklmnop-WXYZ';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator);
});
afterEach(() => vi.unstubAllGlobals());

const put = (provider: string, body: unknown, org = tenant.organizationId) =>
  operator.send('setVendor', { params: { org, provider }, body });

async function sealedKeyOf(provider: string): Promise<string> {
  const row = await bindings.DB.prepare(
    'SELECT sealed_key FROM vendor_credentials WHERE organization_id = ? AND provider = ?',
  )
    .bind(tenant.organizationId, provider)
    .first<{ sealed_key: string }>();
  return row?.sealed_key ?? '';
}

/** The request's reading of the stored key. */
function opened(provider: string, sealedKey: string, organizationId = tenant.organizationId, env: Env = bindings) {
  const vendors = new Map([[provider, { baseUrl: '', sealedKey }]]);
  return openVendorKey(env, { organizationId, vendors } as unknown as OrganizationConfig, provider);
}

describe("a vendor's key", () => {
  test('is returned only as a hint, and stored nowhere in clear text', async () => {
    const saved = await put('openai', { apiKey: SECRET });
    expect(saved.data).toEqual({
      provider: 'openai',
      baseUrl: VENDOR_BASE_URLS.openai,
      kind: 'openai',
      keyHint: 'WXYZ',
      useReportedCost: false,
    });
    await put('openai', { apiKey: `${SECRET}2`, baseUrl: 'https://proxy.acme.com/v1/' });
    const tables = ['vendor_credentials', 'operator_events', 'operator_idempotency'];
    const rows = await Promise.all(
      tables.map(async (table) => (await bindings.DB.prepare(`SELECT * FROM ${table}`).all()).results),
    );
    const events = await operator.send('listEvents', { query: { organizationId: tenant.organizationId } });
    expect(JSON.stringify(rows)).toContain('proxy.acme.com');
    for (const place of [saved.body, rows, events.body])
      expect(JSON.stringify(place)).not.toContain(SECRET.slice(0, -4));
    expect(events.data.items.slice(0, 2)).toMatchObject([
      {
        action: 'vendor.put',
        subject: 'openai',
        before: { provider: 'openai', baseUrl: VENDOR_BASE_URLS.openai, keyHint: 'WXYZ', useReportedCost: false },
        after: { provider: 'openai', baseUrl: 'https://proxy.acme.com/v1', keyHint: 'XYZ2', useReportedCost: false },
      },
      { action: 'vendor.put', before: null },
    ]);
  });

  test('can be decrypted only for its own organization and vendor with its own secret', async () => {
    await put('anthropic', { apiKey: SECRET });
    const sealed = await sealedKeyOf('anthropic');
    expect(await opened('anthropic', sealed)).toBe(SECRET);
    expect(await opened('openai', sealed)).toBeNull();
    expect(await opened('anthropic', sealed, asOrganizationId(crypto.randomUUID()))).toBeNull();
    const other = { ...bindings, VENDOR_KEY_SECRET: 'another-vendor-key-secret-of-32-characters' };
    expect(await opened('anthropic', sealed, tenant.organizationId, other)).toBeNull();
    const flipped = `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`;
    for (const broken of [flipped, '', 'x', '.', `${sealed}*`]) expect(await opened('anthropic', broken)).toBeNull();
    await put('anthropic', { apiKey: SECRET });
    expect(await sealedKeyOf('anthropic')).not.toBe(sealed);
  });

  test('of a few characters has no hint, which would reveal most of it', async () => {
    expect((await put('short', { apiKey: 'abcdefghijklmno', baseUrl: 'https://a.example.com/v1' })).data.keyHint).toBe(
      '',
    );
    expect((await put('short', { apiKey: 'abcdefghijklmnop', baseUrl: 'https://a.example.com/v1' })).data.keyHint).toBe(
      'mnop',
    );
  });

  test('is refused without an encryption secret', async () => {
    const { default: worker } = await import('../../src/index.ts');
    const request = new Request(
      `https://callmeter.test/operator/organizations/${tenant.organizationId}/vendors/google`,
      {
        method: 'PUT',
        headers: { Authorization: `Bearer ${OPERATOR_TOKEN}`, Accept: MEDIA_TYPE, 'Content-Type': 'application/json' },
        body: JSON.stringify({ apiKey: SECRET }),
      },
    );
    const { VENDOR_KEY_SECRET: _secret, ...env } = bindings;
    const response = await worker.fetch(request as never, env as Env, createExecutionContext());
    expect([response.status, (await response.json<{ error: { code: string } }>()).error.code]).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
    ]);
    expect(await sealedKeyOf('google')).toBe('');
  });
});

describe('a vendor', () => {
  test.each(Object.entries(VENDOR_BASE_URLS))('%s has a known address', async (provider, baseUrl) => {
    expect((await put(provider, { apiKey: SECRET })).data.baseUrl).toBe(baseUrl);
  });

  test('that is not built in needs an address, and its organization must exist', async () => {
    const { refusal } = await put('acme', { apiKey: SECRET });
    expect([refusal.code, refusal.details]).toEqual([
      'BAD_REQUEST',
      [{ path: 'baseUrl', message: expect.any(String) }],
    ]);
    // A name that every object has is no vendor either.
    expect((await put('constructor', { apiKey: SECRET })).refusal.code).toBe('BAD_REQUEST');
    expect((await put('acme', { apiKey: SECRET, baseUrl: 'http://127.0.0.1:8080/v1/' })).data.baseUrl).toBe(
      'http://127.0.0.1:8080/v1',
    );
    expect((await put('openai', { apiKey: SECRET }, asOrganizationId(crypto.randomUUID()))).refusal.code).toBe(
      'NOT_FOUND',
    );
  });

  test.each(['OpenAI!', 'a b', '-x', 'ä', 'x'.repeat(65)])('may not be called %j', async (provider) => {
    expect((await put(provider, { apiKey: SECRET, baseUrl: 'https://a.example.com' })).refusal.message).toContain(
      'provider',
    );
  });

  test.each([
    ['baseUrl', { baseUrl: 'ftp://a.example.com/v1' }],
    ['baseUrl', { baseUrl: 'a.example.com/v1' }],
    ['baseUrl', { baseUrl: 'https://user@a.example.com/v1' }],
    ['baseUrl', { baseUrl: 'https://:password@a.example.com/v1' }],
    ['baseUrl', { baseUrl: 'https://a.example.com/v1?key=1' }],
    ['baseUrl', { baseUrl: 'https://a.example.com/v1?' }],
    ['baseUrl', { baseUrl: 'https://a.example.com/v1#x' }],
    ['baseUrl', { baseUrl: 'https://a.example.com/v1#' }],
    ['baseUrl', { baseUrl: `https://a.example.com/${'x'.repeat(500)}` }],
    ['baseUrl', { baseUrl: '' }],
    ['apiKey', { apiKey: '' }],
    ['apiKey', { apiKey: 'with space' }],
    ['apiKey', { apiKey: 'ünïcode' }],
    ['apiKey', { apiKey: 'line\nbreak' }],
    ['apiKey', { apiKey: undefined }],
    ['apiKey', { apiKey: 'sk-...' }],
    ['apiKey', { apiKey: '****' }],
    ['apiKey', { apiKey: '<key>' }],
    ['apiKey', { apiKey: 'YOUR-API-KEY' }],
    ['apiKey', { apiKey: 'sk-your-key' }],
  ])('is refused by the field %s of %j, and keeps what it had', async (path, change) => {
    await put('kept', { apiKey: SECRET, baseUrl: 'https://kept.example.com/v1' });
    const sealed = await sealedKeyOf('kept');
    const { code, details } = (await put('kept', { apiKey: SECRET, baseUrl: 'https://b.example.com', ...change }))
      .refusal;
    expect([code, (details as { path: string }[]).map((detail) => detail.path)]).toEqual(['BAD_REQUEST', [path]]);
    expect(await sealedKeyOf('kept')).toBe(sealed);
  });
});

/** Answers outgoing requests instead of the network; returns their addresses. */
function vendorAnswers(): string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return Response.json({ object: 'chat.completion', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } });
  });
  return asked;
}
const ask = (url: string, { api }: Tenant = tenant, customerId = 'address') =>
  api.send('makeCall', { body: { customerId, vendor: { url, body: { model: 'gpt-4o-mini' } } } });

describe('the address of a call', () => {
  // What else is refused: test/unit/vendors-address.test.ts.
  test.each([
    'http://api.openai.com/v1/chat/completions',
    'https://user:pass@api.openai.com/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::ffff:127.0.0.1]/',
    'https://api.openai.com:22/',
  ])('%s is refused with the reason, and nothing is sent or recorded', async (url) => {
    const asked = vendorAnswers();
    const customerId = `address ${url}`;
    const { code, details } = (await ask(url, tenant, customerId)).refusal;
    expect([code, (details as { path: string }[]).map(({ path }) => path)]).toEqual(['BAD_REQUEST', ['vendor.url']]);
    expect(asked).toEqual([]);
    expect((await tenant.api.send('readUsage', { params: { customerId } })).refusal.code).toBe(
      'SUBSCRIPTION_NOT_FOUND',
    );
  });

  test('that was refused leaves its key free', async () => {
    vendorAnswers();
    const headers = { 'Idempotency-Key': 'refused-address' };
    const call = (url: string) =>
      tenant.api.send('makeCall', { body: { customerId: 'free-key', vendor: { url } }, headers });
    expect((await call('https://127.0.0.1/')).status).toBe(400);
    expect((await call('https://api.openai.com/v1/responses')).data.begin.callId).toBe('refused-address');
  });

  test('may be on an origin that was registered for that organization, and only that one', async () => {
    const asked = vendorAnswers();
    const other = await createTenant(operator);
    await put('local', { apiKey: 'k', baseUrl: 'http://127.0.0.1:9999/v1' }, other.organizationId);
    expect((await ask('http://127.0.0.1:9999/anything?x=1', other)).data.vendor?.status).toBe(200);
    for (const url of [
      'http://127.0.0.1:9998/v1',
      'https://127.0.0.1:9999/v1',
      'http://u@127.0.0.1:9999/v1',
      'http://localhost:9999/v1',
    ]) {
      expect((await ask(url, other)).refusal.code).toBe('BAD_REQUEST');
    }
    expect((await ask('http://127.0.0.1:9999/v1')).refusal.code).toBe('BAD_REQUEST');
    expect(asked).toEqual(['http://127.0.0.1:9999/anything?x=1']);
  });

  test('follows a change of the registration at once', async () => {
    vendorAnswers();
    const other = await createTenant(operator);
    for (let port = 9_000; port < 9_003; port += 1) {
      const keepUsing = Promise.all(Array.from({ length: 5 }, () => ask('https://api.openai.com/v1/responses', other)));
      await put('local', { apiKey: 'k', baseUrl: `http://127.0.0.1:${port}/v1` }, other.organizationId);
      expect((await ask(`http://127.0.0.1:${port}/v1`, other)).status).toBe(200);
      expect((await ask(`http://127.0.0.1:${port - 1}/v1`, other)).status).toBe(400);
      await keepUsing;
    }
  });
});

describe('an organization', () => {
  const fill = (sql: string, org: string, rows: number) =>
    bindings.DB.prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) ${sql}`)
      .bind(org, rows)
      .run();

  test('has at most a hundred vendors: one more is refused, existing ones can be changed', async () => {
    const { organizationId: org } = await createTenant(operator);
    await put('first', { apiKey: SECRET, baseUrl: 'https://vendor.acme.com' }, org);
    await fill(
      `INSERT INTO vendor_credentials (organization_id, provider, base_url, sealed_key, key_hint, use_reported_cost, updated_at_ms)
       SELECT ?1, 'vendor-' || i, 'https://vendor.acme.com', '', '', 0, 0 FROM n`,
      org,
      99,
    );
    const more = await put('one-more', { apiKey: SECRET, baseUrl: 'https://vendor.acme.com' }, org);
    expect(more.refusal).toMatchObject({ code: 'CONFLICT', message: 'an organization has at most 100 vendors' });
    expect((await put('first', { apiKey: SECRET, baseUrl: 'https://other.acme.com' }, org)).status).toBe(200);
  });

  test('has at most a thousand prices: one more is refused, existing ones can be changed', async () => {
    const { organizationId: org } = await createTenant(operator);
    const price = (modelKey: string) =>
      operator.send('setPrice', { params: { org, modelKey }, body: { inputUsdPerMillion: 1, outputUsdPerMillion: 2 } });
    await price('acme/first');
    await fill(
      `INSERT INTO organization_prices (organization_id, model_key, effective_from_ms, snapshot_id, rates, updated_at_ms) SELECT ?1, 'acme/' || i, 0, '', '{}', 0 FROM n`,
      org,
      999,
    );
    const more = await price('acme/one-more');
    expect(more.refusal).toMatchObject({
      code: 'CONFLICT',
      message: 'an organization has at most 1000 prices of its own',
    });
    expect((await price('acme/first')).status).toBe(200);
  });
});
