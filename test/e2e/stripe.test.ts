/**
 * Promise: a charge reaches Stripe exactly once, whatever fails on the way; a charge that Stripe rejects is FAILED with
 * the reason, and Stripe's total equals the ledger's.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReadCallData } from '../../src/contract/calls.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { EVENT_NAME, SECRET_KEY, type StripeFault, type StripeServer, startStripe } from '../support/stripe-server.ts';
import { type LocalServer, type PreparedState, preparedState, startPrepared, until } from './local-server.ts';

/** On gpt-4o: 1,000 x 2.50 USD per million, and half as much again: 0.00375 USD. */
const USED = { modelUsed: 'gpt-4o', inputTokens: 1_000 };
const CHARGE_NANO_USD = '3750000';

let stripe: StripeServer;
let state: PreparedState;
let server: LocalServer;
let tenant: Tenant;
beforeAll(async () => {
  stripe = await startStripe();
  stripe.meters.add(EVENT_NAME);
  state = await preparedState({
    STRIPE_SECRET_KEY: SECRET_KEY,
    STRIPE_API_BASE: stripe.url,
    STRIPE_METER_EVENT_NAME: EVENT_NAME,
  });
  server = await startPrepared(state);
  tenant = await createTenant(server.operator, {
    name: 'As you go',
    limitType: 'BLOCK',
    limits: { premiumCalls: 0 },
    payg: { enabled: true, markupPercent: 50 },
    customMeters: {
      CUSTOM1: {
        label: 'Pages',
        funding: { payg: true },
        overage: { model: 'SINGLE', priceUsd: '0.000000007', per: '1' },
      },
    },
  });
});
afterAll(async () => {
  await server.stop();
  await stripe.close();
});

async function customer(customerId: string, stripeCustomerId?: string): Promise<void> {
  const contact = stripeCustomerId === undefined ? {} : { stripeCustomerId };
  expect((await tenant.api.send('provisionCustomer', { body: { customerId, ...contact } })).status).toBe(200);
  const params = { org: tenant.organizationId, customerId };
  const body = { kind: 'USD', amountUsd: '1' };
  expect((await tenant.operator.send('grantCredit', { params, body })).status).toBe(200);
}

/** A call on credit, from begin to end. */
async function call(customerId: string, callId: string, end: object = {}): Promise<void> {
  const headers = { 'Idempotency-Key': callId };
  const begun = await tenant.api.send('beginCall', { body: { customerId, requested: { premium: true } }, headers });
  expect(begun.data.allowed.premium).toBe(true);
  expect((await tenant.api.send('endCall', { body: { callId, ...USED, ...end } })).status).toBe(200);
}

const payg = async (callId: string): Promise<ReadCallData['payg']> =>
  (await tenant.api.send('readCall', { params: { callId } })).data.payg;

async function settled(callId: string): Promise<ReadCallData['payg']> {
  await until(async () => (await payg(callId)).settlementStatus !== 'PENDING');
  return payg(callId);
}

const inspect = async (customerId: string) =>
  (await server.operator.send('readCustomer', { params: { org: tenant.organizationId, customerId } })).data;
const wallet = async (customerId: string) => (await inspect(customerId)).wallet;
const balance = async (customerId: string) => (await wallet(customerId)).balanceUsd;
const reportedEvents = (stripeCustomerId: string) =>
  stripe.events.filter((event) => event.stripeCustomerId === stripeCustomerId);

test('what was reversed sums to nothing at Stripe, also if an answer about the correction is lost', async () => {
  await customer('reversed', 'cus_reversed');
  await call('reversed', 'reversed-1');
  await until(async () => reportedEvents('cus_reversed').length === 1);
  stripe.fail('CUT_AFTER');
  const body = { reason: 'a test call' };
  const reversed = await tenant.api.send('reverseCall', { params: { callId: 'reversed-1' }, body });
  expect(reversed.data.refundNanoUsd).toBe(CHARGE_NANO_USD);
  await until(async () => (await wallet('reversed')).openCharges === 0);
  expect(reportedEvents('cus_reversed').map(({ value }) => value)).toEqual([CHARGE_NANO_USD, `-${CHARGE_NANO_USD}`]);
  expect((await wallet('reversed')).balanceUsd).toBe('1');
});

