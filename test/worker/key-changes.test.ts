/**
 * The changes of a tenant's key are free, so they are bounded: so many changes of a key in an hour, and so many events
 * of an organization in the event log, none of which pushes out another organization's.
 */
import { describe, expect, test } from 'vitest';
import { createApiKey } from '../../src/platform/api-key.ts';
import { HOUR_MS } from '../../src/platform/time.ts';
import { type Api, createTenant } from '../support/api.ts';
import { bindings, operator } from '../support/worker.ts';

const CHANGES_MAX = 600;
const TENANT_EVENTS_MAX = 100;
/** At a time. */
const LANES = 20;

const change = (api: Api, at: number) =>
  api.send('putOwnWebhook', {
    params: { webhookId: `hook-${at % LANES}` },
    body: { url: 'https://hooks.example.com/in', description: `change ${at}`, enabled: false },
  });

/** Changes webhooks of their own in lanes; the statuses of all of them. */
async function changes(api: Api, count: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  await Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      for (let at = lane; at < count; at += LANES) {
        const { status } = await change(api, at);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }),
  );
  return statuses;
}

const listEvents = async (organizationId?: string) =>
  (await operator.send('listEvents', { query: { limit: '200', ...(organizationId && { organizationId }) } })).data
    .items;

const rows = async () => {
  const sql = 'SELECT (SELECT COUNT(*) FROM operator_events) + (SELECT SUM(changes) FROM key_changes) AS n';
  return (await bindings.DB.prepare(sql).first<{ n: number }>())?.n;
};

describe('a key that changes as much as it can', () => {
  test('has 600 changes an hour, then 429 that stores nothing, and goes on with everything else', async () => {
    const quiet = await createTenant(operator);
    const { data: hook } = await change(quiet.api, 0);
    const tenant = await createTenant(operator);
    const startedMs = Date.now();
    const { organizationId } = tenant;
    await change(tenant.api, 0);
    // As if it had made most of them.
    const left = 2 * TENANT_EVENTS_MAX;
    await bindings.DB.prepare(
      'UPDATE key_changes SET changes = ? WHERE changes = 1 AND key_id IN (SELECT key_id FROM api_keys WHERE organization_id = ?)',
    )
      .bind(CHANGES_MAX - left, organizationId)
      .run();
    const statuses = await changes(tenant.api, left + LANES);
    // An hour may have ended on the way.
    if (Math.floor(startedMs / HOUR_MS) === Math.floor(Date.now() / HOUR_MS))
      expect(statuses).toEqual({ 200: left, 429: LANES });

    const stored = await rows();
    const refused = await change(tenant.api, 0);
    expect(refused.refusal.code).toBe('RATE_LIMITED');
    const wait = Number(refused.headers.get('Retry-After'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(HOUR_MS / 1000);
    const params = { webhookId: 'hook-0', eventId: 'evt_0' };
    const time = { from: new Date(startedMs - HOUR_MS).toISOString(), to: new Date(startedMs).toISOString() };
    for (const [id, body] of [
      ['deleteOwnWebhook', undefined],
      ['testOwnWebhook', undefined],
      ['rotateOwnWebhook', undefined],
      ['replayOwnWebhook', time],
      ['saveCompressionProfile', {}],
      ['startCompressionJob', {}],
    ] as const)
      expect((await tenant.api.send(id, { params, body })).status, id).toBe(429);
    expect(await rows()).toBe(stored);
    expect((await tenant.api.send('listOwnWebhooks')).status).toBe(200);
    expect((await tenant.api.send('beginCall', { body: { customerId: 'alice' } })).status).toBe(200);
    const other = await operator.send('createKey', { params: { org: organizationId }, body: { name: 'other' } });
    expect((await change(operator.with(other.data.key), 1_000)).status).toBe(200);

    // The log still has the events of others, and operators' events about this organization.
    const newest = await listEvents();
    expect(
      newest.filter((event) => event.organizationId === quiet.organizationId).map(({ action }) => action),
    ).toContain('webhook.put');
    expect(newest.filter(({ actor }) => actor.startsWith('key_')).length).toBeLessThanOrEqual(TENANT_EVENTS_MAX + 1);
    const own = await listEvents(organizationId);
    expect(own.filter(({ actor }) => actor.startsWith('key_'))).toHaveLength(TENANT_EVENTS_MAX);
    expect(own.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['organization.create', 'plan.put', 'key.create']),
    );
    // The newest are kept.
    expect(own[0]?.after).toMatchObject({ description: 'change 1000' });
    expect(hook.webhookId).toBe('hook-0');
  });

  test('begins anew with the hour', async () => {
    const { organizationId, api } = await createTenant(operator);
    expect((await change(api, 0)).status).toBe(200);
    const sql = `UPDATE key_changes SET changes = ?, hour_ms = hour_ms - ? WHERE key_id =
      (SELECT key_id FROM api_keys WHERE organization_id = ?)`;
    await bindings.DB.prepare(sql).bind(CHANGES_MAX, 0, organizationId).run();
    expect((await change(api, 1)).status).toBe(429);
    await bindings.DB.prepare(sql).bind(CHANGES_MAX, HOUR_MS, organizationId).run();
    expect((await change(api, 2)).status).toBe(200);
  });
});

test('a request that may not change anything, or finds nothing to change, is not counted', async () => {
  const { organizationId, api } = await createTenant(operator);
  const counted = async () => (await bindings.DB.prepare('SELECT SUM(changes) AS n FROM key_changes').first())?.n;
  const before = await counted();
  const { data } = await operator.send('createKey', {
    params: { org: organizationId },
    body: { name: 'reader', scopes: ['usage:read'] },
  });
  expect((await change(operator.with(data.key), 0)).status).toBe(403);
  expect((await change(operator.with(createApiKey('utk-')), 0)).status).toBe(401);
  expect((await api.send('putOwnWebhook', { params: { webhookId: 'x' }, body: { url: 5 } })).status).toBe(400);
  expect((await api.send('listOwnWebhooks')).status).toBe(200);
  for (const id of ['testOwnWebhook', 'deleteOwnWebhook', 'rotateOwnWebhook'] as const)
    expect((await api.send(id, { params: { webhookId: 'none' } })).status).toBe(404);
  expect(await counted()).toBe(before);
});
