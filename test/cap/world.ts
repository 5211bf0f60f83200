/**
 * The setup of a run of the cap suite: a server that can be killed, a vendor that keeps accounts, an organization with
 * its own price, and customers with a budget.
 */
import { freePort } from '../../src/cli/server.ts';
import { type KillableServer, startKillableServer } from '../crash/killable-server.ts';
import { Api, OPERATOR_TOKEN } from '../support/api.ts';
import { INCREMENT_NANO_USD, MODEL, PRICE, PROVIDER } from './price.ts';
import { type CapVendor, startCapVendor } from './vendor.ts';

/** A vendor at an address without a listener. */
export const UNREACHABLE_PROVIDER = 'down';
/** The limit of the plan `hard`. */
export const HARD_TOKENS = 20_000;
export const HARD_RESERVED_TOKENS = 1_000;

/** Vendors may take so long that a slow machine does not make them fail. */
const PATIENT = { GATEWAY_TIMEOUT_MS: 20_000, GATEWAY_IDLE_TIMEOUT_MS: 10_000 };

/** The key of every vendor. */
export const VENDOR_KEY = `sk-${'k'.repeat(24)}`;

const NO_ALLOWANCE = { standardCalls: 0, premiumCalls: 0 };
const METER = {
  label: 'units',
  funding: { payg: true },
  overage: { model: 'SINGLE', priceUsd: (Number(INCREMENT_NANO_USD) / 1e9).toFixed(2) },
};
const onCredit = (markupPercent: number) => ({
  name: `Credit with ${markupPercent} percent`,
  limitType: 'BLOCK',
  limits: NO_ALLOWANCE,
  payg: { enabled: true, markupPercent },
  customMeters: { CUSTOM1: METER },
});

/** Plans by their markup in percent; `null` is the one with a token limit. */
const PLANS = {
  credit: { markupPercent: 0, plan: onCredit(0) },
  markup: { markupPercent: 25, plan: onCredit(25) },
  hard: {
    markupPercent: 0,
    plan: {
      name: 'Hard',
      limitType: 'BLOCK',
      limits: { premiumTokens: HARD_TOKENS },
      reserveOutputTokens: HARD_RESERVED_TOKENS,
    },
  },
} as const;
export type PlanId = keyof typeof PLANS;

export interface Customer {
  customerId: string;
  planId: PlanId;
  markupPercent: number;
  /** The USD balance at the beginning, in nano-USD; none under the plan `hard`. */
  grantedNanoUsd: bigint;
}

/** An organization of the server, with the plans above. */
export interface Organization {
  server: KillableServer;
  operator: Api;
  operatorToken: string;
  organizationId: string;
  apiKey: string;
  customer(customerId: string, planId: PlanId, usd: number): Promise<Customer>;
}

export interface World extends Organization {
  vendor: CapVendor;
}

/** The server runs. */
export async function createWorld(scope: AsyncDisposableStack): Promise<World> {
  const vendor = await startCapVendor();
  scope.defer(() => vendor.close());
  const server = await startKillableServer(scope, PATIENT);
  const organization = await openOrganization(server, 'Cap');
  const { operator, organizationId } = organization;
  const params = { org: organizationId };
  const addresses = {
    [PROVIDER]: vendor.baseUrl,
    [UNREACHABLE_PROVIDER]: `http://127.0.0.1:${await freePort(0)}/v1`,
  };
  for (const [provider, baseUrl] of Object.entries(addresses)) {
    const body = { apiKey: VENDOR_KEY, baseUrl };
    expectOk(await operator.send('setVendor', { params: { ...params, provider }, body }));
    expectOk(await operator.send('setPrice', { params: { ...params, modelKey: `${provider}/${MODEL}` }, body: PRICE }));
  }
  return { ...organization, vendor };
}

export async function openOrganization(server: KillableServer, name: string): Promise<Organization> {
  const operator = new Api(fetch, server.url, OPERATOR_TOKEN);
  const { organizationId } = (await operator.send('createOrganization', { body: { name } })).data;
  const params = { org: organizationId };
  for (const [planId, { plan }] of Object.entries(PLANS))
    expectOk(await operator.send('putPlan', { params: { ...params, planId }, body: plan }));
  expectOk(await operator.send('updateOrganization', { params, body: { defaultPlanId: 'credit' satisfies PlanId } }));
  const { key: apiKey } = (await operator.send('createKey', { params, body: { name: 'cap' } })).data;
  const api = operator.with(apiKey);
  return {
    ...{ server, operator, operatorToken: OPERATOR_TOKEN, organizationId, apiKey },
    async customer(customerId, planId, usd) {
      expectOk(await api.send('provisionCustomer', { body: { customerId } }));
      if (planId !== 'credit') expectOk(await api.send('changePlan', { params: { customerId }, body: { planId } }));
      const grant = { kind: 'USD', amountUsd: usd.toFixed(2) };
      if (usd > 0) expectOk(await operator.send('grantCredit', { params: { ...params, customerId }, body: grant }));
      const grantedNanoUsd = BigInt(Math.round(usd * 100)) * 10_000_000n;
      return { customerId, planId, markupPercent: PLANS[planId].markupPercent, grantedNanoUsd };
    },
  };
}

export function expectOk({ status, body }: { status: number; body: unknown }): void {
  if (status !== 200) throw new Error(`the setup was refused: ${status} ${JSON.stringify(body)}`);
}
