/**
 * Promise: an acknowledged write survives kill -9, and a retry of what was not acknowledged counts once.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer } from '../../src/cli/server.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { type LocalServer, type PreparedState, preparedState, startPrepared, until } from './local-server.ts';

const CUSTOMERS = 5;
const CALLS = 400;
const WORKERS = 20;

let state: PreparedState;
let server: LocalServer;
let tenant: Tenant;
beforeAll(async () => {
  state = await preparedState();
  server = await startPrepared(state);
  tenant = await createTenant(server.operator, { name: 'Load', limitType: 'NONE' });
});
afterAll(() => server.stop());

const customerOf = (call: number) => `customer-${call % CUSTOMERS}`;
const idOf = (call: number) => `call-${call}`;

/** Begins and ends one call; true when the end was acknowledged. */
async function meter(call: number): Promise<boolean> {
  const begin = { body: { customerId: customerOf(call) }, headers: { 'Idempotency-Key': idOf(call) } };
  const end = {
    body: { callId: idOf(call), modelUsed: 'gpt-4o-mini', inputTokens: 100, responseTokens: 10 },
    headers: { 'Idempotency-Key': idOf(call) },
  };
  try {
    if ((await tenant.api.send('beginCall', begin)).status !== 200) return false;
    return (await tenant.api.send('endCall', end)).status === 200;
  } catch {
    return false; // the connection went with the server
  }
}

/** Meters the calls with a bounded number of workers; calls `onProgress` after each. Returns the acknowledged ones. */
async function load(calls: number[], onProgress: (acknowledged: number) => void): Promise<Set<number>> {
  const queue = [...calls];
  const acknowledged = new Set<number>();
  const work = async () => {
    for (let call = queue.shift(); call !== undefined; call = queue.shift()) {
      if (await meter(call)) acknowledged.add(call);
      onProgress(acknowledged.size);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return acknowledged;
}

test('a kill under load: each answered call is recorded, and unanswered ones leave no reservation', async () => {
  const killed = await preparedState();
  let running = await startPrepared(killed);
  const { organizationId, api } = await createTenant(running.operator, { name: 'Made', limitType: 'NONE' });
  const body = { customerId: 'made', usage: { modelUsed: 'gpt-4o-mini', inputTokens: 100, responseTokens: 10 } };
  await api.send('makeCall', { body });
  const answered = new Set<string>();
  let kill: Promise<void> | undefined;
  const work = async () => {
    for (let call = 0; call < CALLS && !kill; call += 1) {
      const made = await api.send('makeCall', { body }).catch(() => undefined);
      if (made?.status !== 200) return;
      answered.add(made.data.begin.callId);
      if (answered.size >= 150) kill ??= running.kill();
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await kill;
  running = await startPrepared(killed);
  for (const callId of answered)
    expect((await api.send('readCall', { params: { callId } })).data.status).toBe('COMPLETED');
  const params = { org: organizationId, customerId: 'made' };
  const read = async () => (await running.operator.send('readCustomer', { params })).data;
  await until(async () => (await read()).outbox.pending === 0);
  const { meters, openCalls } = await read();
  await running.stop();
  const reader = await startServer({ ...killed, vars: {} });
  const completed = await reader.db
    .prepare(`SELECT COUNT(*) AS calls FROM calls WHERE organization_id = ? AND status = 'COMPLETED'`)
    .bind(organizationId)
    .first<{ calls: number }>();
  await reader.stop();
  // Of those that were not answered, some had been recorded.
  expect(completed?.calls).toBeGreaterThanOrEqual(answered.size + 1);
  expect(completed?.calls).toBeLessThanOrEqual(answered.size + 1 + WORKERS);
  expect(meters.standardCalls?.used).toBe((completed?.calls ?? 0) + openCalls);
});

test('two kills under load: every acknowledged call is recorded once, in the object and in D1', async () => {
  const all = Array.from({ length: CALLS }, (_, call) => call);
  let waiting = all;
  for (const killAt of [60, 120]) {
    let killed: Promise<void> | undefined;
    const acknowledged = await load(waiting, (count) => {
      if (count >= killAt) killed ??= server.kill();
    });
    await killed;
    expect(killed, 'the server was killed in mid-load').toBeDefined();
    expect(acknowledged.size).toBeLessThan(waiting.length);
    server = await startPrepared(state);
    for (const call of acknowledged) {
      expect((await tenant.api.send('readCall', { params: { callId: idOf(call) } })).data.status).toBe('COMPLETED');
    }
    waiting = waiting.filter((call) => !acknowledged.has(call));
  }
  const acknowledged = await load(waiting, () => undefined);
  expect(acknowledged.size).toBe(waiting.length);

  for (let customer = 0; customer < CUSTOMERS; customer += 1) {
    const { meters } = (await tenant.api.send('readUsage', { params: { customerId: customerOf(customer) } })).data;
    expect(meters.standardCalls?.used).toBe(CALLS / CUSTOMERS);
    expect(meters.standardTokens?.used).toBe((CALLS / CUSTOMERS) * 10);
    await until(async () => {
      const params = { org: tenant.organizationId, customerId: customerOf(customer) };
      return (await server.operator.send('readCustomer', { params })).data.outbox.pending === 0;
    });
  }
  await server.stop();
  const reader = await startServer({ ...state, vars: {} });
  const { results } = await reader.db
    .prepare('SELECT call_id, status, cost_nano_usd FROM calls WHERE organization_id = ? ORDER BY call_id')
    .bind(tenant.organizationId)
    .all();
  await reader.stop();
  expect(results).toEqual(
    all
      .map((call) => ({ call_id: idOf(call), status: 'COMPLETED', cost_nano_usd: 21_000 }))
      .sort((a, b) => (a.call_id < b.call_id ? -1 : 1)),
  );
});
