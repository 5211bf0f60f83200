/**
 * Changes that D1 refused, over HTTP: health shows them, the operator lists them and sends them again.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectorState } from '../../src/objects/projectors.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { customerKey } from '../support/ids.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

/** Fires the alarms until D1 has or refused everything. */
const ROUNDS_MAX = 50;
const ROUND_MS = 50;

async function settle({ organizationId }: Tenant, customerId: string): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await deliverToD1(organizationId, customerId);
    const { outbox } = (await operator.send('readCustomer', { params: { org: organizationId, customerId } })).data;
    if (outbox.pending === 0) return;
    await scheduler.wait(ROUND_MS);
  }
  throw new Error('the outbox did not become empty');
}

/** D1 itself refuses calls by their id, as long as this stands. */
const refuse = () =>
  bindings.DB.prepare(
    `CREATE TRIGGER refuse_calls BEFORE INSERT ON calls WHEN NEW.call_id LIKE 'refused-%' BEGIN SELECT RAISE(ABORT, 'not this one'); END`,
  ).run();
const refuseNoMore = () => bindings.DB.prepare('DROP TRIGGER IF EXISTS refuse_calls').run();
const begin = ({ api }: Tenant, customerId: string, callId: string) =>
  api.send('beginCall', { body: { customerId }, headers: { 'Idempotency-Key': callId } });
const list = async ({ organizationId }: Tenant, query: Record<string, string> = {}) =>
  (await operator.send('listOutbox', { params: { org: organizationId }, query })).data;
const resend = ({ organizationId }: Tenant, headers: Record<string, string> = {}) =>
  operator.send('resendOutbox', { params: { org: organizationId }, headers });
const listEvents = async ({ organizationId }: Tenant, action: string) =>
  (await operator.send('listEvents', { query: { organizationId } })).data.items.filter(
    (event) => event.action === action,
  );

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator);
  await refuse();
});
afterAll(refuseNoMore);

