/**
 * The Worker under test, inside workerd: its API through `fetch`, its objects through their bindings.
 */
import { env, exports } from 'cloudflare:workers';
import type { Customer } from '../../durable-objects/customer.ts';
import type { Env } from '../../src/env.ts';
import { Api, OPERATOR_TOKEN } from './api.ts';

export const bindings = env as unknown as Env;

export const worker = (exports as unknown as { default: Fetcher }).default;

export const operator = new Api(
  (url, init) => worker.fetch(url, init as never) as unknown as Promise<Response>,
  'https://callmeter.test',
  OPERATOR_TOKEN,
);

export function customerStub(organizationId: string, customerId: string): DurableObjectStub<Customer> {
  return bindings.CUSTOMERS.getByName(`${organizationId}:${customerId}`);
}
