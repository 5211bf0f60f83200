/**
 * Promise: two organizations that use the same names for customers, calls, keys and samples never meet. Nothing that
 * one sends, right or broken, shows or changes anything of the other, and another's object is refused in the same bytes
 * as a missing one.
 */
import { runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { randomFrom } from '../crash/random.ts';
import { fuzzRequest, type Targets } from '../fuzz/requests.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { bindings, customerStub, operator, worker } from '../support/worker.ts';

const REQUESTS = 800;
const CONCURRENCY = 8;
const seed = Math.floor(Math.random() * 2 ** 31);
const CUSTOMERS = ['same', 'twin'];
const MARK = 'only-theirs';
const PLAN = {
  name: 'Same',
  limitType: 'NONE',
  customMeters: { CUSTOM1: { label: 'units', included: 10, funding: { credits: true, payg: false } } },
};

interface Party extends Tenant {
  key: string;
}

async function createParty(): Promise<Party> {
  const tenant = await createTenant(operator, PLAN);
  const { key } = (
    await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'party' } })
  ).data;
  return { ...tenant, key };
}

/** Everything that a party has under names that the other one uses too. */
async function furnish({ api, organizationId }: Party, mark: string): Promise<void> {
  for (const customerId of CUSTOMERS) {
    await api.send('provisionCustomer', {
      body: { customerId, customerName: mark, customerEmail: `${mark}@example.com` },
    });
    const params = { org: organizationId, customerId };
    await operator.send('grantCredit', {
      params,
      body: { kind: 'METER', meterSlot: 'CUSTOM1', units: 5, reference: mark },
    });
    const callId = `call-${customerId}`;
    await api.send('beginCall', {
      body: { customerId, feature: mark, tags: [mark] },
      headers: { 'Idempotency-Key': callId },
    });
    await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 7, responseTokens: 3 } });
    await api.send('incrementMeter', {
      body: { customerId, meterSlot: 'CUSTOM1', amount: 2, feature: mark },
      headers: { 'Idempotency-Key': 'key' },
    });
    await api.send('storeSample', {
      body: { sampleId: `sample-${customerId}`, customerId, provider: 'openai', input: mark },
    });
  }
}

async function send(
  key: string,
  path: string,
  init: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  const headers = {
    Authorization: `Bearer ${key}`,
    Accept: MEDIA_TYPE,
    'Content-Type': 'application/json',
    ...init.headers,
  };
  return worker.fetch(`https://callmeter.test${path}`, { ...init, headers } as never) as unknown as Promise<Response>;
}

/** Every row of an organization, in D1 and in its customers' objects. */
async function belongingsOf({ organizationId }: Tenant): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  const { results: tables } = await bindings.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%organization_id%'`,
  ).all<{ name: string }>();
  for (const { name } of tables) {
    const { results } = await bindings.DB.prepare(`SELECT * FROM "${name}" WHERE organization_id = ?`)
      .bind(organizationId)
      .all();
    found[`D1 ${name}`] = results.map((row) => JSON.stringify(row)).sort();
  }
  for (const customerId of CUSTOMERS) {
    const rows = await runInDurableObject(customerStub(organizationId, customerId), (_, { storage }) => {
      const names = storage.sql.exec<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table'`).toArray();
      const own = names
        .map(({ name }) => name)
        .filter((name) => !name.startsWith('_cf_') && !name.startsWith('sqlite_'));
      return own.map((name) => `${name} ${JSON.stringify(storage.sql.exec(`SELECT * FROM "${name}"`).toArray())}`);
    });
    found[`object of ${customerId}`] = rows;
  }
  return found;
}

/** Until D1 has everything of the organization. */
async function settled({ organizationId }: Tenant): Promise<void> {
  for (const customerId of CUSTOMERS) {
    for (let round = 0; ; round += 1) {
      const { outbox } = (await operator.send('readCustomer', { params: { org: organizationId, customerId } })).data;
      if (outbox.pending === 0) break;
      if (round > 200) throw new Error('the outbox does not drain');
      await scheduler.wait(50);
    }
  }
}

