/**
 * Promise: an organization's samples never take more bytes than their quota, even if several are stored at the same
 * time; stored bytes are counted exactly in every case; and the operator sees the organizations that fill the database.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, operator } from '../support/worker.ts';

const MIB = 1024 * 1024;
/** The size of a sample besides its texts. */
const OVERHEAD_BYTES = 1024;

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator);
});

const store = ({ api }: Tenant, body: object) => api.send('storeSample', { body: { provider: 'openai', ...body } });
const setMax = ({ organizationId }: Tenant, sampleBytesMax: number) =>
  operator.send('updateOrganization', { params: { org: organizationId }, body: { sampleBytesMax } });

async function limited(sampleBytesMax: number): Promise<Tenant> {
  const made = await createTenant(operator);
  expect((await setMax(made, sampleBytesMax)).data.sampleBytesMax).toBe(sampleBytesMax);
  return made;
}

/** D1's counts, and the real ones. */
async function sizes({ organizationId }: Tenant) {
  const counted = await bindings.DB.prepare(
    'SELECT customers, samples, sample_bytes FROM organization_sizes WHERE organization_id = ?',
  )
    .bind(organizationId)
    .first<{ customers: number; samples: number; sample_bytes: number }>();
  const sql = `SELECT (SELECT COUNT(*) FROM customers WHERE organization_id = ?1) AS customers, COUNT(*) AS samples,
    COALESCE(SUM(stored_bytes), 0) AS sample_bytes FROM samples WHERE organization_id = ?1`;
  const there = await bindings.DB.prepare(sql)
    .bind(organizationId)
    .first<{ customers: number; samples: number; sample_bytes: number }>();
  expect(counted ?? { customers: 0, samples: 0, sample_bytes: 0 }).toEqual(there);
  return { samples: there?.samples ?? 0, bytes: there?.sample_bytes ?? 0 };
}

describe('the size of a sample', () => {
  test('is its texts in UTF-8 plus a fixed amount for its row', async () => {
    const own = await createTenant(operator);
    const tags = ['ä', 'b'];
    const body = {
      sampleId: 'one',
      customerId: 'ann',
      feature: 'chat',
      environment: 'production',
      model: 'm',
      tags,
      decisionId: 'd',
    };
    const { data } = await store(own, { ...body, policyVersion: 'sp', input: '€' });
    expect(data.sampleId).toBe('one');
    const texts = [
      'one',
      'ann',
      'chat',
      'production',
      JSON.stringify(tags),
      'openai',
      'm',
      'd',
      'sp',
      '{"input":"€"}',
    ].join('');
    expect(await sizes(own)).toEqual({
      samples: 1,
      bytes: OVERHEAD_BYTES + new TextEncoder().encode(texts).byteLength,
    });
  });

  test('includes long labels of an empty payload', async () => {
    const own = await limited(MIB);
    const tags = Array.from({ length: 50 }, (_, n) => `${n}`.padEnd(200, 'x'));
    let stored = 0;
    while (stored < 200 && (await store(own, { input: '', tags })).status === 200) stored += 1;
    const { samples, bytes } = await sizes(own);
    expect(bytes / samples).toBeGreaterThan(10_000);
    expect([samples, stored]).toEqual([stored, Math.floor(MIB / (bytes / samples))]);
  });
});

