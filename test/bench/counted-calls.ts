/**
 * Calls against the service that counts (counting-worker.ts): each is begun under a key, as the client library does, and
 * ended later.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bundle } from '../../src/cli/bundle.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import type { Connection } from './load.ts';
import type { TenantKey } from './service.ts';

export const COUNTING: Bundle = { script: 'test/bench/counting-worker.ts', folder: 'counting' };
/** Shorter than the wait of changes before their hand-over. */
export const SHORT_MS = 400;
/** After the last request, everything has reached D1 by then; in a short run perhaps not, because nobody looks. */
export const restMs = (short: boolean) => (short ? 500 : 5_000);

export interface Caller {
  url: string;
  tenant: TenantKey;
  connection: Connection;
}

export async function call(
  { url, tenant, connection }: Caller,
  customerId: string,
  { feature = 'chat', ms = SHORT_MS } = {},
): Promise<void> {
  const headers = { Authorization: `Bearer ${tenant.key}`, Accept: MEDIA_TYPE, 'Content-Type': 'application/json' };
  const post = async (path: string, body: object): Promise<{ data: { callId: string } }> => {
    const keyed = { ...headers, 'Idempotency-Key': crypto.randomUUID() };
    return JSON.parse(
      await connection.send(`${url}${path}`, { method: 'POST', headers: keyed, body: JSON.stringify(body) }),
    );
  };
  const { callId } = (await post('/call_begin', { customerId, feature })).data;
  await sleep(ms);
  await post('/call_end', { callId, modelUsed: 'gpt-4o', inputTokens: 1_200, responseTokens: 300 });
}

export const customerName = (index: number) => `customer-${index}`;

/** Calls at the same time, the next customer for each. */
export async function callsTogether(
  caller: Caller,
  calls: number,
  { customer = customerName, ms = SHORT_MS }: { customer?: (index: number) => string; ms?: number } = {},
): Promise<void> {
  await Promise.all(Array.from({ length: calls }, (_, index) => call(caller, customer(index), { ms })));
}