/** An answer without the parts that only concern the request. */
async function wholeAnswer(response: Response): Promise<string> {
  const headers = [...response.headers]
    .filter(([name]) => name !== 'x-usage-correlation-id' && name !== 'x-request-id')
    .sort();
  const text = (await response.text())
    .replace(/"correlationId":"[^"]*"/, '"correlationId":""')
    .replace(/"timestamp":"[^"]*"/, '"timestamp":""');
  return JSON.stringify([response.status, headers, text]);
}

describe('what belongs to another organization', () => {
  test('is refused with the same bytes as something that does not exist', async () => {
    const [theirs, ours] = [await createParty(), await createParty()];
    const json = (body: object) => ({ method: 'POST', body: JSON.stringify(body) });
    const org = `/operator/organizations/${ours.organizationId}`;
    const ask = (callId: string): (() => Promise<Response>)[] => [
      () => send(ours.key, `/calls/${callId}`),
      () => send(ours.key, '/call_end', json({ callId, responseTokens: 1 })),
      () =>
        send(
          ours.key,
          '/compress_prompt',
          json({
            callId,
            promptCompression: { provider: 'toon', originalTokens: 2, compressedTokens: 1, techniques: [] },
          }),
        ),
    ];
    const requests = [
      ...ask('call-same'),
      () => send(ours.key, '/customers/same/usage'),
      () => send(ours.key, '/customers/same/usage-context'),
      () => send(ours.key, '/customers/same/forecast?metric=calls'),
      () => send(ours.key, '/customers/same/ledger'),
      () => send(ours.key, '/customers/same/change_plan', json({ planId: 'test' })),
      () => send(ours.key, '/customers/same/change_plan', json({ planId: 'private' })),
      () => send(ours.key, '/customers/same/replenish', json({})),
      () => send(ours.key, '/custom_meter', json({ customerId: 'same', meterSlot: 'CUSTOM1', amount: 1 })),
      () => send(ours.key, '/customers?search=same'),
      () => send(ours.key, '/usage-plans'),
      () => send(ours.key, '/usage/summary?from=2026-01-01T00:00:00.000Z&to=2027-01-01T00:00:00.000Z'),
      () => send(ours.key, '/v1/batches/same'),
      () => send(OPERATOR_TOKEN, `${org}/customers/same`),
      () => send(OPERATOR_TOKEN, `${org}/samples/sample-same`),
      () => send(OPERATOR_TOKEN, `${org}/samples`),
      () => send(OPERATOR_TOKEN, `${org}/samples/sample-same`, { method: 'DELETE' }),
      () => send(OPERATOR_TOKEN, `${org}/customers/same`, { method: 'DELETE' }),
      () => send(OPERATOR_TOKEN, `${org}/customers/same/cancel`, { method: 'POST' }),
      () => send(OPERATOR_TOKEN, `${org}/plans/private`),
    ];
    const wholeAnswers = (all: (() => Promise<Response>)[]) =>
      Promise.all(all.map(async (request) => wholeAnswer(await request())));
    const nowhere = await wholeAnswers(requests);
    expect(nowhere.filter((answer) => !answer.startsWith('[200')).length).toBeGreaterThan(12);

    await operator.send('putPlan', { params: { org: theirs.organizationId, planId: 'private' }, body: PLAN });
    await furnish(theirs, MARK);
    const derived = (await theirs.api.send('beginCall', { body: { customerId: 'same' } })).data.callId;
    await settled(theirs);
    expect(await wholeAnswers(requests)).toEqual(nowhere);
    // A derived id leads to the object of its customer, who does not know the other organization.
    const made = derived.replace(/^dk-[\w-]{43}/, `dk-${'A'.repeat(43)}`);
    expect(await wholeAnswers(ask(derived))).toEqual(await wholeAnswers(ask(made)));
    const { data } = await theirs.api.send('readCall', { params: { callId: derived } });
    expect(data.status).toBe('IN_PROGRESS');
  });

  test('does not reveal which idempotency keys it has used', async () => {
    const [theirs, ours] = [await createParty(), await createParty()];
    const begun = async () =>
      (await theirs.api.send('beginCall', { body: { customerId: 'same', feature: crypto.randomUUID() } })).data.callId;
    const [ended, open] = [await begun(), await begun()];
    const headers = { 'Idempotency-Key': `end-${ended}` };
    expect((await theirs.api.send('endCall', { body: { callId: ended }, headers })).status).toBe(200);
    expect((await theirs.api.send('endCall', { body: { callId: open }, headers })).refusal.code).toBe(
      'IDEMPOTENCY_KEY_CONFLICT',
    );
    expect((await ours.api.send('endCall', { body: { callId: open }, headers })).refusal.code).toBe('CALL_NOT_FOUND');
  });

  test('is not reached by its keys: the same idempotency keys begin calls of both', async () => {
    const [theirs, ours] = [await createParty(), await createParty()];
    const body = { customerId: 'same' };
    const headers = { 'Idempotency-Key': 'shared' };
    const [first, second] = [
      await theirs.api.send('beginCall', { body, headers }),
      await ours.api.send('beginCall', { body: { customerId: 'twin' }, headers }),
    ];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers.get('Idempotency-Replayed')).toBeNull();
    expect((await theirs.api.send('readCall', { params: { callId: 'shared' } })).data.customerId).toBe('same');
    expect((await ours.api.send('readCall', { params: { callId: 'shared' } })).data.customerId).toBe('twin');
  });
});