describe('changes that D1 refused', () => {
  const ids = ['refused-1', 'refused-2', 'refused-3', 'refused-4', 'refused-5'];

  test('degrade the service, and are listed with the reason, page by page', async () => {
    expect((await operator.send('readHealth')).data).toMatchObject({
      status: 'ok',
      setAside: { rows: 0, oldestAt: null },
    });
    for (const [n, callId] of ids.entries())
      expect((await begin(tenant, n < 3 ? 'ann' : 'ben', callId)).status).toBe(200);
    for (const callId of ['fine-1', 'fine-2']) await begin(tenant, 'ann', callId);
    await settle(tenant, 'ann');
    await settle(tenant, 'ben');

    const health = (await operator.send('readHealth')).data;
    expect(health).toMatchObject({ status: 'degraded', backlog: { customers: 0 }, setAside: { rows: 5 } });
    expect(health.problems).toEqual(['D1 refused 5 changes']);
    expect(Math.abs(Date.now() - Date.parse(health.setAside.oldestAt ?? ''))).toBeLessThan(60_000);
    const { results } = await bindings.DB.prepare('SELECT call_id FROM calls WHERE organization_id = ? ORDER BY 1')
      .bind(tenant.organizationId)
      .all();
    expect(results.map(({ call_id }) => call_id)).toEqual(['fine-1', 'fine-2']);

    const whole = await list(tenant);
    expect(whole.nextCursor).toBeNull();
    expect(whole.items.map(({ id }) => id).sort()).toEqual(ids);
    for (const item of whole.items) {
      const customerId = Number(item.id.slice(-1)) <= 3 ? 'ann' : 'ben';
      expect(item).toMatchObject({
        customerId,
        kind: 'call',
        reason: 'not this one: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_TRIGGER)',
      });
    }
    const paged: string[] = [];
    let query: Record<string, string> = { limit: '2' };
    for (let page = 0; page < 3; page += 1) {
      const { items, nextCursor } = await list(tenant, query);
      paged.push(...items.map(({ id }) => id));
      expect(nextCursor === null).toBe(page === 2);
      query = { limit: '2', cursor: nextCursor ?? '' };
    }
    expect(paged).toEqual(whole.items.map(({ id }) => id));

    const { outbox } = (
      await operator.send('readCustomer', { params: { org: tenant.organizationId, customerId: 'ann' } })
    ).data;
    expect(outbox).toMatchObject({ pending: 0, failures: 0, lastError: null, setAside: 3 });
    const events = await listEvents(tenant, 'outbox.set_aside');
    expect(events.map(({ subject, after }) => `${subject} ${(after as { id: string }).id}`).sort()).toEqual(
      ids.map((id, n) => `${n < 3 ? 'ann' : 'ben'} ${id}`),
    );
    expect(events[0]).toMatchObject({ actor: 'service', before: null });
  });

  test('are visible to their organization only', async () => {
    const other = await createTenant(operator);
    expect(await list(other)).toEqual({ items: [], nextCursor: null });
    expect((await resend(other)).data).toEqual({ rows: 0, customers: 0, more: false });
    expect(await listEvents(other, 'outbox.resend')).toEqual([]);
    const nowhere = { org: crypto.randomUUID() };
    expect((await operator.send('listOutbox', { params: nowhere })).refusal.code).toBe('NOT_FOUND');
    expect((await operator.send('resendOutbox', { params: nowhere })).refusal.code).toBe('NOT_FOUND');
    for (const cursor of ['???', btoa('nonsense').replaceAll('=', '')]) {
      const reply = await operator.send('listOutbox', { params: { org: other.organizationId }, query: { cursor } });
      expect([reply.status, (reply.refusal.details as { path: string }[])[0]?.path]).toEqual([400, 'cursor']);
    }
  });

  test('are set aside again if D1 refuses them again, and arrive once D1 accepts them', async () => {
    expect((await resend(tenant)).data).toEqual({ rows: 5, customers: 2, more: false });
    await settle(tenant, 'ann');
    await settle(tenant, 'ben');
    expect((await list(tenant)).items.map(({ id }) => id).sort()).toEqual(ids);

    await refuseNoMore();
    const key = { 'Idempotency-Key': 'once' };
    const first = await resend(tenant, key);
    expect(first.data).toEqual({ rows: 5, customers: 2, more: false });
    expect((await resend(tenant, key)).data, 'a repetition gets the stored answer').toEqual(first.data);
    expect((await resend(tenant)).data.rows).toBe(0);
    await settle(tenant, 'ann');
    await settle(tenant, 'ben');
    const { results } = await bindings.DB.prepare('SELECT call_id FROM calls WHERE organization_id = ? ORDER BY 1')
      .bind(tenant.organizationId)
      .all();
    expect(results.map(({ call_id }) => call_id)).toEqual(['fine-1', 'fine-2', ...ids]);
    expect(await list(tenant)).toEqual({ items: [], nextCursor: null });
    expect((await operator.send('readHealth')).data).toMatchObject({
      status: 'ok',
      setAside: { rows: 0, oldestAt: null },
    });
    const events = await listEvents(tenant, 'outbox.resend');
    expect(events.map(({ actor, after }) => [actor, after])).toEqual(Array(2).fill(['operator', first.data]));
  });

  test('are removed by the erasure of their customer', async () => {
    await refuse();
    await begin(tenant, 'gone', 'refused-9');
    await settle(tenant, 'gone');
    const gone = customerKey(tenant.organizationId, 'gone');
    expect((await projectorState(bindings, ['DB'], gone)).setAside.rows).toBe(1);
    const params = { org: tenant.organizationId, customerId: 'gone' };
    expect((await operator.send('eraseCustomer', { params })).status).toBe(200);
    expect((await projectorState(bindings, ['DB'], gone)).setAside.rows).toBe(0);
    expect((await list(tenant)).items).toEqual([]);
  });
});
