/**
 * Promise: what a customer's object changes is handed over after a second and a half, together with what changes until
 * then.
 */
import { runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import { Plan } from '../../src/contract/plans.ts';
import { openAccount } from '../../src/domain/account.ts';
import { customerStub } from '../support/worker.ts';

const START = Date.parse('2026-03-01T12:00:00Z');

test('changes are due a second and a half after the first of them, also after a clock was set back', async () => {
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
    const deliver = (atMs: number) => store.handedOver(store.outboxPage(10).place, atMs);

    expect(change('first', START)).toBe(START + 1_500);
    expect(change('soon after', START + 600), 'what is due stays due').toBe(START + 1_500);
    expect(deliver(START + 1_500)).toBe(true);
    expect(store.delivery().dueAtMs).toBeNull();
    expect(change('the next', START + 1_600)).toBe(START + 3_100);
    const { place } = store.outboxPage(10);
    change('during the hand-over', START + 3_100);
    expect(store.handedOver(place, START + 3_200), 'something is left').toBe(false);
    expect(store.delivery().dueAtMs).toBe(START + 3_200);
    expect(deliver(START + 3_200)).toBe(true);
    expect(change('a clock that went back', START)).toBe(START + 1_500);
  });
});
