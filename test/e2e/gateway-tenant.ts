/**
 * The setup of the gateway tests: a server that files share, vendors on loopback of the file's own, organizations with keys
 * for them, and the official SDK, changed only in base URL and key.
 */
import OpenAI from 'openai';
import { expect } from 'vitest';
import type { OperatorCustomer } from '../../src/contract/operator-customers.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { type FakeVendor, startVendor } from '../vendors/vendor.ts';
import { type Clients, until } from './local-server.ts';
import { type SharedServer, sharedServer } from './shared-servers.ts';

/**
 * A server for vendors that never answer, and for streams that fall silent: it waits for them briefly. On a loaded machine
 * others may be too slow for it, so they are met on one with the times of a deployment.
 */
export const SHORT_TIMES = { GATEWAY_TIMEOUT_MS: '2000', GATEWAY_IDLE_TIMEOUT_MS: '700' };

export interface Setting<Server extends Clients = SharedServer> {
  server: Server;
  vendor: FakeVendor;
  /** A tenant on a plan, with credentials for the vendors named. */
  tenant(plan?: object, vendors?: readonly string[]): Promise<GatewayTenant>;
  /** Ends the vendor; the file that started the server stops it. */
  stop(): Promise<void>;
}

export interface GatewayTenant extends Tenant {
  key: string;
  openai: OpenAI;
  /** The SDK with other options, or another key. */
  sdk(options?: ConstructorParameters<typeof OpenAI>[0]): OpenAI;
  /** A request as it travels. */
  send(
    path: string,
    init?: { method?: string; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<Response>;
  customer(customerId: string): Promise<OperatorCustomer>;
  /** The customer after all of its calls are closed. */
  settled(customerId: string, calls?: number): Promise<OperatorCustomer>;
  call(callId: string): Promise<{ status: string; [field: string]: unknown }>;
}

export const NO_LIMITS = { name: 'Free', limitType: 'NONE' };
const VENDORS = ['openai', 'anthropic', 'google', 'acme'];

/** On the server that files share, with the times of a deployment. */
export const startGateway = async (): Promise<Setting> => gatewayOn(await sharedServer());

export async function gatewayOn<Server extends Clients>(server: Server): Promise<Setting<Server>> {
  const vendor = await startVendor();
  return {
    server,
    vendor,
    tenant: (plan = NO_LIMITS, vendors = VENDORS) => gatewayTenant(server, vendor, plan, vendors),
    stop: () => vendor.close(),
  };
}

async function gatewayTenant(
  server: Clients,
  vendor: FakeVendor,
  plan: object,
  vendors: readonly string[],
): Promise<GatewayTenant> {
  const tenant = await createTenant(server.operator, plan);
  const params = { org: tenant.organizationId };
  const saveVendor = (provider: string) => {
    const baseUrl = `${vendor.url}/${provider === 'google' ? 'v1beta/openai' : 'v1'}`;
    const body = { apiKey: `sk-${provider}-${'k'.repeat(20)}`, baseUrl };
    return server.operator.send('setVendor', { params: { ...params, provider }, body });
  };
  // Each waits until it is in force.
  const [created, ...saved] = await Promise.all([
    server.operator.send('createKey', { params, body: { name: 'gateway' } }),
    ...vendors.map(saveVendor),
  ]);
  for (const { status } of saved) expect(status).toBe(200);
  const { key } = created.data;
  const baseURL = `${server.url}/v1`;
  const sdk: GatewayTenant['sdk'] = (options) => new OpenAI({ apiKey: key, baseURL, maxRetries: 0, ...options });
  const customer = async (customerId: string) =>
    (await server.operator.send('readCustomer', { params: { ...params, customerId } })).data as OperatorCustomer;
  return {
    ...tenant,
    key,
    openai: sdk(),
    sdk,
    send: (path, { method = 'POST', body, headers = {}, signal } = {}) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(signal && { signal }),
      }),
    customer,
    async settled(customerId, calls = 1) {
      let found: OperatorCustomer | undefined;
      await until(async () => {
        const reply = await server.operator.send('readCustomer', { params: { ...params, customerId } });
        if (reply.status !== 200) return false;
        found = reply.data as OperatorCustomer;
        return found.openCalls === 0 && found.recentCalls.length >= calls;
      });
      return found as OperatorCustomer;
    },
    async call(callId) {
      return (await tenant.api.send('readCall', { params: { callId } })).data;
    },
  };
}
