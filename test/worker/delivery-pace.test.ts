/**
 * What a customer's object changes is on its way to D1 after half a second; while it keeps changing, every two seconds.
 */
import { runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import { Plan } from '../../src/contract/plans.ts';
import { openAccount } from '../../src/domain/account.ts';
import { customerStub } from '../support/worker.ts';

const START = Date.parse('2026-03-01T12:00:00Z');

test('changes of an idle customer are delivered soon, of a busy one at most every two seconds, and a clock set back delays nothing for long', async () => {
  await runInDurableObject(customerStub('paced', 'customer'), (_object, { storage }) => {
    const store = new CustomerStore(storage);
    const plan = {
      planId: 'p',
      usagePlanVersionId: 'p:v1',
      version: 1,
      plan: Plan.parse({ name: 'P', limitType: 'BLOCK', limits: {} }),
    };
    const account = openAccount(
      { organizationId: 'paced', customerId: 'customer', subscriptionId: 's', plan, contact: {} },
      START,
    );
    const change = (email: string, atMs: number) => {
      store.saveAccount({ ...(store.account() ?? account), contact: { email } }, atMs);
      return store.delivery().dueAtMs;
    };
    const deliver = (atMs: number) => {
      store.outboxSent(store.outboxPage(10).place, atMs);
      store.saveDelivery({ failures: 0, dueAtMs: null, lastError: null });
    };

    expect(change('first', START)).toBe(START + 500);
    deliver(START + 500);
    expect(change('soon after', START + 600)).toBe(START + 2_500);
    expect(change('and again', START + 700), 'what is due stays due').toBe(START + 2_500);
    deliver(START + 2_500);
    expect(change('a little later', START + 4_300)).toBe(START + 4_800);
    deliver(START + 4_800);
    expect(change('idle meanwhile', START + 60_000)).toBe(START + 60_500);
    deliver(START + 60_500);
    expect(change('a clock that went back', START)).toBe(START + 2_000);
  });
});
