/**
 * Promise: every label that a begin or an increment has is in its record, in the object and in D1.
 */
import { beforeAll, expect, test } from 'vitest';
import type { Labels } from '../../src/domain/labels.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { readRecords } from '../support/call-records.ts';
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

const ITS = 'organization_id = ? AND customer_id = ?';

test('a call keeps its labels', async () => {
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId: 'call', ...LABELS } })).data;
  const call = await customerStub(tenant.organizationId, 'call').readCall(tenant.organizationId, callId);
  expect(call).toMatchObject(LABELS);
  await deliverToD1(tenant.organizationId, 'call');
  const records = await readRecords(bindings.DB, ITS, tenant.organizationId, 'call');
  expect(JSON.parse(records.get(callId) ?? 'null')).toMatchObject(LABELS);
});

test('an increment keeps its labels', async () => {
  await tenant.api.send('beginCall', { body: { customerId: 'meter' } });
  const increment = { customerId: 'meter', meterSlot: 'AGENTIC_API', amount: 1, ...LABELS };
  expect((await tenant.api.send('incrementMeter', { body: increment })).status).toBe(200);
  await deliverToD1(tenant.organizationId, 'meter');
  const sql = `SELECT record FROM meter_events WHERE ${ITS}`;
  const row = await bindings.DB.prepare(sql).bind(tenant.organizationId, 'meter').first<{ record: string }>();
  expect(JSON.parse(row?.record ?? 'null')).toMatchObject(LABELS);
});
