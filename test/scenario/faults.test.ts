/**
 * Promise: whatever breaks between the service and its bindings, a client that repeats its keyed requests gets each of
 * them done once; and a request that the service itself repeats is done once too.
 */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { randomFrom } from '../crash/random.ts';
import { type Api, createTenant, type Reply, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';
import { type Binding, type Fault, type Faults, faultyApi } from './faulty-bindings.ts';

const ATTEMPTS_MAX = 60;
const SEED = 20_261_120;

let tenant: Tenant;
let key: string;
beforeAll(async () => {
  const plan = {
    name: 'Faults',
    limitType: 'NONE',
    customMeters: { CUSTOM1: { label: 'units', included: 1_000, funding: { credits: true, payg: false } } },
  };
  tenant = await createTenant(operator, plan);
  await operator.send('putPlan', {
    params: { org: tenant.organizationId, planId: 'other' },
    body: { ...plan, name: 'Other' },
  });
  ({ key } = (
    await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'faults' } })
  ).data);
});

/** Sends until it is done. Meanwhile only retryable answers come, in their envelope. */
async function insist<Answer extends Reply<never>>(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const answer = await send();
    if (answer.status < 500) return answer;
    expect(['INTERNAL_ERROR', 'SERVICE_UNAVAILABLE']).toContain(answer.refusal.code);
    expect(JSON.stringify(answer.body)).not.toMatch(/connection broke| at \w|\.ts:/);
  }
  throw new Error('it never got through');
}

/** A customer's whole story under faults, with keys. */
async function story(api: Api, faultyOperator: Api, customerId: string): Promise<void> {
  const { organizationId } = tenant;
  const keyed = (name: string) => ({ 'Idempotency-Key': `${customerId}-${name}` });
  const done = async (send: () => Promise<Reply<never>>) => expect((await insist(send)).status).toBe(200);
  await done(
    () => api.send('provisionCustomer', { body: { customerId }, headers: keyed('new') }) as Promise<Reply<never>>,
  );
  for (let n = 0; n < 6; n += 1) {
    const callId = `${customerId}-call-${n}`;
    await done(
      () =>
        api.send('beginCall', { body: { customerId }, headers: { 'Idempotency-Key': callId } }) as Promise<
          Reply<never>
        >,
    );
    const body = { callId, modelUsed: 'gpt-4o-mini', inputTokens: 100, responseTokens: 10 };
    await done(() => api.send('endCall', { body, headers: { 'Idempotency-Key': callId } }) as Promise<Reply<never>>);
    const units = { customerId, meterSlot: 'CUSTOM1', amount: 5 };
    await done(
      () => api.send('incrementMeter', { body: units, headers: keyed(`units-${n}`) }) as Promise<Reply<never>>,
    );
  }
  const change = {
    params: { customerId },
    body: { planId: 'other', strategy: 'IMMEDIATE_PRORATED' },
    headers: keyed('change'),
  };
  await done(() => api.send('changePlan', change) as Promise<Reply<never>>);
  const grant = {
    params: { org: organizationId, customerId },
    body: { kind: 'METER', meterSlot: 'CUSTOM1', units: 7 },
    headers: keyed('grant'),
  };
  await done(() => faultyOperator.send('grantCredit', grant) as Promise<Reply<never>>);
}

/** The result that the story must have, read without faults. */
async function expectOnce(customerId: string): Promise<void> {
  const { organizationId } = tenant;
  const read = async () => (await operator.send('readCustomer', { params: { org: organizationId, customerId } })).data;
  for (let round = 0; (await read()).outbox.pending > 0; round += 1) {
    if (round > 100) throw new Error('the outbox does not drain');
    await deliverToD1(organizationId, customerId);
  }
  const customer = await read();
  expect(customer).toMatchObject({ openCalls: 0, subscription: { planName: 'Other', subscriptionVersion: 2 } });
  expect(customer.meters.standardCalls?.used).toBe(6);
  expect(customer.meters.standardTokens?.used).toBe(60);
  expect(customer.meters.customMeter1?.used).toBe(30);
  expect(customer.wallet.units.CUSTOM1).toBe(7);
  const ids = async (sql: string) =>
    (await bindings.DB.prepare(sql).bind(organizationId, customerId).all<{ id: string }>()).results.map(({ id }) => id);
  const calls = await ids(
    `SELECT call_id AS id FROM calls WHERE organization_id = ? AND customer_id = ? AND status = 'COMPLETED' ORDER BY id`,
  );
  expect(calls).toEqual(Array.from({ length: 6 }, (_, n) => `${customerId}-call-${n}`));
  expect(
    await ids('SELECT event_id AS id FROM meter_events WHERE organization_id = ? AND customer_id = ?'),
  ).toHaveLength(6);
  expect(
    await ids('SELECT entry_id AS id FROM credit_entries WHERE organization_id = ? AND customer_id = ?'),
  ).toHaveLength(1);
}

describe('a client that retries unanswered requests', () => {
  const bindingsWithFaults: Binding[] = ['DB', 'KV', 'CUSTOMERS', 'CALL_DIRECTORY'];
  const kinds: Fault[] = ['throws', 'waits', 'commits and throws'];
  test.each(bindingsWithFaults.flatMap((binding) => kinds.map((fault) => ({ binding, fault }))))(
    'gets everything done once where $binding $fault',
    async ({ binding, fault }) => {
      const random = randomFrom(SEED);
      const faults: Faults = (on) => (on === binding && random.chance(0.35) ? fault : null);
      const customerId = `${binding} ${fault}`.replaceAll(' ', '-');
      await story(faultyApi(faults, key), faultyApi(faults, OPERATOR_KEY), customerId);
      await expectOnce(customerId);
    },
  );

  test('has each effect once under every kind of fault', async () => {
    const random = randomFrom(SEED + 1);
    const faults: Faults = () => (random.chance(0.15) ? random.pick(kinds) : null);
    await story(faultyApi(faults, key), faultyApi(faults, OPERATOR_KEY), 'everything');
    await expectOnce('everything');
  });
});

