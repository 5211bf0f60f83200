/**
 * The archive under test: its real bucket, a failing one, and their contents.
 */
import { runInDurableObject } from 'cloudflare:test';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { HistoryDay } from '../../src/history/archive/days.ts';
import { readManifest } from '../../src/history/archive/manifest.ts';
import { createTenant, type Tenant } from './api.ts';
import { bindings, customerStub, deliverToD1, operator } from './worker.ts';

const DAY_MS = 86_400_000;

if (!bindings.ARCHIVE) throw new Error('the tests have an archive');
export const bucket: R2Bucket = bindings.ARCHIVE;

export const daysLater = (days: number) => Date.now() + days * DAY_MS;

export const today = ({ organizationId }: Tenant): HistoryDay => ({
  organizationId,
  dayMs: Math.floor(Date.now() / DAY_MS) * DAY_MS,
});

export async function stateOfDay(tenant: Tenant): Promise<string | undefined> {
  const { organizationId, dayMs } = today(tenant);
  const sql = 'SELECT state FROM history_days WHERE organization_id = ? AND day_ms = ?';
  return (await bindings.DB.prepare(sql).bind(organizationId, dayMs).first<{ state: string }>())?.state;
}

/** Today's object, unpacked as a whole. */
const archivedText = (tenant: Tenant) => textOfDay(today(tenant));

export async function textOfDay(day: HistoryDay): Promise<string> {
  const manifest = await readManifest(bindings, day);
  const object = await bucket.get(`${day.organizationId}/${manifest?.day}/${manifest?.object}`);
  if (!object) throw new Error('the archive has no such day');
  return gunzipSync(new Uint8Array(await object.arrayBuffer())).toString();
}

/** The bucket, with a method that fails from its nth call on. */
export function failingBucket(method: 'put' | 'get' | 'list' | 'delete', nth: number): R2Bucket {
  let calls = 0;
  return new Proxy(bucket, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name === method) calls += 1;
        if (name === method && calls >= nth) throw new Error(`${method} failed`);
        return value.apply(target, given);
      };
    },
  });
}

const PLAN = {
  name: 'P',
  limitType: 'NONE',
  customMeters: { CUSTOM1: { label: 'units', included: 5, overage: { model: 'SINGLE', priceUsd: '0.02', per: '10' } } },
};
const USAGE = { modelUsed: 'gpt-4o-mini', inputTokens: 1_000, responseTokens: 500 };

export const newTenant = () => createTenant(operator, PLAN);

/** Calls of a customer, with these keys or without one, an increment and a credit, all in D1. Returns the call ids. */
export async function used(
  tenant: Tenant,
  customerId: string,
  keys: readonly (string | null)[] = [null],
): Promise<string[]> {
  const callIds: string[] = [];
  for (const key of keys) {
    const headers: Record<string, string> = key === null ? {} : { 'Idempotency-Key': key };
    const body = { customerId, feature: `of ${customerId}` };
    const { callId } = (await tenant.api.send('beginCall', { body, headers })).data;
    expect((await tenant.api.send('endCall', { body: { callId, ...USAGE } })).status).toBe(200);
    callIds.push(callId);
  }
  await tenant.api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 2 } });
  await operator.send('grantCredit', {
    params: { org: tenant.organizationId, customerId },
    body: { kind: 'USD', amountUsd: '1' },
  });
  await deliverToD1(tenant.organizationId, customerId);
  return callIds;
}

/** The customer's object has no calls any more, as after some days. */
export const forgetCalls = ({ organizationId }: Tenant, customerId: string) =>
  runInDurableObject(customerStub(organizationId, customerId), (_, { storage }) => {
    storage.sql.exec('DELETE FROM calls');
  });

/** Today's rows in the archive. */
export async function archivedLines(tenant: Tenant) {
  const lines = (await archivedText(tenant)).split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** A run whose time is up after that many questions. */
export function timeUpAfter(times: number): () => boolean {
  let asked = 0;
  return () => {
    asked += 1;
    return asked > times;
  };
}
