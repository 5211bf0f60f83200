/**
 * Promise: every label that a begin or an increment has is in its record, in the object and in D1.
 */
import { beforeAll, expect, test } from 'vitest';
import type { Labels } from '../../src/domain/labels.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, customerStub, deliverToD1, operator } from '../support/worker.ts';

const LABELS: Required<Labels> = {
  customerUserId: 'u1',
  customerUserName: 'Ann',
  customerUserEmail: 'ann@example.com',
  feature: 'chat',
  tags: ['a', 'b'],
};

let tenant: Tenant;
beforeAll(async () => {
  const customMeters = { AGENTIC_API: { label: 'Requests', unlimited: true } };
  tenant = await createTenant(operator, { name: 'P', limitType: 'NONE', customMeters });
});

async function recordIn(table: 'calls' | 'meter_events', customerId: string): Promise<unknown> {
  await deliverToD1(tenant.organizationId, customerId);
  const sql = `SELECT record FROM ${table} WHERE organization_id = ? AND customer_id = ?`;
  const row = await bindings.DB.prepare(sql).bind(tenant.organizationId, customerId).first<{ record: string }>();
  return JSON.parse(row?.record ?? 'null');
}

test('a call keeps its labels', async () => {
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId: 'call', ...LABELS } })).data;
  const call = await customerStub(tenant.organizationId, 'call').readCall(tenant.organizationId, callId);
  expect(call).toMatchObject(LABELS);
  expect(await recordIn('calls', 'call')).toMatchObject(LABELS);
});

test('an increment keeps its labels', async () => {
  await tenant.api.send('beginCall', { body: { customerId: 'meter' } });
  const increment = { customerId: 'meter', meterSlot: 'AGENTIC_API', amount: 1, ...LABELS };
  expect((await tenant.api.send('incrementMeter', { body: increment })).status).toBe(200);
  expect(await recordIn('meter_events', 'meter')).toMatchObject(LABELS);
});
