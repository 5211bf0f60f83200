/**
 * Promise: on credit, no work is free. A call of the gateway with a use that has no rate is charged by its hold, so a
 * small balance ends; when the rate comes, the difference is settled. And the price that an operator set for the
 * requested name applies, whatever the answer says.
 */

import { evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import type { Repricing } from '../../src/contract/corrections.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import { fundedCustomer } from '../support/customer.ts';
import { answers, ask, completion, mockVendor, newTenant, readStoredCall, usage, vendor } from '../support/gateway.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

mockVendor();

const MODEL = 'openai/house';
const ON_CREDIT = planOnCredit({ maxOutputTokens: 100 });
const HOUR = 3_600_000;
const ROUNDS_MAX = 50;
/** Nano-USD of an output token. */
const TOKEN = 10_000;

type Held = Awaited<ReturnType<typeof onCredit>>;

const rate = (component: string, usd: string, when?: object) => ({
  component,
  per: 1_000_000,
  usd,
  ...(when && { when }),
});
const TWO_RATES = [rate('input', '2'), rate('output', '10')];

async function onCredit(usd: string, components: object[] | null = TWO_RATES) {
  const tenant = await newTenant(ON_CREDIT);
  const held = { tenant, customer: await fundedCustomer(tenant, 'default', { usd }) };
  if (components) await setPrice(held, MODEL, components);
  return held;
}

async function setPrice({ tenant }: Pick<Held, 'tenant'>, modelKey: string, components: object[]) {
  const params = { org: tenant.organizationId, modelKey };
  expect((await operator.send('setPrice', { params, body: { components } })).status).toBe(200);
}

/** The vendor serves flex if it is asked for it. */
const servesFlex = () => {
  vendor.answers = (_url, { model }) => Response.json({ ...completion(model), service_tier: 'flex' });
};

async function made({ tenant }: Held, body: object = {}) {
  const { response, callId, rest } = await ask(tenant.key, { model: MODEL, ...body });
  await rest();
  return { status: response.status, callId };
}

const read = async ({ tenant }: Held, callId: string) =>
  (await tenant.api.send('readCall', { params: { callId } })).data;
const settledBalance = async ({ customer }: Held) => {
  await customer.settle();
  return (await customer.wallet()).balanceUsd;
};

async function reprice({ tenant: { organizationId } }: Held, body: object = {}): Promise<Repricing> {
  await deliverToD1(organizationId, 'default');
  const [from, to] = [-HOUR, HOUR].map((ms) => new Date(Date.now() + ms).toISOString());
  const started = await operator.send('startRepricing', {
    params: { org: organizationId },
    body: { from, to, ...body } as never,
  });
  const { jobId } = started.data;
  const job = bindings.REPRICINGS.getByName(jobId);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const { data } = await operator.send('readRepricing', { params: { org: organizationId, jobId } });
    if (data.status === 'COMPLETED') return data;
    await runDurableObjectAlarm(job);
    await evictDurableObject(job);
  }
  throw new Error('the job did not end');
}

describe('a service tier without a rate, in which the vendor serves unasked', () => {
  test('is charged by its hold, so one cent serves few calls and the balance stays above zero', async () => {
    const held = await onCredit('0.01');
    servesFlex();
    const statuses: number[] = [];
    for (let time = 0; time < 30; time += 1) statuses.push((await made(held)).status);
    const served = statuses.filter((status) => status === 200).length;
    expect(served).toBeGreaterThan(0);
    // A hundred output tokens are held for each.
    expect(served * 100 * TOKEN).toBeLessThanOrEqual(10_000_000);
    expect(statuses.slice(served)).toEqual(Array.from({ length: 30 - served }, () => 402));
    expect(Number(await settledBalance(held))).toBeGreaterThanOrEqual(0);
  });

  test('the call says so everywhere, and a rate settles the difference', async () => {
    const held = await onCredit('1');
    servesFlex();
    const { callId } = await made(held);
    const { outcome, credit } = (await readStoredCall(held.tenant, callId)) ?? {};
    const charge = BigInt(outcome?.charge?.amountNanoUsd ?? 0);
    expect(charge).toBe(BigInt(credit?.heldAtEndNanoUsd ?? 0));
    expect(charge).toBeGreaterThan(BigInt(100 * TOKEN));
    const balance = 1_000_000_000n - charge;
    expect(BigInt(Math.round(Number(await settledBalance(held)) * 1e9))).toBe(balance);
    const reason = 'RATE_NOT_IN_CATALOG: input, output (serviceTier flex)';
    const call = await read(held, callId);
    expect(call).toMatchObject({ pricingStatus: 'UNAVAILABLE', pricingUnavailableReason: reason, costUSD: null });
    expect(call.payg).toMatchObject({ basis: 'HELD', chargeNanoUsd: String(charge), settlementStatus: 'POSTED' });
    const listed = (await held.tenant.api.send('listCalls', { query: {} })).data.items;
    expect(listed.map(({ chargeBasis, costUSD }) => [chargeBasis, costUSD])).toEqual([['HELD', null]]);
    const told = await held.tenant.api.send('readEvents', { query: { type: 'call.unpriced' } });
    expect(told.data.items.map(({ data }) => data)).toMatchObject([
      { callId, reason, atStakeUsd: (Number(charge) / 1e9).toString() },
    ]);

    expect(await reprice(held)).toMatchObject({ total: 1, repriced: 0 });
    await setPrice(held, MODEL, [
      ...TWO_RATES,
      rate('input', '1', { serviceTier: 'flex' }),
      rate('output', '5', { serviceTier: 'flex' }),
    ]);
    const cost = usage.prompt_tokens * 1_000 + usage.completion_tokens * 5_000;
    expect(await reprice(held, { dryRun: true })).toMatchObject({ repriced: 1, differenceNanoUsd: String(cost) });
    expect(await reprice(held)).toMatchObject({ total: 1, repriced: 1, differenceNanoUsd: String(cost) });
    expect(await settledBalance(held)).toBe(String(1 - cost / 1e9));
    const after = await read(held, callId);
    expect(after).toMatchObject({ pricingStatus: 'FINAL', costUsdNano: String(cost) });
    expect(after.payg.basis).toBeUndefined();
    expect((await held.tenant.api.send('listCalls', { query: {} })).data.items[0]?.chargeBasis).toBeNull();
  });
});

