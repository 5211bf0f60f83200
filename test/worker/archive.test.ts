/**
 * Promise: closed days are in the archive before D1 forgets them, whole or not at all, and a call is read from there as
 * from D1. Nothing that is away or breaks off loses a row.
 */
import { describe, expect, test } from 'vitest';
import type { Env } from '../../src/env.ts';
import { dayRows } from '../../src/history/archive/day-rows.ts';
import type { HistoryRow } from '../../src/history/archive/days.ts';
import { readManifest } from '../../src/history/archive/manifest.ts';
import { runArchive } from '../../src/history/archive/run.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import type { Tenant } from '../support/api.ts';
import {
  archivedLines,
  bucket,
  daysLater,
  failingBucket,
  forgetCalls,
  newTenant,
  stateOfDay,
  timeUpAfter,
  today,
  used,
} from '../support/archive.ts';
import { storeRecordsAsText } from '../support/call-records.ts';
import { bindings, operator } from '../support/worker.ts';

const rowsInD1 = async ({ organizationId }: Tenant): Promise<number[]> =>
  Promise.all(
    ['calls', 'meter_events', 'credit_entries'].map(async (table) => {
      const sql = `SELECT COUNT(*) AS n FROM ${table} WHERE organization_id = ?`;
      return (await bindings.DB.prepare(sql).bind(organizationId).first<{ n: number }>())?.n ?? -1;
    }),
  );

const read = async ({ api }: Tenant, callId: string) => (await api.send('readCall', { params: { callId } })).data;
const listCallIds = (rows: { kind: string; id: string }[]) =>
  rows.filter(({ kind }) => kind === 'call').map(({ id }) => id);

/** Changes a call in D1 as a late delivery does. */
async function changeLate(tenant: Tenant, callId: string): Promise<void> {
  await storeRecordsAsText(bindings.DB, 'organization_id = ? AND call_id = ?', tenant.organizationId, callId);
  await bindings.DB.prepare(
    `UPDATE calls SET revision = revision + 1, record = json_set(record, '$.feature', 'late', '$.revision', revision + 1)
     WHERE organization_id = ? AND call_id = ?`,
  )
    .bind(tenant.organizationId, callId)
    .run();
}

describe('a closed day', () => {
  test('is one object of gzip members, and a manifest with its hash, rows and bytes', async () => {
    const tenant = await newTenant();
    const callIds = await used(tenant, 'ann', ['a', 'b', null]);
    await runArchive(bindings, daysLater(5));
    expect(await readManifest(bindings, today(tenant))).toBeNull();
    await runArchive(bindings, daysLater(12));
    const manifest = await readManifest(bindings, today(tenant));
    const keys = (await bucket.list({ prefix: tenant.organizationId })).objects.map(({ key }) => key.split('/')[2]);
    expect(keys.sort()).toEqual(
      [manifest?.object, manifest?.object.replace('.ndjson.gz', '.customers'), 'manifest.json'].sort(),
    );
    const object = await bucket.get(`${tenant.organizationId}/${manifest?.day}/${manifest?.object}`);
    const bytes = await object?.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes ?? new ArrayBuffer()));
    expect(manifest).toMatchObject({ format: 1, rows: 5, bytes: bytes?.byteLength });
    expect(manifest?.sha256).toBe([...digest].map((byte) => byte.toString(16).padStart(2, '0')).join(''));
    const rows = await archivedLines(tenant);
    expect(rows.map(({ kind }) => kind)).toEqual(['call', 'call', 'call', 'meter_event', 'credit_entry']);
    expect(listCallIds(rows).sort()).toEqual([...callIds].sort());
    expect(rows.map(({ customerId }) => customerId)).toEqual(['ann', 'ann', 'ann', 'ann', 'ann']);
    expect(rows[0].record).toMatchObject({ customerId: 'ann', status: 'COMPLETED', feature: 'of ann' });
    expect(rows[4].record).toMatchObject({ unit: 'USD', cause: 'GRANT', amount: '1000000000' });
    expect(await stateOfDay(tenant)).toBe('ARCHIVED');
  });

  test('is not written again if nothing has changed', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann');
    await runArchive(bindings, daysLater(12));
    const first = await readManifest(bindings, today(tenant));
    await runArchive(bindings, daysLater(13));
    expect(await readManifest(bindings, today(tenant))).toEqual(first);
  });

  test('is written anew after a late change, also if D1 has forgotten all other rows', async () => {
    const tenant = await newTenant();
    const [first = '', second = ''] = await used(tenant, 'ann', ['first', 'second']);
    await runArchive(bindings, daysLater(12));
    await changeLate(tenant, first);
    expect(await stateOfDay(tenant)).toBe('CHANGED');
    await runArchive(bindings, daysLater(13));
    expect(
      (await archivedLines(tenant))
        .map(({ record }) => record.feature)
        .slice(0, 2)
        .sort(),
    ).toEqual(['late', 'of ann']);

    // A row that returns after the retention is merged with the archive's.
    const row = await bindings.DB.prepare('SELECT * FROM calls WHERE organization_id = ? AND call_id = ?')
      .bind(tenant.organizationId, second)
      .first<Record<string, string | number | null>>();
    await deleteExpired(bindings, daysLater(401));
    expect((await rowsInD1(tenant))[0]).toBe(0);
    const columns = Object.keys(row ?? {});
    await bindings.DB.prepare(`INSERT INTO calls (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`)
      .bind(...Object.values(row ?? {}))
      .run();
    await changeLate(tenant, second);
    await runArchive(bindings, daysLater(402));
    const features = (await archivedLines(tenant)).map(({ kind, record }) => kind === 'call' && record.feature);
    expect(features).toEqual(['late', 'late', false, false]);
    expect((await readManifest(bindings, today(tenant)))?.rows).toBe(4);
  });
});

