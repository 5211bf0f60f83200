/**
 * Promise: lists show a customer's plan, contact, credit and denied calls within seconds, and what the customer used within a
 * minute: the row of a customer who goes on calling is written once in that time, and nothing that it owes is lost.
 */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, customerStub, fireProjectors, operator } from '../support/worker.ts';

/** For what happens soon, on a slow machine too. */
const SOON = { timeout: 60_000, interval: 50 };
/** Nano-USD of a call. */
const CALL = 1_000_000;

let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(operator, { name: 'Few', limitType: 'BLOCK', limits: { premiumCalls: 2 } });
});

async function call(customerId: string): Promise<void> {
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId, requested: { premium: true } } })).data;
  const ended = await tenant.api.send('endCall', {
    body: { callId, modelUsed: 'gpt-4o', inputTokens: 400, responseTokens: 0 },
  });
  expect(ended.status).toBe(200);
}

interface Row {
  costNanoUsd: number;
  used: number;
  denied: number;
  email: string | null;
}

const row = (customerId: string) =>
  bindings.DB.prepare(
    `SELECT period_cost_rest_nano_usd AS costNanoUsd, worst_meter_used AS used, denied, email FROM customers
     WHERE organization_id = ? AND customer_id = ?`,
  )
    .bind(tenant.organizationId, customerId)
    .first<Row>();

const completedInD1 = async (customerId: string) => {
  const calls = bindings.DB.prepare(
    "SELECT COUNT(*) AS n FROM calls WHERE organization_id = ? AND customer_id = ? AND status = 'COMPLETED'",
  );
  return (await calls.bind(tenant.organizationId, customerId).first<{ n: number }>())?.n;
};

/** Two calls of a customer whom D1 knows, one after the other: D1 has both and lists the first. */
async function callTwice(customerId: string): Promise<void> {
  await tenant.api.send('provisionCustomer', { body: { customerId } });
  await expect.poll(() => row(customerId), SOON).toMatchObject({ costNanoUsd: 0, used: 0 });
  await call(customerId);
  await expect.poll(() => row(customerId), SOON).toMatchObject({ costNanoUsd: CALL, used: 1 });
  await call(customerId);
  await expect.poll(() => completedInD1(customerId), SOON).toBe(2);
  expect(await row(customerId)).toMatchObject({ costNanoUsd: CALL, used: 1 });
}

async function alarm(customerId: string): Promise<void> {
  expect(await runDurableObjectAlarm(customerStub(tenant.organizationId, customerId))).toBe(true);
  await fireProjectors();
}

describe('the row of a customer', () => {
  test('goes with a call that comes alone, and half a minute after one that follows soon', async () => {
    await callTwice('calling');
    await alarm('calling');
    expect(await row('calling')).toMatchObject({ costNanoUsd: 2 * CALL, used: 2 });
  });

  test('is brought by an object that was gone in the meantime', async () => {
    await callTwice('gone');
    const stop = runInDurableObject(customerStub(tenant.organizationId, 'gone'), (_object, context) =>
      context.abort('the machine stops'),
    );
    await expect(stop).rejects.toThrow();
    await alarm('gone');
    expect(await row('gone')).toMatchObject({ costNanoUsd: 2 * CALL, used: 2 });
  });

  test('tells of a denied call and of a new address at once, with all figures', async () => {
    await callTwice('denied');
    await tenant.api.send('beginCall', { body: { customerId: 'denied', requested: { premium: true } } });
    await expect.poll(() => row('denied'), SOON).toMatchObject({ denied: 1, costNanoUsd: 2 * CALL, used: 2 });
    const body = { customerId: 'denied', customerEmail: 'new@example.org' };
    expect((await tenant.api.send('provisionCustomer', { body })).status).toBe(200);
    await expect.poll(() => row('denied'), SOON).toMatchObject({ email: 'new@example.org' });
  });

  test('leaves nothing in the outbox once D1 has it', async () => {
    await callTwice('rested');
    await alarm('rested');
    const kept = await runInDurableObject(customerStub(tenant.organizationId, 'rested'), (_object, { storage }) =>
      storage.sql.exec<{ n: number }>('SELECT COUNT(*) AS n FROM outbox').one(),
    );
    expect(kept.n).toBe(0);
  });
});
