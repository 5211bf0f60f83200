/**
 * Promise: a customer's object hands over its changes half a second later, together with the changes until then,
 * without an alarm of its own; an alarm stands behind it for an object that is gone by then, and for a call that stays open.
 */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { HAND_OVER_DELAY_MS } from '../../durable-objects/customer/hand-over.ts';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import { Plan } from '../../src/contract/plans.ts';
import { openAccount } from '../../src/domain/account.ts';
import type { Call } from '../../src/domain/call.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { readRecords } from '../support/call-records.ts';
import { fundedCustomer } from '../support/customer.ts';
import { customerKey } from '../support/ids.ts';
import { STORED_CHANGES } from '../support/object.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

/** An alarm in the past would fire at once. */
const START = Date.now() + 86_400_000;
const ALARM_MS = 30_000;

describe('the alarm for a hand-over', () => {
  const account = openAccount(
    {
      organizationId: asOrganizationId('paced'),
      customerId: asCustomerId('customer'),
      subscriptionId: 's',
      plan: {
        planId: 'p',
        usagePlanVersionId: 'p:v1',
        version: 1,
        plan: Plan.parse({ name: 'P', limitType: 'BLOCK', limits: {} }),
      },
      contact: {},
    },
    START,
  );

  test('is set once for all changes of half a minute, and forgotten with what was handed over', async () => {
    await runInDurableObject(customerStub('paced', 'customer'), async (_object, { storage }) => {
      let changes = 0;
      const store = new CustomerStore(storage, () => {
        changes += 1;
      });
      await store.load();
      const change = (email: string, atMs: number) =>
        store.transaction(atMs, () => store.saveAccount({ ...(store.account() ?? account), contact: { email } }, atMs));
      const rows = () => storage.sql.exec(STORED_CHANGES).toArray().length;
      const handOver = (atMs: number) => {
        const page = store.outboxPage(10);
        store.listedRow.leaves(account);
        store.handedOver(page, atMs);
      };

      change('first', START);
      expect(await storage.getAlarm()).toBe(START + ALARM_MS);
      handOver(START);
      expect(store.outboxState()).toEqual({ pending: 0, oldestMs: null });
      expect(rows(), 'a hand-over writes nothing: the customer, and the event that it is new').toBe(2);
      change('second', START + 5_000);
      expect(rows(), 'the next transaction forgets what was handed over').toBe(1);
      expect(store.outboxState().pending).toBe(1);
      expect(await storage.getAlarm(), 'an alarm that is set stays').toBe(START + ALARM_MS);
      const page = store.outboxPage(10);
      change('during the hand-over', START + 6_000);
      store.handedOver(page, START + 6_000);
      expect(store.outboxState()).toEqual({ pending: 1, oldestMs: START + 6_000 });
      expect(changes).toBe(3);

      // As the alarm does that fires then.
      await storage.deleteAlarm();
      store.alarmFired(START + ALARM_MS);
      store.transaction(START + ALARM_MS, () => undefined);
      expect(rows(), 'the change that waits').toBe(1);
      expect(await storage.getAlarm()).toBe(START + 6_000 + ALARM_MS);
      handOver(START + 6_000 + ALARM_MS);
      await storage.deleteAlarm();
      store.alarmFired(START + 6_000 + ALARM_MS);
      store.transaction(START + 6_000 + ALARM_MS, () => undefined);
      expect(rows()).toBe(0);
      expect(await storage.getAlarm(), 'nothing is due but the end of the period').toBe(
        store.account()?.subscription.nextReplenishAtMs,
      );
      expect(changes, 'a transaction without a change hands nothing over').toBe(3);
    });
  });

  test('is due for what an object handed over and forgot when it stopped', async () => {
    await runInDurableObject(customerStub('paced', 'stopped'), async (_object, { storage }) => {
      const store = new CustomerStore(storage);
      await store.load();
      store.transaction(START, () => store.saveAccount({ ...account, customerId: asCustomerId('stopped') }, START));
      store.handedOver(store.outboxPage(10), START);
      const started = new CustomerStore(storage);
      await started.load();
      expect(started.outboxState()).toEqual({ pending: 2, oldestMs: START });
      expect(await storage.getAlarm()).toBe(START + ALARM_MS);
    });
  });

  test('does not end before the last of several pages was handed over', async () => {
    await runInDurableObject(customerStub('paced', 'long'), async (_object, { storage }) => {
      const store = new CustomerStore(storage);
      await store.load();
      for (const [index, email] of ['a', 'b', 'c'].entries())
        store.transaction(START + index, () =>
          store.saveAccount(
            { ...(store.account() ?? { ...account, customerId: asCustomerId('long') }), contact: { email } },
            START,
          ),
        );
      // The event that the customer is new, and the customer, who changed three times.
      const first = store.outboxPage(1);
      expect(first.more).toBe(true);
      store.handedOver(first, START);
      await storage.deleteAlarm();
      store.alarmFired(START + ALARM_MS);
      store.transaction(START + ALARM_MS, () => undefined);
      expect(await storage.getAlarm()).toBe(START + 2 * ALARM_MS);
      const last = store.outboxPage(3);
      expect([last.rows.length, last.more]).toEqual([1, false]);
    });
  });
});

