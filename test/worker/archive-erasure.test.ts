/**
 * Promise: of an erased customer the archive answers nothing at once, and after the next runs it holds no byte.
 */
import { describe, expect, test } from 'vitest';
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
import { bindings, operator } from '../support/worker.ts';

const erase = ({ organizationId }: Tenant, customerId: string) =>
  operator.send('eraseCustomer', { params: { org: organizationId, customerId } });

const status = async ({ api }: Tenant, callId: string) => (await api.send('readCall', { params: { callId } })).status;

/** The customer ids in every object of the organization. */
async function customersInArchive(tenant: Tenant): Promise<string[]> {
  const keys = (await bucket.list({ prefix: tenant.organizationId })).objects.map(({ key }) => key);
  expect(keys.filter((key) => key.endsWith('.ndjson.gz')).length).toBeLessThanOrEqual(1);
  if (!(await readManifest(bindings, today(tenant)))) return [];
  return [...new Set((await archivedLines(tenant)).map(({ customerId }) => customerId))].sort();
}

const pending = async ({ organizationId }: Tenant) =>
  (
    await bindings.DB.prepare('SELECT customer_id FROM archive_erasures WHERE organization_id = ?')
      .bind(organizationId)
      .all()
  ).results.length;

describe('an erasure', () => {
  test('hides archived calls at once, and rewrites what holds them', async () => {
    const tenant = await newTenant();
    const calls = await used(tenant, 'ann', ['ann-1', null]);
    const [other = ''] = await used(tenant, 'bob', [null]);
    await forgetCalls(tenant, 'ann');
    await forgetCalls(tenant, 'bob');
    await runArchive(bindings, daysLater(12));
    await deleteExpired(bindings, daysLater(402));
    const before = await readManifest(bindings, today(tenant));
    expect(await Promise.all([...calls, other].map((callId) => status(tenant, callId)))).toEqual([200, 200, 200]);

    expect((await erase(tenant, 'ann')).status).toBe(200);
    expect(await Promise.all([...calls, other].map((callId) => status(tenant, callId)))).toEqual([404, 404, 200]);
    expect(await customersInArchive(tenant)).toEqual(['ann', 'bob']);

    await runArchive(bindings, daysLater(12));
    expect(await customersInArchive(tenant)).toEqual(['bob']);
    const after = await readManifest(bindings, today(tenant));
    expect(after).toMatchObject({ rows: 3 });
    expect(after?.sha256).not.toBe(before?.sha256);
    expect(await pending(tenant)).toBe(0);
    expect(await Promise.all([...calls, other].map((callId) => status(tenant, callId)))).toEqual([404, 404, 200]);
  });

  test('leaves no object of a day that had nobody else', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann');
    await runArchive(bindings, daysLater(12));
    await erase(tenant, 'ann');
    await runArchive(bindings, daysLater(12));
    expect((await bucket.list({ prefix: tenant.organizationId })).objects).toEqual([]);
    expect((await operator.send('verifyArchive')).data.problems).toEqual([]);
  });

  test('does not touch days without the customer, and keeps nothing if there is no archived day', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann');
    await erase(tenant, 'ann');
    expect(await pending(tenant)).toBe(0);
    await used(tenant, 'bob');
    await runArchive(bindings, daysLater(12));
    const before = await readManifest(bindings, today(tenant));
    await used(tenant, 'eve');
    await bindings.DB.prepare(`UPDATE history_days SET state = 'ARCHIVED' WHERE organization_id = ?`)
      .bind(tenant.organizationId)
      .run();
    await erase(tenant, 'eve');
    expect(await pending(tenant)).toBe(1);
    await runArchive(bindings, daysLater(12));
    expect(await pending(tenant)).toBe(0);
    expect(await readManifest(bindings, today(tenant))).toEqual(before);
  });

  test.each(['put', 'get', 'list', 'delete'] as const)(
    'that breaks off at any %s is finished by the next runs',
    async (method) => {
      const tenant = await newTenant();
      const leaving = [1, 2, 3, 4];
      for (const nth of leaving) await used(tenant, `ann-${nth}`);
      await used(tenant, 'bob');
      await runArchive(bindings, daysLater(12));
      await deleteExpired(bindings, daysLater(402));
      for (const nth of leaving) {
        await erase(tenant, `ann-${nth}`);
        await runArchive({ ...bindings, ARCHIVE: failingBucket(method, nth) }, daysLater(12)).catch(() => undefined);
        await runArchive(bindings, daysLater(12));
        await runArchive(bindings, daysLater(12));
        const others = leaving.filter((other) => other > nth).map((other) => `ann-${other}`);
        expect(await customersInArchive(tenant)).toEqual([...others, 'bob']);
        expect((await bucket.list({ prefix: tenant.organizationId })).objects).toHaveLength(3);
        expect([await pending(tenant), await stateOfDay(tenant)]).toEqual([0, 'ARCHIVED']);
      }
    },
  );

  test('in the middle of a writing has the day written from its beginning', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann');
    await used(tenant, 'bob');
    await runArchive(bindings, daysLater(12), { isTimeUp: timeUpAfter(1) });
    expect(await stateOfDay(tenant)).toBe('WRITING');
    await erase(tenant, 'ann');
    expect(await stateOfDay(tenant)).toBe('CHANGED');
    await runArchive(bindings, daysLater(12));
    expect(await customersInArchive(tenant)).toEqual(['bob']);
    expect((await bucket.list({ prefix: tenant.organizationId })).objects).toHaveLength(3);
    expect(await pending(tenant)).toBe(0);
  });

  test('that takes several runs goes on where it was', async () => {
    const tenant = await newTenant();
    await used(tenant, 'ann');
    await used(tenant, 'bob');
    await runArchive(bindings, daysLater(12));
    await erase(tenant, 'ann');
    await runArchive(bindings, daysLater(12), { isTimeUp: timeUpAfter(2) });
    expect([await stateOfDay(tenant), await pending(tenant)]).toEqual(['WRITING', 1]);
    await runArchive(bindings, daysLater(12));
    expect(await customersInArchive(tenant)).toEqual(['bob']);
    expect(await pending(tenant)).toBe(0);
  });
});