describe('the retention', () => {
  test('deletes only what the archive has as it is', async () => {
    const tenant = await newTenant();
    const [callId = ''] = await used(tenant, 'ann');
    await deleteExpired(bindings, daysLater(3_000));
    expect(await rowsInD1(tenant)).toEqual([1, 1, 1]);
    await runArchive(bindings, daysLater(12));
    await changeLate(tenant, callId);
    await deleteExpired(bindings, daysLater(3_000));
    expect(await rowsInD1(tenant)).toEqual([1, 1, 1]);
    await runArchive(bindings, daysLater(13));
    await deleteExpired(bindings, daysLater(402));
    expect(await rowsInD1(tenant)).toEqual([0, 0, 1]);
    await deleteExpired(bindings, daysLater(3_000));
    expect(await rowsInD1(tenant)).toEqual([0, 0, 0]);
  });

  test('deletes without an archive what is older than its days, as ever', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann');
    const { ARCHIVE: _, ...without } = bindings;
    const env = without as Env;
    await runArchive(env, daysLater(12));
    await deleteExpired(env, daysLater(3_000));
    expect(await rowsInD1(tenant)).toEqual([0, 0, 0]);
    expect(await stateOfDay(tenant)).toBe('CHANGED');
    await deleteExpired(env, daysLater(3_660));
    expect(await stateOfDay(tenant)).toBeUndefined();
  });
});