test('a use without a rate is charged by the hold of the prompt; its cost is known without it, until a rate comes', async () => {
  const held = await onCredit('1');
  vendor.answers = (_url, { model }) =>
    Response.json({ ...completion(model), usage: { ...usage, prompt_audio_seconds: 1 } });
  const { callId } = await made(held);
  const known = usage.prompt_tokens * 2_000 + usage.completion_tokens * TOKEN;
  const call = await read(held, callId);
  expect(call).toMatchObject({ pricingStatus: 'FINAL', costUsdNano: String(known), payg: { basis: 'HELD' } });
  const { credit } = (await readStoredCall(held.tenant, callId)) ?? {};
  const charged = BigInt(credit?.heldForInputNanoUsd ?? 0) + BigInt(usage.completion_tokens * TOKEN);
  expect(call.payg.chargeNanoUsd).toBe(String(charged));
  expect(charged).toBeGreaterThan(BigInt(known));
  await setPrice(held, MODEL, [...TWO_RATES, rate('audioSeconds', '100')]);
  expect(await reprice(held, { dryRun: true })).toMatchObject({ repriced: 1, differenceNanoUsd: '100000' });
  expect(await reprice(held)).toMatchObject({ total: 1, repriced: 1, differenceNanoUsd: '100000' });
  const after = await read(held, callId);
  expect([after.costUsdNano, after.payg.chargeNanoUsd, after.payg.basis]).toEqual([
    String(known + 100_000),
    String(known + 100_000),
    undefined,
  ]);
  expect(await reprice(held)).toMatchObject({ total: 0, repriced: 0 });
});

test('a model without any price that the organization allows is charged what its calls usually cost', async () => {
  const held = await onCredit('0.05', null);
  const params = { org: held.tenant.organizationId };
  expect((await operator.send('updateOrganization', { params, body: { allowUnpricedModels: true } })).status).toBe(200);
  vendor.answers = answers;
  const { callId } = await made(held);
  expect((await read(held, callId)).payg).toMatchObject({ basis: 'HELD', chargeNanoUsd: '10000000' });
  const statuses: number[] = [];
  for (let time = 0; time < 6; time += 1) statuses.push((await made(held)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 402, 402]);
  expect(await settledBalance(held)).toBe('0');
});

test('a call that the application reports is not charged by a hold that nothing bounds, and says what was at stake', async () => {
  const held = await onCredit('1', null);
  const { api } = held.tenant;
  for (const modelUsed of ['acme/one', 'acme/one', 'acme/two']) {
    const { callId } = (
      await api.send('beginCall', { body: { customerId: 'default', holdUsd: 0.25, feature: `${Math.random()}` } })
    ).data;
    const ended = (await api.send('endCall', { body: { callId, modelUsed, inputTokens: 1, responseTokens: 1 } })).data;
    expect([ended.pricingStatus, ended.payg]).toEqual(['UNAVAILABLE', undefined]);
    expect((await read(held, callId)).payg).toMatchObject({ chargedUsd: null, settlementStatus: 'FAILED' });
  }
  expect(await settledBalance(held)).toBe('1');
  const told = await api.send('readEvents', { query: { type: 'call.unpriced' } });
  expect(told.data.items.map(({ data }) => data).toReversed()).toMatchObject([
    { modelUsed: 'acme/one', atStakeUsd: '0.25' },
    { modelUsed: 'acme/two', atStakeUsd: '0.25' },
  ]);
});

describe('the price of the name that was asked for', () => {
  const served = 'gpt-5.4-2026-03-05';
  const cost = String(usage.prompt_tokens * 2_000 + usage.completion_tokens * TOKEN);

  test("is the operator's, whatever the answer calls itself, in the gateway and in a unified call", async () => {
    const held = await onCredit('1');
    vendor.answers = () => Response.json(completion(served));
    const { callId } = await made(held);
    expect(await read(held, callId)).toMatchObject({ costUsdNano: cost, modelUsed: 'house' });
    const body = {
      customerId: 'default',
      vendor: {
        url: 'https://vendor.example.com/v1/chat/completions',
        provider: 'openai',
        body: { model: 'house', messages: [] },
      },
    };
    const unified = (await held.tenant.api.send('makeCall', { body })).data;
    expect(unified.end).toMatchObject({ costUsdNano: cost, modelUsed: 'house' });
    expect(unified.vendor?.modelUsed).toBe(served);
    expect(await settledBalance(held)).toBe(String(1 - (2 * Number(cost)) / 1e9));
  });

  test('without one of its own gives way to the price of the model that served it', async () => {
    const held = await onCredit('1', null);
    vendor.answers = () => Response.json(completion('gpt-4o-mini-2024-07-18'));
    const { callId } = await made(held, { model: 'gpt-5.4' });
    expect(await read(held, callId)).toMatchObject({ modelUsed: 'gpt-4o-mini-2024-07-18', pricingStatus: 'FINAL' });
  });
});
