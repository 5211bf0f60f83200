/**
 * Corrections in the operator's console: a call is reversed or amended, an increment reversed, each with a reason.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
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

async function runCall(customerId: string) {
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
  const { callId, path } = await runCall('ann');
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
  const { callId, path } = await runCall('bob');
  const shown = await visitor.form(`${path}/amend`, `${path}/amend`);
  expect(shown).toMatchObject({
    modelUsed: 'gpt-4o',
    inputTokens: '1,000',
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

describe('a call that the balance paid', () => {
  const PAYG = {
    name: 'As you go',
    limitType: 'BLOCK',
    limits: { premiumCalls: 0 },
    payg: { enabled: true, markupPercent: 20 },
  };

  async function charged(customerId: string) {
    const paying = await createTenant(operator, PAYG);
    const customer = await fundedCustomer(paying, customerId, { usd: '10' });
    const body = { customerId, requested: { premium: true } };
    const { callId } = (await paying.api.send('beginCall', { body })).data;
    // Cost 0.0075 USD; with the markup 0.009.
    const used = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 };
    await paying.api.send('endCall', { body: { callId, ...used } });
    await customer.settle();
    return { customer, callId, console: `/console/organizations/${paying.organizationId}` };
  }

  test('shows lines that sum to its charge, and is given back once by goodwill, while its cost stays', async () => {
    const { customer, callId, console } = await charged('zoe');
    const path = `${console}/calls/${callId}`;
    const { text } = await visitor.read(path);
    expect(text).toMatch(/Cost, sum of its lines \$0\.0075\D+20% \$0\.0015\D+\$0\.009/);
    const asked = await visitor.read(`${path}/reverse`);
    expect(asked.text).toContain('The record was wrong');
    expect(asked.text).toContain('A USD credit of $0.009');
    const give = () => visitor.submit(`${path}/reverse`, `${path}/reverse`, { act: 'goodwill' });
    expect((await give()).status).toBe(303);
    const again = await give();
    expect([again.status, again.text.includes('goodwill was granted for it already')]).toEqual([400, true]);
    expect((await customer.inspect()).ledger[0]).toMatchObject({
      cause: 'GRANT',
      amount: '0.009',
      reference: `goodwill for call ${callId}`,
    });
    expect((await customer.wallet()).balanceUsd).toBe('10');
    expect((await visitor.read(path)).text).not.toContain('The call is reversed');
  });

  test('is shown as given back after a reversal, not as a posted charge', async () => {
    const { callId, console } = await charged('rita');
    const path = `${console}/calls/${callId}`;
    expect((await visitor.submit(`${path}/reverse`, `${path}/reverse`, { act: 'reverse', reason: 'r' })).status).toBe(
      303,
    );
    const { text } = await visitor.read(path);
    expect(text).toMatch(/Charge before the reversal \$0\.0090 Given back \$0\.0090 .*Stays charged \$0\.00 reversed/);
    expect(text).not.toMatch(/Settlement|Posted|Pending/);
  });

  test('stands in the wallet, whose ledger has pages', async () => {
    const { customer, callId, console } = await charged('pages');
    for (let given = 0; given < 50; given += 1) await customer.grant({ kind: 'USD', amountUsd: '1' });
    const wallet = `${console}/customers/pages?tab=wallet`;
    const first = await visitor.read(wallet);
    expect(first.html).not.toContain(`/calls/${callId}`);
    const next = /href="([^"]*cursor=[^"]*)"/.exec(first.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(next).toContain('tab=wallet');
    const { html, text } = await visitor.read(next);
    expect(html).toContain(`/calls/${callId}`);
    expect(text).toContain('Spent');
  });
});