test('a charge is one meter event in nano-USD at the time of the charge, and POSTED when Stripe has it', async () => {
  const beganAtMs = Date.now();
  await customer('plain', 'cus_plain');
  await call('plain', 'plain-1');
  expect(await settled('plain-1')).toMatchObject({ settlementStatus: 'POSTED', chargeNanoUsd: CHARGE_NANO_USD });
  const [event, ...others] = reportedEvents('cus_plain');
  expect(others).toEqual([]);
  expect(event).toMatchObject({ eventName: EVENT_NAME, value: CHARGE_NANO_USD });
  expect(event?.timestamp).toBeGreaterThanOrEqual(Math.floor(beganAtMs / 1000));
  expect(stripe.requests.at(-1)?.headers.authorization).toBe(`Bearer ${SECRET_KEY}`);
  expect(await balance('plain')).toBe('0.99625');
});

test('increments of a custom meter are charged in the same way', async () => {
  await customer('metered', 'cus_metered');
  for (const amount of [3, 4])
    await tenant.api.send('incrementMeter', { body: { customerId: 'metered', meterSlot: 'CUSTOM1', amount } });
  await until(() => reportedEvents('cus_metered').length >= 2);
  expect(
    reportedEvents('cus_metered')
      .map(({ value }) => value)
      .toSorted(),
  ).toEqual(['21', '28']);
});

/**
 * A rate limit, an outage, a proxy, a 500 that Stripe repeats for its key, connections cut before and after, and no
 * answer.
 */
const FAULTS: StripeFault[] = ['RATE_LIMIT', 'UNAVAILABLE', 'HTML', 'SERVER_ERROR', 'CUT_BEFORE', 'CUT_AFTER', 'HANG'];

test(`${FAULTS.length} charges that meet ${FAULTS.join(', ')}: each stays PENDING, and arrives once`, async () => {
  const customerIds = FAULTS.map((_, n) => `unlucky-${n}`);
  await Promise.all(customerIds.map((customerId, n) => customer(customerId, `cus_unlucky_${n}`)));
  const requests = stripe.requests.length;
  for (const fault of FAULTS) stripe.fail(fault);
  await Promise.all(customerIds.map((customerId) => call(customerId, `${customerId}-call`)));
  await until(() => stripe.requests.length >= requests + FAULTS.length);
  // A second attempt waits for two seconds at least, and Stripe may have taken it by now.
  const first = await Promise.all(customerIds.map((customerId) => payg(`${customerId}-call`)));
  const taken = FAULTS.map((_, n) => reportedEvents(`cus_unlucky_${n}`).length > 0);
  const early = first.map(({ settlementStatus }, n) =>
    taken[n] && settlementStatus === 'POSTED' ? 'PENDING' : settlementStatus,
  );
  expect(early).toEqual(FAULTS.map(() => 'PENDING'));

  const last = await Promise.all(customerIds.map((customerId) => settled(`${customerId}-call`)));
  expect(last.map(({ settlementStatus }) => settlementStatus)).toEqual(FAULTS.map(() => 'POSTED'));
  expect(FAULTS.map((_, n) => reportedEvents(`cus_unlucky_${n}`).length)).toEqual(FAULTS.map(() => 1));
  expect(await Promise.all(customerIds.map(balance))).toEqual(FAULTS.map(() => '0.99625'));
});

test('a server that is killed while Stripe answers bills once, even if Stripe no longer has the key', async () => {
  await customer('killed', 'cus_killed');
  const requests = stripe.requests.length;
  stripe.fail('CUT_AFTER');
  await call('killed', 'killed-1');
  await until(() => stripe.requests.length > requests);
  await server.kill();
  stripe.forgetKeys();
  server = await startPrepared(state);
  expect((await settled('killed-1')).settlementStatus).toBe('POSTED');
  expect(reportedEvents('cus_killed')).toHaveLength(1);
  expect(await balance('killed')).toBe('0.99625');
});