describe('an organization at its quota', () => {
  test('is refused with 429, its size, its quota and Retry-After; nothing is stored', async () => {
    const own = await limited(MIB);
    const input = 'x'.repeat(200 * 1024);
    for (let n = 0; n < 5; n += 1) expect((await store(own, { sampleId: `s${n}`, input })).status).toBe(200);
    const before = await sizes(own);
    const { status, refusal, headers } = await store(own, { sampleId: 'sixth', input });
    expect([status, refusal.code, headers.get('Retry-After')]).toEqual([429, 'QUOTA_EXCEEDED', '3600']);
    expect(refusal).toMatchObject({ usedBytes: before.bytes, maxBytes: MIB });
    expect(refusal.message).toContain(`${before.bytes} of ${MIB} bytes`);
    expect(await sizes(own)).toEqual(before);

    const replayed = await store(own, { sampleId: 's2', input });
    expect([replayed.status, replayed.headers.get('Idempotency-Replayed')]).toEqual([200, 'true']);
    expect((await store(own, { sampleId: 's2', input: 'other' })).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect((await store(own, { sampleId: 'small', input: 'fits' })).status).toBe(200);
    expect((await store(tenant, { input })).status, 'nobody else is concerned').toBe(200);

    await setMax(own, 2 * MIB);
    expect((await store(own, { sampleId: 'sixth', input })).status, 'a larger quota holds at once').toBe(200);
    await setMax(own, MIB);
    expect((await sizes(own)).samples, 'a smaller one deletes nothing').toBe(7);
  });

  test('does not exceed it with a hundred concurrent samples', async () => {
    const own = await limited(MIB);
    const input = 'x'.repeat(50_000);
    const replies = await Promise.all(Array.from({ length: 100 }, (_, n) => store(own, { sampleId: `s${n}`, input })));
    const stored = replies.filter(({ status }) => status === 200).length;
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(100 - stored);
    const { samples, bytes } = await sizes(own);
    expect([samples, bytes <= MIB, bytes + bytes / samples > MIB]).toEqual([stored, true, true]);
  });

  test('gets its bytes back for every deleted sample: by the operator, an erasure, the cron, or an id that is used again', async () => {
    const own = await limited(MIB);
    const { organizationId } = own;
    await own.api.send('provisionCustomer', { body: { customerId: 'gone' } });
    for (let n = 0; n < 6; n += 1)
      await store(own, { sampleId: `s${n}`, input: 'x'.repeat(1_000 * n), ...(n < 2 && { customerId: 'gone' }) });
    await operator.send('deleteSample', { params: { org: organizationId, sampleId: 's5' } });
    expect((await sizes(own)).samples).toBe(5);
    await operator.send('eraseCustomer', { params: { org: organizationId, customerId: 'gone' } });
    expect((await sizes(own)).samples).toBe(3);
    const expire = 'UPDATE samples SET expires_at_ms = 1 WHERE organization_id = ? AND sample_id IN (?, ?)';
    await bindings.DB.prepare(expire).bind(organizationId, 's3', 's4').run();
    expect((await store(own, { sampleId: 's4', input: 'anew' })).status).toBe(200);
    expect((await sizes(own)).samples).toBe(3);
    await deleteExpired(bindings, Date.now());
    expect((await sizes(own)).samples).toBe(2);
  });
});

describe('the quota of an organization', () => {
  test('is 256 MiB unless the operator says otherwise, and at least 1 MiB', async () => {
    const own = await createTenant(operator);
    const params = { org: own.organizationId };
    expect((await operator.send('readOrganization', { params })).data.sampleBytesMax).toBe(256 * MIB);
    for (const wrong of [MIB - 1, 1.5 * MIB + 0.5, '1048576']) {
      const { status, refusal } = await operator.send('updateOrganization', {
        params,
        body: { sampleBytesMax: wrong },
      });
      expect([status, (refusal.details as { path: string }[])[0]?.path]).toEqual([400, 'sampleBytesMax']);
    }
    expect((await setMax(own, MIB)).data).toMatchObject({ sampleBytesMax: MIB, defaultPlanId: 'test' });
    const { items } = (await operator.send('listEvents', { query: { organizationId: own.organizationId, limit: '1' } }))
      .data;
    expect(items[0]).toMatchObject({
      action: 'organization.update',
      before: { sampleBytesMax: 256 * MIB },
      after: { sampleBytesMax: MIB },
    });
  });
});

describe('health', () => {
  test("shows D1's size and the ten largest organizations by each kind of data", async () => {
    const [many, busy, full] = await Promise.all([
      createTenant(operator),
      createTenant(operator),
      createTenant(operator),
    ]);
    const small = await Promise.all(Array.from({ length: 10 }, () => createTenant(operator)));
    const insert = (table: string, columns: string, values: (string | number)[][]) =>
      bindings.DB.batch(
        values.map((row) =>
          bindings.DB.prepare(`INSERT INTO ${table} (${columns}) VALUES (${row.map(() => '?').join(', ')})`).bind(
            ...row,
          ),
        ),
      );
    const columns = `organization_id, customer_id, subscription_id, subscription_version, plan_id, usage_plan_version_id, created_at_ms,
      last_replenished_at_ms, next_replenish_at_ms, revision`;
    const customerRow = (organizationId: string, n: number) => [
      ...[organizationId, `c${n}`, 's', 1, 'p', 'p:v1'],
      ...[1, 1, 2, 1],
    ];
    await insert('customers', columns, [
      ...Array.from({ length: 50 }, (_, n) => customerRow(many.organizationId, n)),
      ...[busy, ...small].map(({ organizationId }) => customerRow(organizationId, 0)),
    ]);
    const today = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    const days = [0, 6, 7].map((ago) => [
      busy.organizationId,
      'outcome',
      today - ago * 86_400_000,
      'COMPLETED',
      500,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
    ]);
    const figures =
      'calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_rest_nano_usd';
    await insert('organization_days', `organization_id, dimension, day_ms, key, ${figures}`, days);
    for (let n = 0; n < 8; n += 1) await store(full, { input: 'x'.repeat(290_000) });

    const { d1 } = (await operator.send('readHealth')).data;
    expect(d1?.bytes).toBeGreaterThan(8 * 290_000);
    expect(d1?.databases).toMatchObject([{ name: 'DB', bytes: d1?.bytes, isNearlyFull: false }]);
    expect(d1?.organizations).toHaveLength(10);
    const top = new Map(
      d1?.organizations.slice(0, 3).map((organization) => [organization.organizationId, organization]),
    );
    expect(top.get(many.organizationId)).toMatchObject({
      customers: 50,
      samples: 0,
      sampleBytes: 0,
      sampleBytesMax: 256 * MIB,
    });
    expect(top.get(busy.organizationId)).toMatchObject({ customers: 1, callsLastWeek: 1_000 });
    expect(top.get(full.organizationId)).toMatchObject({ samples: 8, sampleBytes: (await sizes(full)).bytes });
  });
});