const OPERATOR_KEY = 'test-operator-token-of-at-least-32-characters';

/** The first answer of the named command is lost after the object did its work. */
function losesFirstAnswerOf(command: string): Faults {
  let lost = false;
  return (binding, operation) => {
    if (lost || binding !== 'CUSTOMERS' || operation !== command) return null;
    lost = true;
    return 'commits and throws';
  };
}

describe('a command that the service retries by itself, without a key of the client', () => {
  const inspect = async (customerId: string) =>
    (await operator.send('readCustomer', { params: { org: tenant.organizationId, customerId } })).data;

  test('an increment counts once', async () => {
    await tenant.api.send('provisionCustomer', { body: { customerId: 'keyless-units' } });
    const api = faultyApi(losesFirstAnswerOf('increment'), key);
    const { data } = await api.send('incrementMeter', {
      body: { customerId: 'keyless-units', meterSlot: 'CUSTOM1', amount: 3 },
    });
    expect(data.meter.used).toBe(3);
    expect((await inspect('keyless-units')).meters.customMeter1?.used).toBe(3);
  });

  test('a credit is granted once', async () => {
    await tenant.api.send('provisionCustomer', { body: { customerId: 'keyless-credit' } });
    const params = { org: tenant.organizationId, customerId: 'keyless-credit' };
    const body = { kind: 'USD', amountUsd: '5' };
    const { data } = await faultyApi(losesFirstAnswerOf('grant'), OPERATOR_KEY).send('grantCredit', { params, body });
    expect(data.balanceUsd).toBe('5');
    expect((await inspect('keyless-credit')).wallet.balanceUsd).toBe('5');
  });

  test('a replenishment starts one cycle', async () => {
    await tenant.api.send('provisionCustomer', { body: { customerId: 'keyless-cycle' } });
    const { data } = await faultyApi(losesFirstAnswerOf('replenish'), key).send('replenishCustomer', {
      params: { customerId: 'keyless-cycle' },
      body: {},
    });
    expect(data.subscription.subscriptionVersion).toBe(2);
  });

  test('a begin is one call', async () => {
    const { data } = await faultyApi(losesFirstAnswerOf('begin'), key).send('beginCall', {
      body: { customerId: 'keyless-begin' },
    });
    expect(data.callId).toMatch(/^dk-/);
    expect((await inspect('keyless-begin')).openCalls).toBe(1);
  });

  test.each([{}, { 'Idempotency-Key': 'opened-once' }])(
    'a service call begins once, and the vendor is asked once: %o',
    async (headers) => {
      const body = { customerId: 'opened', usage: { modelUsed: 'gpt-4o-mini', inputTokens: 10, responseTokens: 1 } };
      const reply = await faultyApi(losesFirstAnswerOf('beginServiceCall'), key).send('makeCall', {
        body,
        headers: headers as Record<string, string>,
      });
      expect(reply.data.end).toMatchObject({ status: 'COMPLETED' });
      expect(await inspect('opened')).toMatchObject({ openCalls: 0 });
    },
  );
});

describe('a vendor that breaks', () => {
  const url = 'https://vendor.example.com/v1/chat/completions';
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] };
  const answer = { model: 'gpt-4o-mini', choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } };

  const ways: [string, (init: RequestInit) => Promise<Response>, { status: number; pricingStatus: string }][] = [
    ['cannot be reached', () => Promise.reject(new TypeError('no route')), { status: 502, pricingStatus: 'FINAL' }],
    [
      'does not answer in time',
      (init) =>
        new Promise((_, reject) =>
          init.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true }),
        ),
      { status: 504, pricingStatus: 'FINAL' },
    ],
    [
      'does the work, and breaks the connection in its answer',
      async () =>
        new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(new TextEncoder().encode(JSON.stringify(answer).slice(0, 30)));
              controller.error(new Error('reset'));
            },
          }),
          { headers: { 'Content-Type': 'application/json' } },
        ),
      { status: 502, pricingStatus: 'FINAL' },
    ],
  ];

  test.each(ways)('%s: the call ends FAILED, and a retry asks no vendor', async (way, fault, expected) => {
    const asked = vi.spyOn(globalThis, 'fetch').mockImplementation((_, init) => fault(init as RequestInit));
    try {
      const api = faultyApi(() => null, key);
      const customerId = 'vendor';
      const headers = { 'Idempotency-Key': `vendor ${way}`.replaceAll(/[ ,]+/g, '-') };
      const request = { body: { customerId, vendor: { url, provider: 'openai', body, timeoutMs: 200 } }, headers };
      const { data } = await api.send('makeCall', request);
      expect(data.end).toMatchObject({ status: 'FAILED', pricingStatus: expected.pricingStatus });
      expect(data.vendor).toMatchObject({ ok: false, status: expected.status });
      const again = await api.send('makeCall', request);
      expect(again.headers.get('Idempotency-Replayed')).toBe('true');
      expect(again.data).toEqual(data);
      expect(asked).toHaveBeenCalledTimes(1);
    } finally {
      asked.mockRestore();
    }
  });
});
