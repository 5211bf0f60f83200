/**
 * Promise: `GET /events` lists the events of an organization and its customers, newest first, once, and to nobody else;
 * they are kept for 90 days, and are gone with an erased customer.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { EVENT_RETENTION_DAYS } from '../../src/contract/events.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import type { Tenant } from '../support/api.ts';
import { bindings, createToldTenant, deliverToD1, operator } from '../support/worker.ts';

const PLAN = { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 2 } };
const DAY_MS = 86_400_000;
const LIMIT = 1_000;
const WORKERS = 50;

/** Ends calls of a customer, and brings their events to D1. */
async function use({ api, organizationId }: Tenant, customerId: string, calls: number): Promise<void> {
  for (let n = 0; n < calls; n += 1) {
    const { callId } = (await api.send('beginCall', { body: { customerId, feature: `${n}` } })).data;
    await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o-mini', inputTokens: 1, responseTokens: 1 } });
  }
  await deliverToD1(organizationId, customerId);
}

const read = async ({ api }: Tenant, query: Record<string, string> = {}) =>
  (await api.send('readEvents', { query })).data;
const eventTypes = (items: { type: string }[]) => items.map(({ type }) => type);
const eventCustomer = ({ data }: { data: object }) => ('customerId' in data ? data.customerId : null);

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([createToldTenant(PLAN), createToldTenant(PLAN)]);
  await use(tenant, 'ann', 2);
  await use(other, 'ann', 1);
  await use(tenant, 'bob', 3);
});

describe('the list', () => {
  test('has the events of all customers of the organization, newest first, with ids that sort by time', async () => {
    const { items, nextCursor } = await read(tenant);
    expect(items.map((item) => [eventCustomer(item), item.type])).toEqual([
      ['bob', 'call.denied'],
      ['bob', 'meter.threshold_reached'],
      ['bob', 'meter.threshold_reached'],
      ['bob', 'customer.created'],
      ['ann', 'meter.threshold_reached'],
      ['ann', 'meter.threshold_reached'],
      ['ann', 'customer.created'],
      [null, 'key.created'],
    ]);
    const ids = items.map(({ eventId }) => eventId);
    expect(ids).toEqual(ids.toSorted().reverse());
    expect(new Set(ids).size).toBe(ids.length);
    expect(nextCursor).toBeNull();
    expect(eventTypes((await read(other)).items)).toEqual([
      ...['meter.threshold_reached', 'customer.created', 'key.created'],
    ]);
  });

  test('has what is asked for: a type, a customer, a time', async () => {
    const { items } = await read(tenant);
    const from = items[4]?.timestamp ?? '';
    const of = async (query: Record<string, string>) => (await read(tenant, query)).items.map(({ eventId }) => eventId);
    const expected = (keep: (item: (typeof items)[number]) => boolean) =>
      items.filter(keep).map(({ eventId }) => eventId);
    expect(await of({ type: 'call.denied' })).toEqual(expected(({ type }) => type === 'call.denied'));
    expect(await of({ customerId: 'ann' })).toEqual(expected((item) => eventCustomer(item) === 'ann'));
    expect(await of({ customer_id: 'ann', type: 'customer.created' })).toHaveLength(1);
    expect(await of({ from })).toEqual(expected(({ timestamp }) => timestamp >= from));
    expect(await of({ to: from })).toEqual(expected(({ timestamp }) => timestamp < from));
    expect(await of({ customerId: 'nobody' })).toEqual([]);
  });

  test('comes in pages that have each event once', async () => {
    const { items } = await read(tenant);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await read(tenant, { limit: '3', ...(cursor && { cursor }) });
      seen.push(...page.items.map(({ eventId }) => eventId));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(items.map(({ eventId }) => eventId));
  });

  test.each([
    [{ type: 'customer.gone' }, 'type'],
    [{ from: 'yesterday' }, 'from'],
    [{ from: '2027-01-02T00:00:00Z', to: '2027-01-01T00:00:00Z' }, 'to'],
    [{ customer: 'ann' }, 'customer'],
    [{ cursor: '%' }, 'cursor'],
  ])('refuses %j and names the field', async (query, path) => {
    const { status, refusal } = await tenant.api.send('readEvents', { query });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect(refusal.details).toMatchObject([{ path }]);
  });

  test('is the same for the operator, who learns of an organization that does not exist', async () => {
    const list = (org: string) => operator.send('readOrganizationEvents', { params: { org } });
    expect((await list(tenant.organizationId)).data).toEqual(await read(tenant));
    expect((await list(crypto.randomUUID())).refusal.code).toBe('NOT_FOUND');
  });
});

test('1,000 calls that end at the same time reach each threshold once', async () => {
  const own = await createToldTenant({ ...PLAN, limits: { standardCalls: LIMIT } });
  const inParallel = async <Item>(items: Item[], work: (item: Item) => Promise<void>) => {
    const queue = [...items];
    const run = async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    };
    await Promise.all(Array.from({ length: WORKERS }, run));
  };
  const callIds: string[] = [];
  await inParallel(
    Array.from({ length: LIMIT }, (_, n) => `c${n}`),
    async (key) => {
      const headers = { 'Idempotency-Key': key };
      callIds.push((await own.api.send('beginCall', { body: { customerId: 'many' }, headers })).data.callId);
    },
  );
  await inParallel(callIds, async (callId) => {
    const body = { callId, modelUsed: 'gpt-4o-mini', inputTokens: 1, responseTokens: 1 };
    expect((await own.api.send('endCall', { body })).status).toBe(200);
  });
  await deliverToD1(own.organizationId, 'many');
  const { items } = await read(own, { type: 'meter.threshold_reached' });
  expect(items.map(({ data }) => data)).toMatchObject([
    { crossed: [100], used: 1_000 },
    { crossed: [80], used: 800 },
    { crossed: [50], used: 500 },
  ]);
});

test('events are deleted after 90 days, and none before', async () => {
  const own = await createToldTenant(PLAN);
  await use(own, 'old', 1);
  const { items } = await read(own);
  const newestMs = Math.max(...items.map(({ timestamp }) => Date.parse(timestamp)));
  const oldestMs = Math.min(...items.map(({ timestamp }) => Date.parse(timestamp)));
  await deleteExpired(bindings, oldestMs + EVENT_RETENTION_DAYS * DAY_MS);
  expect((await read(own)).items).toEqual(items);
  await deleteExpired(bindings, newestMs + EVENT_RETENTION_DAYS * DAY_MS + 1);
  expect((await read(own)).items).toEqual([]);
});

test('an erased customer has no events any more, and those of others stay', async () => {
  const own = await createToldTenant(PLAN);
  await use(own, 'gone', 1);
  await use(own, 'stays', 1);
  const params = { org: own.organizationId, customerId: 'gone' };
  const { erased } = (await operator.send('eraseCustomer', { params })).data;
  expect(erased.events).toBe(2);
  expect((await read(own)).items.map(eventCustomer)).toEqual(['stays', 'stays', null]);
});
