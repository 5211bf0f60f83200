/**
 * Promise: while D1 fails, begins and ends go on; afterwards D1 has every call.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { type LocalServer, openD1, type PreparedState, preparedState, startPrepared, until } from './local-server.ts';

const OUTAGE_MS = 6_000;
const CUSTOMERS = 4;

let state: PreparedState;
let server: LocalServer;
let tenant: Tenant;
beforeAll(async () => {
  state = await preparedState();
  server = await startPrepared(state);
  tenant = await createTenant(server.operator, { name: 'Load', limitType: 'NONE' });
});
afterAll(() => server.stop());

test('a locked D1 stops no call, and every call is in D1 after it recovers', async () => {
  await tenant.api.send('provisionCustomer', { body: { customerId: 'warm' } });
  const d1 = await openD1(state);
  d1.exec('BEGIN EXCLUSIVE');
  const ids: string[] = [];
  for (const endAtMs = Date.now() + OUTAGE_MS; Date.now() < endAtMs; ) {
    const callId = `outage-${ids.length}`;
    const body = { customerId: `customer-${ids.length % CUSTOMERS}` };
    expect((await tenant.api.send('beginCall', { body, headers: { 'Idempotency-Key': callId } })).status).toBe(200);
    expect(
      (await tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', responseTokens: 1 } })).status,
    ).toBe(200);
    ids.push(callId);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect((await server.operator.send('readHealth')).data.status).toBe('degraded');
  const { status, refusal, headers } = await tenant.api.send('listCustomers', { query: { search: 'warm' } });
  expect([status, refusal.code, headers.get('Retry-After')]).toEqual([503, 'SERVICE_UNAVAILABLE', '1']);
  d1.exec('ROLLBACK');

  const recorded = () => {
    const rows = d1
      .prepare(`SELECT call_id FROM calls WHERE call_id LIKE 'outage-%' AND status = 'COMPLETED'`)
      .all() as {
      call_id: string;
    }[];
    return rows.map(({ call_id }) => call_id).sort();
  };
  await until(() => recorded().length >= ids.length);
  expect(recorded()).toEqual(ids.toSorted());
  d1.close();
  await until(async () => (await server.operator.send('readHealth')).data.status === 'ok');
});
