/**
 * Promise: an acknowledged write survives kill -9, and a retry of an unacknowledged one counts once: calls, the events
 * of used-up limits, and reversals. While D1 fails, begins and ends go on; afterwards D1 has every call.
 *
 * The loads have organizations of their own on one server, which is killed under them and started again.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { type LocalServer, openD1, type PreparedState, preparedState, startPrepared, until } from './local-server.ts';

const CUSTOMERS = Array.from({ length: 5 }, (_, customer) => `customer-${customer}`);
const CALLS_EACH = 80;
const CALLS = CUSTOMERS.length * CALLS_EACH;
const WORKERS = 20;
/** After this many of the remaining calls: the second time, the customers have used up about half. */
const KILL_AT = [60, 140];
/** The plan that the calls use up. */
const PLAN = { name: 'Load', limitType: 'BLOCK', limits: { standardCalls: CALLS_EACH } };

const OUTAGE_MS = 6_000;

const REVERSIBLE = 60;
const INCREMENTS = 10;
const MISTAKES = 40;
const MISTAKES_KILL_AT = 15;
const CREDIT = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: {
      label: 'Pages',
      included: 30,
      funding: { payg: true },
      overage: { model: 'SINGLE', priceUsd: '0.001', per: '1' },
    },
  },
};

let state: PreparedState;
let server: LocalServer;
let tenant: Tenant;
beforeAll(async () => {
  state = await preparedState();
  server = await startPrepared(state);
  tenant = await createTenant(server.operator, PLAN);
});
afterAll(() => server.stop());

const pickCustomer = (call: number) => CUSTOMERS[call % CUSTOMERS.length];
const callId = (call: number) => `call-${call}`;