describe('a change', () => {
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await createTenant(operator);
  });

  const provision = async (customerId: string) => {
    const answer = await tenant.api.send('provisionCustomer', { body: { customerId } });
    expect(answer.status).toBe(200);
  };
  /** The changes in the object, and the rows in D1: one of the customer, and of each call. */
  const waiting = async (customerId: string) => {
    const whose = customerKey(tenant.organizationId, customerId);
    const { pending } = await runInDurableObject(
      customerStub(whose.organizationId, customerId),
      (_object, { storage }) => ({
        pending: storage.sql.exec(STORED_CHANGES).toArray().length,
      }),
    );
    const inD1 = bindings.DB.prepare(
      `SELECT (SELECT COUNT(*) FROM customers WHERE organization_id = ?1 AND customer_id = ?2)
        + (SELECT COUNT(*) FROM calls WHERE organization_id = ?1 AND customer_id = ?2) AS n`,
    ).bind(whose.organizationId, customerId);
    return { inOutbox: pending, inD1: (await inD1.first<{ n: number }>())?.n };
  };

  const isWokenSoon = (customerId: string) =>
    runInDurableObject(customerStub(tenant.organizationId, customerId), async (_object, { storage }) => {
      const alarmMs = await storage.getAlarm();
      return alarmMs !== null && alarmMs < Date.now() + 2 * ALARM_MS;
    });

  test('reaches D1 soon, without an alarm', async () => {
    await provision('timed');
    await tenant.api.send('beginCall', { body: { customerId: 'timed', feature: 'chat' } });
    expect((await waiting('timed')).inD1).toBe(0);
    await expect.poll(async () => (await waiting('timed')).inD1, { timeout: 60_000, interval: 50 }).toBe(2);
  });

  test('reaches D1 by the alarm if the object was gone before its timer fired', async () => {
    await provision('gone');
    const stop = runInDurableObject(customerStub(tenant.organizationId, 'gone'), (_object, context) =>
      context.abort('the machine stops'),
    );
    await expect(stop).rejects.toThrow();
    await scheduler.wait(2_000);
    expect(await waiting('gone')).toEqual({ inOutbox: 2, inD1: 0 });
    expect(await runDurableObjectAlarm(customerStub(tenant.organizationId, 'gone'))).toBe(true);
    expect(await waiting('gone')).toEqual({ inOutbox: 0, inD1: 1 });
    expect(await isWokenSoon('gone')).toBe(false);
  });

  test('that begins a call waits for the end, and both are one change', async () => {
    await provision('waits');
    const params = { org: tenant.organizationId, customerId: 'waits' };
    const pending = async () => (await operator.send('readCustomer', { params })).data.outbox.pending;
    await expect.poll(pending, { timeout: 60_000, interval: 50 }).toBe(0);
    const { callId } = (await tenant.api.send('beginCall', { body: { customerId: 'waits', feature: 'chat' } })).data;
    await scheduler.wait(2 * HAND_OVER_DELAY_MS);
    expect(await pending()).toBe(1);
    expect(await isWokenSoon('waits'), 'the alarm hands it over if it stays open').toBe(true);
    await tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 1, responseTokens: 1 } });
    expect(await waiting('waits')).toEqual({ inOutbox: 1, inD1: 1 });
    await expect.poll(async () => (await waiting('waits')).inD1, { timeout: 60_000, interval: 50 }).toBe(2);
  });

  test('that an alarm handed over is forgotten at once, although a call is open', async () => {
    await provision('open');
    await tenant.api.send('beginCall', { body: { customerId: 'open', feature: 'chat' } });
    const stop = runInDurableObject(customerStub(tenant.organizationId, 'open'), (_object, context) =>
      context.abort('the machine stops'),
    );
    await expect(stop).rejects.toThrow();
    expect(await runDurableObjectAlarm(customerStub(tenant.organizationId, 'open'))).toBe(true);
    expect((await waiting('open')).inOutbox).toBe(0);
  });

  test('of an object that was opened just now leaves nothing to wake it for, once no call is open', async () => {
    await provision('rare');
    const { callId } = (await tenant.api.send('beginCall', { body: { customerId: 'rare', feature: 'chat' } })).data;
    await expect.poll(async () => (await waiting('rare')).inD1, { timeout: 60_000, interval: 50 }).toBe(2);
    expect(await isWokenSoon('rare'), 'the call is open').toBe(true);
    await tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 1, responseTokens: 1 } });
    await expect.poll(async () => (await waiting('rare')).inOutbox, { timeout: 60_000, interval: 50 }).toBe(0);
    expect(await isWokenSoon('rare')).toBe(false);
  });
});