describe('a call', () => {
  test('is read from the archive as from D1, whatever made its id', async () => {
    const tenant = await newTenant();
    const callIds = await used(tenant, 'ann', ['own-key', null]);
    await forgetCalls(tenant, 'ann');
    const before = await Promise.all(callIds.map((callId) => read(tenant, callId)));
    expect(before.map(({ pricingStatus }) => pricingStatus)).toEqual(['FINAL', 'FINAL']);
    await runArchive(bindings, daysLater(12));
    await deleteExpired(bindings, daysLater(402));
    expect((await rowsInD1(tenant))[0]).toBe(0);
    expect(await Promise.all(callIds.map((callId) => read(tenant, callId)))).toEqual(before);
  });

  test('of another organization is not found', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()];
    const callIds = await used(tenant, 'ann', ['mine', null]);
    await used(other, 'ann', ['theirs']);
    await forgetCalls(tenant, 'ann');
    await runArchive(bindings, daysLater(12));
    await deleteExpired(bindings, daysLater(402));
    for (const callId of callIds) {
      expect((await tenant.api.send('readCall', { params: { callId } })).status).toBe(200);
      expect((await other.api.send('readCall', { params: { callId } })).status).toBe(404);
    }
  });

  test('is found among many members of its day', async () => {
    const tenant = await newTenant();
    const [callId = ''] = await used(tenant, 'ann', ['needle']);
    await forgetCalls(tenant, 'ann');
    const before = await read(tenant, callId);
    await bindings.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
       INSERT INTO calls SELECT organization_id, 'hay-' || i, customer_id, customer_user_id, feature, tags, status,
         started_at_ms / 86400000 * 86400000 + (started_at_ms % 86400000) * i / 2501, finished_at_ms, usage_plan_version_id,
         pricing_mode, provider_used, usage_provider, model_used, model_key, tier, input_tokens, cached_input_tokens,
         cache_write_input_tokens, response_tokens, reasoning_tokens, searches, usage_source, error_code, pricing_snapshot_id,
         standard_cost_nano_usd, cost_nano_usd, original_tokens, compressed_tokens, saved_tokens, cost_avoided_nano_usd,
         compression_techniques, reversed_at_ms, record, revision, delivery, denial_code, charge_nano_usd, charge_basis, output_rate, details
       FROM calls, n WHERE organization_id = ? AND call_id = ?`,
    )
      .bind(tenant.organizationId, callId)
      .run();
    await runArchive(bindings, daysLater(12));
    const manifest = await readManifest(bindings, today(tenant));
    expect(manifest?.members.map(({ kind, rows }) => [kind, rows])).toEqual([
      ['call', 1_000],
      ['call', 1_000],
      ['call', 501],
      ['meter_event', 1],
      ['credit_entry', 1],
    ]);
    await deleteExpired(bindings, daysLater(402));
    expect(await read(tenant, callId)).toEqual(before);
  });
});

describe('a run that breaks off', () => {
  test.each(['put', 'get', 'list', 'delete'] as const)('at any %s of R2 loses nothing', async (method) => {
    const tenant = await newTenant();
    await used(tenant, 'ann', ['x', 'y']);
    await runArchive(bindings, daysLater(12));
    let failures = 0;
    for (let nth = 1; nth <= 6; nth += 1) {
      const [call = ''] = listCallIds(await everyRow(tenant));
      await changeLate(tenant, call);
      const env = { ...bindings, ARCHIVE: failingBucket(method, nth) };
      await runArchive(env, daysLater(12 + nth)).catch(() => {
        failures += 1;
      });
      await deleteExpired(env, daysLater(401));
      expect(listCallIds(await everyRow(tenant)).sort()).toEqual(['x', 'y']);
    }
    expect(failures).toBeGreaterThan(0);
    await runArchive(bindings, daysLater(30));
    expect(listCallIds(await archivedLines(tenant)).sort()).toEqual(['x', 'y']);
    expect((await bucket.list({ prefix: tenant.organizationId })).objects).toHaveLength(3);
  });

  test('because its time is up goes on where it was', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann', ['x']);
    await runArchive(bindings, daysLater(12), { isTimeUp: timeUpAfter(1) });
    expect(await stateOfDay(tenant)).toBe('WRITING');
    expect(await readManifest(bindings, today(tenant))).toBeNull();
    const [progress] = (await bucket.list({ prefix: tenant.organizationId })).objects;
    expect(progress?.key).toMatch(/\.progress$/);
    await runArchive(bindings, daysLater(12));
    const manifest = await readManifest(bindings, today(tenant));
    expect(`${tenant.organizationId}/${manifest?.day}/${manifest?.object}`).toBe(
      progress?.key.replace('.progress', '.ndjson.gz'),
    );
    expect(listCallIds(await archivedLines(tenant))).toEqual(['x']);
    expect((await bucket.list({ prefix: tenant.organizationId })).objects).toHaveLength(3);
  });

  test('goes on with the parts of a large object, or removes them if the day has changed', {
    timeout: 90_000,
  }, async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann', ['small']);
    await addLargeCalls(tenant, 'small');
    await runArchive(bindings, daysLater(12), { isTimeUp: timeUpAfter(4) });
    const names = (await bucket.list({ prefix: tenant.organizationId })).objects.map(({ key }) => key.split('.')[1]);
    expect(names.sort()).toEqual(['progress', 'upload']);
    await runArchive(bindings, daysLater(12));
    const manifest = await readManifest(bindings, today(tenant));
    expect(manifest).toMatchObject({ rows: LARGE_CALLS + 3 });
    expect(manifest?.bytes).toBeGreaterThan(8 * 1024 * 1024);
    expect((await operator.send('verifyArchive')).data.problems).toEqual([]);

    await changeLate(tenant, 'small');
    await runArchive(bindings, daysLater(12), { isTimeUp: timeUpAfter(4) });
    await changeLate(tenant, 'small');
    await runArchive(bindings, daysLater(12));
    expect((await readManifest(bindings, today(tenant)))?.rows).toBe(LARGE_CALLS + 3);
    expect((await bucket.list({ prefix: tenant.organizationId })).objects).toHaveLength(3);
  });

  test('begins the day again if it has changed since', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann', ['x']);
    await runArchive(bindings, daysLater(12), { isTimeUp: timeUpAfter(1) });
    await changeLate(tenant, 'x');
    await runArchive(bindings, daysLater(12));
    expect((await archivedLines(tenant))[0]?.record.feature).toBe('late');
    expect((await bucket.list({ prefix: tenant.organizationId })).objects).toHaveLength(3);
  });

  test('keeps no other run away for good, and no two run at once', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann', ['x']);
    const nowMs = daysLater(12);
    await bindings.DB.prepare('INSERT INTO archive_lease (id, until_ms) VALUES (1, ?)')
      .bind(nowMs + 1_000)
      .run();
    await runArchive(bindings, nowMs);
    expect(await stateOfDay(tenant)).toBe('CHANGED');
    await runArchive(bindings, nowMs + 1_000);
    expect(await stateOfDay(tenant)).toBe('ARCHIVED');
  });
});

test('health says how far the archive is behind, and is degraded when a closed day is missing for two days', async () => {
  const { organizationId } = await newTenant();
  const add = (daysAgo: number) =>
    bindings.DB.prepare(`INSERT INTO history_days (organization_id, day_ms, state) VALUES (?, ?, 'CHANGED')`)
      .bind(organizationId, today({ organizationId } as Tenant).dayMs - daysAgo * 86_400_000)
      .run();
  const read = async () => (await operator.send('readHealth')).data;
  await runArchive(bindings, Date.now());
  await add(9);
  expect([(await read()).archive, (await read()).status]).toEqual([
    { days: 0, oldestDay: null, erasures: 0, isLate: false },
    'ok',
  ]);
  await add(11);
  expect([(await read()).archive?.days, (await read()).status]).toEqual([1, 'ok']);
  await add(14);
  const { archive, status, problems } = await read();
  const oldestDay = new Date(Date.now() - 14 * 86_400_000).toISOString().slice(0, 10);
  expect(archive).toEqual({ days: 2, oldestDay, erasures: 0, isLate: true });
  expect([status, problems]).toEqual(['degraded', [`The archive lacks 2 closed days, the oldest ${oldestDay}`]]);
  const { items } = (await operator.send('readAttention')).data;
  expect(items.find(({ kind }) => kind === 'LATE_ARCHIVE')).toMatchObject({ organizationId: null, count: 2 });
});

const LARGE_CALLS = 40;

/** Calls of the same day with half a megabyte each that hardly shrinks. */
async function addLargeCalls({ organizationId }: Tenant, callId: string): Promise<void> {
  await storeRecordsAsText(bindings.DB, 'organization_id = ? AND call_id = ?', organizationId, callId);
  const row = await bindings.DB.prepare('SELECT * FROM calls WHERE organization_id = ? AND call_id = ?')
    .bind(organizationId, callId)
    .first<Record<string, string | number | null>>();
  const columns = Object.keys(row ?? {});
  const values = columns.map((name) => {
    if (name === 'call_id') return "'large-' || i";
    return name === 'record' ? `json_set(record, '$.large', hex(randomblob(250000)))` : name;
  });
  await bindings.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${LARGE_CALLS})
     INSERT INTO calls (${columns.join(', ')}) SELECT ${values.join(', ')} FROM calls, n WHERE organization_id = ? AND call_id = ?`,
  )
    .bind(organizationId, callId)
    .run();
}

/** The rows of D1 and the archive together. */
async function everyRow(tenant: Tenant): Promise<HistoryRow[]> {
  const all: HistoryRow[] = [];
  for await (const rows of dayRows(bindings, today(tenant))) all.push(...rows);
  return all;
}