describe(`the fuzz of one organization, with the seed ${seed}`, () => {
  let theirs: Party;
  let ours: Party;
  beforeAll(async () => {
    [theirs, ours] = [await createParty(), await createParty()];
    await furnish(theirs, MARK);
    await furnish(ours, 'ours');
    await settled(theirs);
  });

  test('shows and changes nothing of the other organization', async () => {
    const targets: Targets = {
      apiKey: ours.key,
      otherKeys: [ours.key],
      operatorToken: OPERATOR_TOKEN,
      pools: {
        customerId: CUSTOMERS,
        callId: CUSTOMERS.map((id) => `call-${id}`),
        sampleId: CUSTOMERS.map((id) => `sample-${id}`),
        idempotencyKey: ['key', ...CUSTOMERS.map((id) => `call-${id}`)],
        planId: ['test'],
        org: [ours.organizationId],
        organizationId: [ours.organizationId],
        meterSlot: ['CUSTOM1'],
        url: ['https://fuzz.invalid/'],
        baseUrl: ['http://127.0.0.1:1/v1'],
        model: ['none/none'],
        search: [...CUSTOMERS, MARK],
      },
    };
    const before = await belongingsOf(theirs);
    const random = randomFrom(seed);
    const statuses = new Map<number, number>();
    const one = async () => {
      const { method, path, headers, body } = fuzzRequest(random, targets);
      const request = requestOf(path, method, headers, body);
      if (!request) return;
      // The catalog, the list of organizations, the search of it and the items that need attention in all of them belong to
      // nobody. An address may lead there by `..`.
      const { pathname } = new URL(request.url);
      if (/^\/operator\/(organizations\/?$|search|catalog|events|health|attention)/.test(pathname)) return;
      const response = (await worker.fetch(request as never)) as unknown as Response;
      const text = await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      expect(response.status, `${method} ${path}: ${text}`).toBeLessThan(500);
      const shown = text.includes(theirs.organizationId) || (text.includes(MARK) && !`${path}${body}`.includes(MARK));
      expect(shown, `${method} ${path}: ${text}`).toBe(false);
    };
    for (let sent = 0; sent < REQUESTS; sent += CONCURRENCY)
      await Promise.all(Array.from({ length: CONCURRENCY }, one));
    await settled(theirs);
    expect(await belongingsOf(theirs)).toEqual(before);
    expect(statuses.get(200)).toBeGreaterThan(REQUESTS / 20);
  });

  /** `null` if no client could send it. */
  function requestOf(
    path: string,
    method: string,
    headers: readonly string[],
    body: Uint8Array | null,
  ): Request | null {
    try {
      const sent = new Headers();
      for (let index = 0; index < headers.length; index += 2)
        sent.append(headers[index] ?? '', (headers[index + 1] ?? '').replace(/[^ -~]/g, '?'));
      const bodiless = method === 'GET' || method === 'HEAD';
      return new Request(`https://callmeter.test${path}`, {
        method,
        headers: sent,
        ...(body && !bodiless && { body: body as BodyInit }),
      });
    } catch {
      return null;
    }
  }
});