/** Begins and ends one call; true when the end was acknowledged. */
async function meter(call: number): Promise<boolean> {
  const begin = { body: { customerId: pickCustomer(call) }, headers: { 'Idempotency-Key': callId(call) } };
  const end = {
    body: { callId: callId(call), modelUsed: 'gpt-4o-mini', inputTokens: 100, responseTokens: 10 },
    headers: { 'Idempotency-Key': callId(call) },
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
  const { organizationId, api } = await createTenant(server.operator, { name: 'Made', limitType: 'NONE' });
  const body = { customerId: 'made', usage: { modelUsed: 'gpt-4o-mini', inputTokens: 100, responseTokens: 10 } };
  await api.send('makeCall', { body });
  const answered = new Set<string>();
  let kill: Promise<void> | undefined;
  const work = async () => {
    for (let call = 0; call < CALLS && !kill; call += 1) {
      const made = await api.send('makeCall', { body }).catch(() => undefined);
      if (made?.status !== 200) return;
      answered.add(made.data.begin.callId);
      if (answered.size >= 150) kill ??= server.kill();
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await kill;
  server = await startPrepared(state);
  for (const callId of answered)
    expect((await api.send('readCall', { params: { callId } })).data.status).toBe('COMPLETED');
  const params = { org: organizationId, customerId: 'made' };
  const read = async () => (await server.operator.send('readCustomer', { params })).data;
  await until(async () => (await read()).outbox.pending === 0);
  const { meters, openCalls } = await read();
  using d1 = await openD1(state);
  const completed = () =>
    d1
      .prepare(`SELECT COUNT(*) AS calls FROM calls WHERE organization_id = ? AND status = 'COMPLETED'`)
      .get(organizationId)?.calls as number;
  await until(() => completed() > answered.size);
  // Among the unanswered calls, some had been recorded.
  expect(completed()).toBeLessThanOrEqual(answered.size + 1 + WORKERS);
  expect(meters.standardCalls?.used).toBe(completed() + openCalls);
});

test('two kills under load: every acknowledged call is recorded once, in the object and in D1', async () => {
  const all = Array.from({ length: CALLS }, (_, call) => call);
  let waiting = all;
  for (const killAt of KILL_AT) {
    let killed: Promise<void> | undefined;
    const acknowledged = await load(waiting, (count) => {
      if (count >= killAt) killed ??= server.kill();
    });
    await killed;
    expect(killed, 'the server was killed in mid-load').toBeDefined();
    expect(acknowledged.size).toBeLessThan(waiting.length);
    server = await startPrepared(state);
    for (const call of acknowledged) {
      expect((await tenant.api.send('readCall', { params: { callId: callId(call) } })).data.status).toBe('COMPLETED');
    }
    waiting = waiting.filter((call) => !acknowledged.has(call));
  }
  const acknowledged = await load(waiting, () => undefined);
  expect(acknowledged.size).toBe(waiting.length);

  for (const customerId of CUSTOMERS) {
    const { meters } = (await tenant.api.send('readUsage', { params: { customerId } })).data;
    expect(meters.standardCalls?.used).toBe(CALLS_EACH);
    expect(meters.standardTokens?.used).toBe(CALLS_EACH * 10);
    const params = { org: tenant.organizationId, customerId };
    await until(async () => (await server.operator.send('readCustomer', { params })).data.outbox.pending === 0);
  }
  using d1 = await openD1(state);
  const recorded = () =>
    d1
      .prepare('SELECT call_id, status, cost_nano_usd FROM calls WHERE organization_id = ? ORDER BY call_id')
      .all(tenant.organizationId);
  await until(() => recorded().length >= CALLS);
  expect(recorded()).toEqual(
    all
      .map((call) => ({ call_id: callId(call), status: 'COMPLETED', cost_nano_usd: 21_000 }))
      .sort((a, b) => (a.call_id < b.call_id ? -1 : 1)),
  );
});

test('each threshold is told once, although the server is killed while calls end', async () => {
  for (const customerId of CUSTOMERS) {
    // The events of the load above, which has used up the whole plan.
    const told = async () => (await tenant.api.send('readEvents', { query: { customerId } })).data.items.toReversed();
    await until(async () => (await told()).length >= 4);
    expect((await told()).map(({ type, data }) => [type, 'crossed' in data ? data.crossed : null])).toEqual([
      ['customer.created', null],
      ['meter.threshold_reached', [50]],
      ['meter.threshold_reached', [80]],
      ['meter.threshold_reached', [100]],
    ]);
  }
});

test('reversals that were cut off by a kill are made once when they are sent again', async () => {
  const { organizationId, api } = await createTenant(server.operator, CREDIT);
  const customerId = 'ann';
  const params = { org: organizationId, customerId };
  const read = async () => (await server.operator.send('readCustomer', { params })).data;
  await api.send('provisionCustomer', { body: { customerId } });
  await server.operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '100' } });

  const calls: string[] = [];
  for (let call = 0; call < REVERSIBLE; call += 1) {
    const { callId } = (
      await api.send('beginCall', {
        body: { customerId, requested: { premium: true }, idempotencyKey: `call-${call}` },
      })
    ).data;
    // 0.0075 USD, with the markup 0.009.
    await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 } });
    calls.push(callId);
  }
  const events: string[] = [];
  for (let event = 0; event < INCREMENTS; event += 1)
    events.push(
      (await api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 5 } })).data.eventId,
    );

  const body = { reason: 'a test' };
  const mistakes = [
    ...calls.slice(0, MISTAKES).map((callId) => () => api.send('reverseCall', { params: { callId }, body })),
    ...events
      .slice(0, 3)
      .map((eventId) => () => api.send('reverseMeterEvent', { params: { eventId }, body: { ...body, customerId } })),
  ];
  let acknowledged = 0;
  let killed: Promise<void> | undefined;
  const queue = [...mistakes];
  const work = async () => {
    for (let next = queue.shift(); next && !killed; next = queue.shift()) {
      const answer = await next().catch(() => undefined);
      if (answer?.status === 200) acknowledged += 1;
      if (acknowledged >= MISTAKES_KILL_AT) killed ??= server.kill();
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await killed;
  expect(killed, 'the server was killed in between').toBeDefined();

  server = await startPrepared(state);
  const replayed = [];
  for (const send of mistakes) {
    const answer = await send();
    expect(answer.status).toBe(200);
    if (answer.headers.get('Idempotency-Replayed') === 'true') replayed.push(answer);
  }
  expect(replayed.length).toBeGreaterThanOrEqual(acknowledged);
  await until(async () => {
    const { wallet, outbox } = await read();
    return wallet.openCharges === 0 && outbox.pending === 0;
  });
  const { wallet, meters } = await read();
  // 20 calls at 0.009, and 35 of 50 units: 30 are included, 5 at 0.001.
  expect(wallet).toMatchObject({ balanceUsd: '99.815', unsettledUsd: '0', heldUsd: '0' });
  expect(meters.customMeter1).toMatchObject({ used: 30 });
  await until(async () => (await api.send('readUsageSummary')).data.totals.calls === REVERSIBLE - MISTAKES);
});

test('a locked D1 stops no call, and every call is in D1 after it recovers', async () => {
  const { organizationId, api } = await createTenant(server.operator, { name: 'Load', limitType: 'NONE' });
  await api.send('provisionCustomer', { body: { customerId: 'warm' } });
  using d1 = await openD1(state);
  d1.exec('BEGIN EXCLUSIVE');
  const ids: string[] = [];
  for (const endAtMs = Date.now() + OUTAGE_MS; Date.now() < endAtMs; ) {
    const callId = `outage-${ids.length}`;
    const body = { customerId: pickCustomer(ids.length) };
    expect((await api.send('beginCall', { body, headers: { 'Idempotency-Key': callId } })).status).toBe(200);
    expect((await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', responseTokens: 1 } })).status).toBe(200);
    ids.push(callId);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect((await server.operator.send('readHealth')).data.status).toBe('degraded');
  const { status, refusal, headers } = await api.send('listCustomers', { query: { search: 'warm' } });
  expect([status, refusal.code, headers.get('Retry-After')]).toEqual([503, 'SERVICE_UNAVAILABLE', '1']);
  d1.exec('ROLLBACK');

  const recorded = () =>
    d1
      .prepare(`SELECT call_id FROM calls WHERE organization_id = ? AND status = 'COMPLETED' ORDER BY call_id`)
      .all(organizationId)
      .map(({ call_id }) => call_id);
  await until(() => recorded().length >= ids.length);
  expect(recorded()).toEqual(ids.toSorted());
  await until(async () => (await server.operator.send('readHealth')).data.status === 'ok');
});