describe('a charge', () => {
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await createTenant(operator, {
      name: 'Paid',
      limitType: 'BLOCK',
      limits: { premiumCalls: 0 },
      payg: { enabled: true },
    });
  });

  const inD1 = async (callId: string) => {
    const record = (await readRecords(bindings.DB, 'call_id = ?', callId)).get(callId);
    return record === undefined ? null : ((JSON.parse(record) as Call).outcome?.charge?.status ?? null);
  };

  /** A call that has just ended, long before the next hand-over. */
  const charged = async (customerId: string) => {
    const customer = await fundedCustomer(tenant, customerId, { usd: '1' });
    await customer.handedOver();
    const { callId } = (await tenant.api.send('beginCall', { body: { customerId, requested: { premium: true } } }))
      .data;
    await tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 400, responseTokens: 0 } });
    const status = async () =>
      (await tenant.api.send('readCall', { params: { callId } })).data.payg.settlementStatus ?? null;
    return { ...customer, callId, status };
  };

  test('is taken from the balance by the hand-over, so that D1 learns of the call and its charge at once', async () => {
    const { callId, status, wallet } = await charged('settled');
    let first: string | null = null;
    await expect.poll(async () => (first = await inD1(callId)), { timeout: 60_000, interval: 20 }).not.toBeNull();
    expect(first, 'as D1 learns of the call').toBe('POSTED');
    expect(await status()).toBe('POSTED');
    expect(await wallet()).toMatchObject({ balanceUsd: '0.999', openCharges: 0 });
  });

  test('is taken from the balance by the alarm if the object was gone before its timer fired', async () => {
    const { status, wallet } = await charged('left');
    const stop = runInDurableObject(customerStub(tenant.organizationId, 'left'), (_object, context) =>
      context.abort('the machine stops'),
    );
    await expect(stop).rejects.toThrow();
    expect(await status()).toBe('PENDING');
    await expect.poll(status, { timeout: 60_000, interval: 100 }).toBe('POSTED');
    expect(await wallet()).toMatchObject({ balanceUsd: '0.999', openCharges: 0 });
  });
});
