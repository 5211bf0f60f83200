/**
 * The Worker under test, inside workerd: its API through `fetch`, its objects through their bindings.
 */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { expect, vi } from 'vitest';
import type { Customer } from '../../durable-objects/customer.ts';
import { ProjectorStore } from '../../durable-objects/projector/store.ts';
import type { Env } from '../../src/env.ts';
import type { HandOver } from '../../src/objects/projector-commands.ts';
import { listProjectors } from '../../src/objects/projectors.ts';
import { Api, createTenant, OPERATOR_TOKEN, type Tenant } from './api.ts';

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

/**
 * Fires the alarm of a customer's object, and those of the projectors: D1 then has the changes that the object hands
 * over.
 */
export async function deliverToD1(organizationId: string, customerId: string): Promise<void> {
  await runDurableObjectAlarm(customerStub(organizationId, customerId));
  await fireProjectors();
}

/** A projector stores the page, as it does while D1 is away. */
export function storePage(projector: object, handOver: HandOver): Promise<void> {
  return runInDurableObject(projector as never, (_, { storage }) => {
    new ProjectorStore(storage).take(handOver, Date.now());
  });
}

/** Fires the alarms of all projectors. */
export async function fireProjectors(): Promise<void> {
  await Promise.all(listProjectors(bindings, 'DB').map((projector) => runDurableObjectAlarm(projector())));
}

const KEY_TOLD_MS_MAX = 60_000;

/** A tenant that was told of its key already: whatever events come from then on are of its customers. */
export async function createToldTenant(plan?: object): Promise<Tenant> {
  const tenant = await createTenant(operator, plan);
  // The change has woken its watch, which would look a second later.
  await runDurableObjectAlarm(bindings.ORGANIZATION_WATCHES.getByName(tenant.organizationId));
  const told = async () =>
    (await operator.send('readOrganizationEvents', { params: { org: tenant.organizationId } })).data.items;
  await vi.waitFor(async () => expect(await told()).toMatchObject([{ type: 'key.created' }]), KEY_TOLD_MS_MAX);
  return tenant;
}

/**
 * Changes the versions of the tenant's plan by a JSON merge patch, to the contents of a version older than a rule. Call
 * this before the plan is used.
 */
export async function storeOlderPlan({ organizationId }: Tenant, patch: object): Promise<void> {
  await bindings.DB.prepare(
    "UPDATE plan_versions SET content = json_patch(content, ?) WHERE organization_id = ? AND plan_id = 'test'",
  )
    .bind(JSON.stringify(patch), organizationId)
    .run();
}