test('a charge that Stripe answers 503 and then 400, amended and then reversed, sums to nothing at Stripe', async () => {
  await customer('amended', 'cus_amended');
  stripe.fail('UNAVAILABLE');
  stripe.fail({ status: 400, body: { error: { type: 'invalid_request_error', message: 'No.', param: 'timestamp' } } });
  await call('amended', 'amended-1');
  expect(await settled('amended-1')).toMatchObject({
    settlementStatus: 'FAILED',
    settlementFailureReason: 'STRIPE_invalid_timestamp',
  });
  expect(await inspect('amended')).toMatchObject({
    wallet: { openCharges: 0 },
    failedCharges: [{ subjectId: 'amended-1', stripeCustomerId: 'cus_amended', amountUsd: '0.00375' }],
  });
  const params = { callId: 'amended-1' };
  const body = { ...USED, inputTokens: 800, reason: 'counted twice' };
  expect((await tenant.api.send('amendCall', { params, body })).status).toBe(200);
  expect((await settled('amended-1')).settlementStatus).toBe('POSTED');
  expect(reportedEvents('cus_amended').map(({ value }) => value)).toEqual(['3000000']);
  expect((await tenant.api.send('reverseCall', { params, body: { reason: 'a test' } })).status).toBe(200);
  await until(() => reportedEvents('cus_amended').length === 2);
  expect(reportedEvents('cus_amended').map(({ value }) => value)).toEqual(['3000000', '-3000000']);
});

test('a charge that was queued under a key waits while the deployment has none, and is sent once it has one again', async () => {
  await customer('waiting', 'cus_waiting');
  const requests = stripe.requests.length;
  stripe.fail('UNAVAILABLE');
  await call('waiting', 'waiting-1');
  await until(() => stripe.requests.length > requests);
  await server.kill();
  const vars = await readFile(state.devVars, 'utf8');
  await writeFile(state.devVars, vars.replace(/^STRIPE_SECRET_KEY=.*\n/m, ''));
  server = await startPrepared(state);
  await call('waiting', 'waiting-2');
  expect((await settled('waiting-2')).settlementStatus).toBe('POSTED');
  expect((await payg('waiting-1')).settlementStatus).toBe('PENDING');
  await server.kill();
  await writeFile(state.devVars, vars);
  server = await startPrepared(state);
  expect((await settled('waiting-1')).settlementStatus).toBe('POSTED');
  expect(reportedEvents('cus_waiting').map(({ value }) => value)).toEqual([CHARGE_NANO_USD]);
});

test('a charge that Stripe refuses is FAILED with the reason; the balance has paid, and later charges are reported', async () => {
  await customer('refused', 'not-a-customer');
  await call('refused', 'refused-1');
  expect(await settled('refused-1')).toEqual({
    usingCredit: true,
    chargedUsd: 0.00375,
    chargeNanoUsd: CHARGE_NANO_USD,
    markupPercent: 50,
    settlementStatus: 'FAILED',
    settlementFailureReason: 'STRIPE_resource_missing',
  });
  expect(await balance('refused')).toBe('0.99625');
  // An end may name another customer of Stripe's that the organization has.
  await customer('overrides', 'cus_override');
  await call('refused', 'refused-2', { stripeCustomerId: 'cus_override' });
  expect((await settled('refused-2')).settlementStatus).toBe('POSTED');
  expect(reportedEvents('cus_override')).toHaveLength(1);
});

test('a customer without a Stripe id is settled against the balance only', async () => {
  await customer('unknown');
  const requests = stripe.requests.length;
  await call('unknown', 'unknown-1');
  expect((await settled('unknown-1')).settlementStatus).toBe('POSTED');
  // A charge that Stripe refused is tried again meanwhile.
  const heard = stripe.requests.slice(requests).filter(({ body }) => !body.includes('not-a-customer'));
  expect(heard).toEqual([]);
});
