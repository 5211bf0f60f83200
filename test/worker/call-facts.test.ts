/**
 * Promise: each fact that the end of a call states is recorded unchanged, and shown by every answer that has to show
 * it: those of the end and of readings, the list of calls and its CSV. An amendment of another field keeps it.
 */
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { EndFactFields, ListedFactFields, ReadFactFields } from '../../src/contract/call-facts.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { customerStub, deliverToD1, operator, worker } from '../support/worker.ts';

/** A value of each field. */
function sampleValues(fields: z.ZodObject): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields.shape).map(([name, schema]) => {
      const { type, enum: [first] = [] } = z.toJSONSchema(schema as z.ZodType, { unrepresentable: 'any' });
      return [name, first ?? (type === 'string' ? `some-${name}` : type === 'boolean' ? true : 7)];
    }),
  );
}

const LISTED = sampleValues(ListedFactFields);
const READ = { ...sampleValues(ReadFactFields), ...LISTED };
const ALL = { ...sampleValues(EndFactFields), ...READ };

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, { name: 'P', limitType: 'NONE' });
});

async function endedCall(customerId: string, facts: object) {
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId } })).data;
  const end = (await tenant.api.send('endCall', { body: { callId, inputTokens: 1, ...facts } })).data;
  await deliverToD1(tenant.organizationId, customerId);
  const item = (await tenant.api.send('listCalls', { query: { customerId } })).data.items[0];
  const read = async () => (await tenant.api.send('readCall', { params: { callId } })).data;
  return { callId, end, read, item };
}

test('every fact is told by the end, readings and the list, and stays through an amendment of something else', async () => {
  const { callId, end, read, item } = await endedCall('stated', ALL);
  expect(end).toMatchObject(ALL);
  expect(await read()).toMatchObject(READ);
  expect(item).toMatchObject(LISTED);
  await tenant.api.send('amendCall', { params: { callId }, body: { inputTokens: 2, reason: 'r' } });
  expect(await read()).toMatchObject(READ);
  const recorded = await customerStub(tenant.organizationId, 'stated').readCall(tenant.organizationId, callId);
  expect(recorded?.outcome).toMatchObject(ALL);
});

test('the CSV of the list has a column for each listed fact', async () => {
  await endedCall('csv', ALL);
  const { key } = (await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'csv' } }))
    .data;
  const response = await worker.fetch('https://callmeter.test/calls?customerId=csv', {
    headers: { Authorization: `Bearer ${key}`, Accept: `text/csv, ${MEDIA_TYPE};q=0.5` },
  });
  const [header = '', line = ''] = (await response.text()).trim().split(/\r?\n/);
  // Columns that were there keep their places.
  expect(header).toContain(',endedAt,providerUsed,modelUsed,modelKey,');
  const row = Object.fromEntries(header.split(',').map((name, at) => [name, line.split(',')[at]]));
  expect(row).toMatchObject(Object.fromEntries(Object.entries(LISTED).map(([name, value]) => [name, String(value)])));
});

test('a fact that was not stated is null in readings and in the list if it is listed, and absent elsewhere', async () => {
  const { end, read, item } = await endedCall('silent', {});
  for (const name of Object.keys(ALL)) expect(end).not.toHaveProperty(name);
  const listed = Object.fromEntries(Object.keys(LISTED).map((name) => [name, null]));
  expect(await read()).toMatchObject(listed);
  expect(item).toMatchObject(listed);
  for (const name of Object.keys(ALL).filter((name) => !(name in LISTED)))
    expect(await read()).not.toHaveProperty(name);
});
