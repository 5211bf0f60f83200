/**
 * A customer with a wallet, driven over HTTP: the operator's grants, the operator's view, and completed settlement.
 */
import { expect } from 'vitest';
import { HAND_OVER_DELAY_MS } from '../../durable-objects/customer/hand-over.ts';
import type { OperatorCustomer } from '../../src/contract/operator-customers.ts';
import type { Tenant } from './api.ts';
import { deliverToD1, operator, worker } from './worker.ts';

/** A loaded machine is slow. */
const ROUNDS_MAX = 100;
const ROUND_MS = 100;
const TIMER_LATE_MS = 300;

export interface FundedCustomer {
  params: { org: string; customerId: string };
  /** Grants a credit; the answer as it came. */
  grant(body: object, headers?: Record<string, string>): ReturnType<typeof operator.send<'grantCredit'>>;
  inspect(): Promise<OperatorCustomer>;
  wallet(): Promise<OperatorCustomer['wallet']>;
  /** Fires the alarm until no charge is open and D1 has everything. */
  settle(): Promise<void>;
  /** Waits for the hand-over of the changes so far: the next one, which settles charges, comes later. */
  handedOver(): Promise<void>;
}

/** Provisions the customer, with `usd` on the balance and `units` of CUSTOM1. */
export async function fundedCustomer(
  { organizationId, api }: Tenant,
  customerId: string,
  { usd, units }: { usd?: string; units?: number } = {},
): Promise<FundedCustomer> {
  const params = { org: organizationId, customerId };
  const grant: FundedCustomer['grant'] = (body, headers = {}) =>
    operator.send('grantCredit', { params, body, headers });
  const inspect = async () => (await operator.send('readCustomer', { params })).data;
  expect((await api.send('provisionCustomer', { body: { customerId } })).data.newCustomer).toBe(true);
  if (usd) expect((await grant({ kind: 'USD', amountUsd: usd })).status).toBe(200);
  if (units) expect((await grant({ kind: 'METER', meterSlot: 'CUSTOM1', units })).status).toBe(200);
  return {
    params,
    grant,
    inspect,
    wallet: async () => (await inspect()).wallet,
    async settle() {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        await deliverToD1(organizationId, customerId);
        const { wallet, outbox } = await inspect();
        if (wallet.openCharges === 0 && outbox.pending === 0) return;
        await scheduler.wait(ROUND_MS);
      }
      throw new Error('the charges did not settle');
    },
    handedOver: () => scheduler.wait(HAND_OVER_DELAY_MS + TIMER_LATE_MS),
  };
}

/** The text of the customer's widget now, without markup. */
export async function widgetText(
  { organizationId }: Pick<Tenant, 'organizationId'>,
  customerId: string,
): Promise<string> {
  const key = { params: { org: organizationId }, body: { name: 'widget', prefix: 'ek-' } };
  const embed = operator.with((await operator.send('createKey', key)).data.key);
  const { token } = (await embed.send('createEmbedSession', { body: { customerId } })).data;
  const body = new URLSearchParams({ token }).toString();
  const answer = await worker.fetch('https://callmeter.test/embed', { method: 'POST', body });
  return (await answer.text()).replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}
