/**
 * Servers for the gateway benchmarks: the service with a vendor's key, a baseline Worker that passes requests to the
 * same vendor unmetered, and that vendor. Each is a separate process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { HOST } from '../../src/cli/server.ts';
import type { HttpRequest } from './load.ts';
import { createTenantKey, operatorOf, startServiceAndFloor, type TenantKey } from './service.ts';
import type { Options } from './suite.ts';

export const COMPLETIONS_PATH = '/v1/chat/completions';
export const PASS_THROUGH = 'pass-through';

/** The number of customers among which the load is spread; each is an object of its own. */
export const CUSTOMERS = 64;

export const CUSTOMER_HEADER = 'x-usage-customer-id';
/** The simulated vendor is all of them. */
const VENDOR_PATHS = { openai: '/v1', anthropic: '/v1', google: '/v1beta' };

export interface Endpoint {
  url: string;
  pid: number;
  headers: Record<string, string>;
}

export interface GatewayService {
  passThrough: Endpoint;
  metered: Endpoint;
  vendorUrl: string;
  vendorPid: number;
  tenant: TenantKey;
}

export async function startGateway({ scope, shared }: Options): Promise<GatewayService> {
  const vendor = fork(join(import.meta.dirname, 'gateway-vendor.ts'));
  scope.defer(() => vendor.disconnect());
  const [port] = (await once(vendor, 'message')) as [number];
  const vendorUrl = `http://${HOST}:${port}`;
  const { service, floor } = await startServiceAndFloor({ shared });
  const tenant = await createTenantKey(service.url);
  for (const [provider, path] of Object.entries(VENDOR_PATHS)) {
    const set = await operatorOf(service.url).send('setVendor', {
      params: { org: tenant.organizationId, provider },
      body: { apiKey: 'sk-bench', baseUrl: vendorUrl + path },
    });
    if (set.status !== 200) throw new Error(`the vendor was refused: ${set.status}`);
  }
  const headers = { 'Content-Type': 'application/json' };
  return {
    passThrough: { url: floor.url, pid: floor.pid, headers: { ...headers, 'x-vendor': vendorUrl } },
    metered: { url: service.url, pid: service.pid, headers: { ...headers, Authorization: `Bearer ${tenant.key}` } },
    vendorUrl,
    vendorPid: vendor.pid as number,
    tenant,
  };
}

/** A completion that the vendor answers after that time, or at once if it is 0. */
export function completionRequest(
  { headers }: Endpoint,
  { customer, vendorMs, stream }: { customer: number; vendorMs: number; stream: boolean },
): HttpRequest {
  const content = `Say forty words about anything at all, please; answer after ${vendorMs} ms.`;
  const body = { model: 'openai/gpt-5.2', messages: [{ role: 'user', content }], ...(stream && { stream }) };
  return {
    method: 'POST',
    headers: { ...headers, [CUSTOMER_HEADER]: customerName(customer) },
    body: JSON.stringify(body),
  };
}

export const customerName = (index: number) => `customer-${index}`;
