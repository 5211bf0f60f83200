/**
 * The setup of the gateway tests: a server, vendors on loopback, an organization with keys for them, and the official
 * SDK, changed only in base URL and key.
 */
import OpenAI from 'openai';
import { expect } from 'vitest';
import type { Bundle } from '../../src/cli/server.ts';
import type { OperatorCustomer } from '../../src/contract/operator-customers.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { type FakeVendor, startVendor } from '../support/vendor.ts';
import { type LocalServer, preparedState, startPrepared, until } from './local-server.ts';

/** How long the servers of these tests wait for a vendor, and for a silent stream. */
export const TIMEOUT_MS = 1_500;
export const IDLE_TIMEOUT_MS = 700;

export interface Setting {
  server: LocalServer;
  vendor: FakeVendor;
  /** A tenant on a plan, with credentials for the vendors named. */
  tenant(plan?: object, vendors?: readonly string[]): Promise<GatewayTenant>;
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
  /** The customer once none of its calls is open any more. */
  settled(customerId: string, calls?: number): Promise<OperatorCustomer>;
  call(callId: string): Promise<{ status: string; [field: string]: unknown }>;
}

export const NO_LIMITS = { name: 'Free', limitType: 'NONE' };
const VENDORS = ['openai', 'anthropic', 'google', 'acme'];

const SHORT_TIMES = { GATEWAY_TIMEOUT_MS: String(TIMEOUT_MS), GATEWAY_IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS) };

/** With another bundle than the service's own, where one is named, and times of its own. */
export async function startGateway(bundled?: Bundle, vars: Record<string, string> = SHORT_TIMES): Promise<Setting> {
  const [vendor, server] = await Promise.all([
    startVendor(),
    preparedState(vars).then((state) => startPrepared(state, {}, bundled)),
  ]);
  return {
    server,
    vendor,
    tenant: (plan = NO_LIMITS, vendors = VENDORS) => gatewayTenant(server, vendor, plan, vendors),
    stop: async () => {
      await server.stop();
      await vendor.close();
    },
  };
}

async function gatewayTenant(
  server: LocalServer,
  vendor: FakeVendor,
  plan: object,
  vendors: readonly string[],
): Promise<GatewayTenant> {
  const tenant = await createTenant(server.operator, plan);
  const params = { org: tenant.organizationId };
  for (const provider of vendors) {
    const baseUrl = `${vendor.url}/${provider === 'google' ? 'v1beta/openai' : 'v1'}`;
    const body = { apiKey: `sk-${provider}-${'k'.repeat(20)}`, baseUrl };
    expect((await server.operator.send('setVendor', { params: { ...params, provider }, body })).status).toBe(200);
  }
  const { key } = (await server.operator.send('createKey', { params, body: { name: 'gateway' } })).data;
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
