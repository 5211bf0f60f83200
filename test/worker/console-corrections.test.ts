/**
 * Corrections in the operator's console: a call is reversed or amended, an increment reversed, each with a reason.
 */
import { beforeAll, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { deliverToD1, operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const visitor = new Visitor();
let tenant: Tenant;
let org: string;
beforeAll(async () => {
  await visitor.signIn();
  const customMeters = { CUSTOM1: { label: 'Pages', included: 10 } };
  tenant = await createTenant(operator, {
    name: 'Small',
    limitType: 'BLOCK',
    limits: { premiumCalls: 10 },
    customMeters,
  });
  org = tenant.organizationId;
});

async function callOf(customerId: string) {
  await tenant.api.send('provisionCustomer', { body: { customerId } });
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId, requested: { premium: true } } })).data;
  const used = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 };
  await tenant.api.send('endCall', { body: { callId, ...used } });
  await deliverToD1(org, customerId);
  return { callId, path: `/console/organizations/${org}/calls/${callId}` };
}
const read = async (callId: string) => (await tenant.api.send('readCall', { params: { callId } })).data;
const meters = async (customerId: string) =>
  (await operator.send('readCustomer', { params: { org, customerId } })).data.meters;

test('a call is reversed with a reason, and its page says so and offers nothing more', async () => {
  const { callId, path } = await callOf('ann');
  expect((await visitor.read(path)).html).toContain(`href="${path}/reverse"`);
  expect((await visitor.submit(`${path}/reverse`, `${path}/reverse`, { reason: '' })).status).toBe(400);
  expect((await read(callId)).reversedAt).toBeUndefined();
  const values = await visitor.form(`${path}/reverse`, `${path}/reverse`, { reason: 'a support case' });
  for (let sent = 0; sent < 2; sent += 1) expect((await visitor.post(`${path}/reverse`, values)).status).toBe(303);
  expect((await meters('ann')).premiumCalls).toMatchObject({ used: 0 });
  const { text, html } = await visitor.read(`${path}?done=reversed`);
  expect(text).toContain('The call is reversed.');
  expect(text).toContain('a support case');
  expect(html).not.toContain(`href="${path}/reverse"`);
  await deliverToD1(org, 'ann');
  expect((await visitor.read(`/console/organizations/${org}/calls?customerId=ann`)).text).toContain('reversed');
  const { items } = (await operator.send('listEvents', { query: { organizationId: org } })).data;
  expect(items[0]).toMatchObject({ actor: 'console', action: 'call.reverse', subject: 'ann' });
});

test('a call is amended from what it reports now; a wrong field is named', async () => {
  const { callId, path } = await callOf('bob');
  const shown = await visitor.form(`${path}/amend`, `${path}/amend`);
  expect(shown).toMatchObject({
    modelUsed: 'gpt-4o',
    inputTokens: '1000',
    responseTokens: '500',
    pricingMode: 'standard',
  });
  const wrong = await visitor.submit(`${path}/amend`, `${path}/amend`, { reason: 'r', inputTokens: '-1' });
  expect([wrong.status, wrong.html.includes('href="#f-inputTokens"')]).toEqual([400, true]);
  const right = { reason: 'counted twice', responseTokens: '100' };
  expect((await visitor.submit(`${path}/amend`, `${path}/amend`, right)).status).toBe(303);
  expect(await read(callId)).toMatchObject({
    costUsdNano: '3500000',
    corrections: [{ kind: 'AMENDED', by: 'console' }],
  });
  expect((await meters('bob')).premiumTokens).toMatchObject({ used: 100 });
  expect((await visitor.read(path)).text).toContain('counted twice');
});

test('an increment is reversed on the page of its customer', async () => {
  await tenant.api.send('provisionCustomer', { body: { customerId: 'carol' } });
  const body = { customerId: 'carol', meterSlot: 'CUSTOM1', amount: 7 };
  const { eventId } = (await tenant.api.send('incrementMeter', { body })).data;
  const path = `/console/organizations/${org}/customers/carol/reverse-increment`;
  const unknown = await visitor.submit(path, path, { eventId: 'no-such-event', reason: 'r' });
  expect([unknown.status, unknown.text.includes('no such meter event')]).toEqual([400, true]);
  expect((await visitor.submit(path, path, { eventId, reason: 'sent by a test' })).status).toBe(303);
  expect((await meters('carol')).customMeter1).toMatchObject({ used: 0 });
});
