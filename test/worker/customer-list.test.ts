/**
 * Promise: the list of customers shows the same as each customer's own readings; every order and filter matches picking
 * by hand from the whole list; the cost of a page does not grow with the customers, and no page shows a customer twice
 * while they change.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { CustomerListItem } from '../../src/contract/customers.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { CUSTOMER_SORTS, placeText } from '../../src/history/customer-order.ts';
import { CUSTOMERS_SEARCHED_MAX, type CustomerFilter, findCustomers } from '../../src/history/customers.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { queryPlansOf } from '../support/query-plans.ts';
import { bindings, deliverToD1, operator, worker } from '../support/worker.ts';

const PLAN = { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 10, premiumCalls: 0, standardTokens: 1_000 } };
const ON_CREDIT = {
  name: 'Credit',
  limitType: 'BLOCK',
  limits: { standardCalls: 0, premiumCalls: 0 },
  payg: { enabled: true },
};

let tenant: Tenant;
let other: Tenant;
let all: CustomerListItem[];

const list = async ({ api }: Tenant, query: Record<string, string> = {}) =>
  (await api.send('listCustomers', { query })).data;
const customerIds = (items: readonly { customerId: string }[]) => items.map(({ customerId }) => customerId);

async function calls({ api }: Tenant, customerId: string, count: number, modelUsed = 'gpt-4o-mini'): Promise<void> {
  for (let call = 0; call < count; call += 1) {
    const { callId } = (await api.send('beginCall', { body: { customerId } })).data;
    await api.send('endCall', { body: { callId, modelUsed, inputTokens: 1_000, responseTokens: 10 } });
  }
}

async function pages(
  of: Tenant,
  query: Record<string, string>,
  between: (page: number) => Promise<void> = async () => {},
) {
  const found: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { items: CustomerListItem[]; nextCursor: string | null } = await list(of, {
      ...query,
      ...(cursor !== '' && { cursor }),
    });
    found.push(customerIds(page.items));
    cursor = page.nextCursor;
    await between(found.length);
  }
  return found;
}

beforeAll(async () => {
  [tenant, other] = await Promise.all([createTenant(operator, PLAN), createTenant(operator, PLAN)]);
  const params = { org: tenant.organizationId, planId: 'credit' };
  expect((await operator.send('putPlan', { params, body: ON_CREDIT })).status).toBe(200);
  for (const [customerId, customerEmail] of [
    ['ann', 'Ann@Example.com'],
    ['bob', '=cmd@example.com'],
    ['carl', undefined],
    ['dora', 'd@example.com'],
    ['eve', 'eve@example.com'],
  ] as const)
    await tenant.api.send('provisionCustomer', { body: { customerId, ...(customerEmail && { customerEmail }) } });
  await calls(tenant, 'ann', 8);
  await calls(tenant, 'bob', 2, 'gpt-4o');
  await tenant.api.send('beginCall', { body: { customerId: 'bob', requested: { premium: true } } });
  await calls(tenant, 'carl', 3);
  await tenant.api.send('beginCall', { body: { customerId: 'carl' } });
  await tenant.api.send('changePlan', { params: { customerId: 'dora' }, body: { planId: 'credit' } });
  const dora = { org: tenant.organizationId, customerId: 'dora' };
  await operator.send('grantCredit', { params: dora, body: { kind: 'USD', amountUsd: '12.5' } });
  await operator.send('cancelCustomer', { params: { org: tenant.organizationId, customerId: 'eve' } });
  await calls(other, 'ann', 1);
  for (const customerId of ['ann', 'bob', 'carl', 'dora', 'eve']) await deliverToD1(tenant.organizationId, customerId);
  await deliverToD1(other.organizationId, 'ann');
  all = (await list(tenant)).items;
});

describe('the list', () => {
  test('says of each customer what its own readings say', async () => {
    expect(customerIds(all)).toEqual(['ann', 'bob', 'carl', 'dora', 'eve']);
    for (const { customerId, worstMeter, costUSD, balanceUsd, lastCallAt } of all) {
      const params = { org: tenant.organizationId, customerId };
      const { meters, wallet, recentCalls } = (await operator.send('readCustomer', { params })).data;
      const { currentPeriod } = (await tenant.api.send('readUsageContext', { params: { customerId } })).data;
      const limited = Object.entries(meters).filter(([, { limit }]) => limit !== null && limit > 0);
      const shares = limited.map(([, { used, limit }]) => used / (limit ?? 1));
      const [worst] = limited.filter((_, index) => shares[index] === Math.max(...shares));
      expect([customerId, worstMeter]).toEqual([
        customerId,
        worst ? { name: worst[0], used: worst[1].used, limit: worst[1].limit, share: Math.max(...shares) } : null,
      ]);
      expect([customerId, costUSD, balanceUsd]).toEqual([
        customerId,
        currentPeriod.quantities.dollars,
        wallet.balanceUsd,
      ]);
      expect([customerId, lastCallAt]).toEqual([customerId, recentCalls[0]?.startTime ?? null]);
    }
    expect(all[0]?.worstMeter).toEqual({ name: 'standardCalls', used: 8, limit: 10, share: 0.8 });
    // An open call counts, as in the customer's own usage.
    expect(all[2]?.worstMeter).toMatchObject({ used: 4 });
  });

  const costNanoUsd = ({ costUsdNano }: CustomerListItem) => BigInt(costUsdNano ?? 0);
  test.each<[string, (a: CustomerListItem, b: CustomerListItem) => boolean]>([
    ['worstMeter', (a, b) => (a.worstMeter?.share ?? 0) >= (b.worstMeter?.share ?? 0)],
    ['cost', (a, b) => costNanoUsd(a) >= costNanoUsd(b)],
    ['lastCall', (a, b) => (a.lastCallAt ?? '') >= (b.lastCallAt ?? '')],
    ['customerId', (a, b) => a.customerId < b.customerId],
  ])('by %s is in that order, in pages without repeats or gaps', async (sort, isBefore) => {
    const { items } = await list(tenant, { sort });
    expect(customerIds(items).sort()).toEqual(customerIds(all));
    for (const [index, item] of items.slice(1).entries())
      expect(isBefore(items[index] as CustomerListItem, item)).toBe(true);
    expect((await pages(tenant, { sort, limit: '2' })).flat()).toEqual(customerIds(items));
  });

  test.each<[Record<string, string>, string[]]>([
    [{ nearLimit: '0.8' }, ['ann']],
    [{ nearLimit: '0.4', sort: 'worstMeter' }, ['ann', 'carl']],
    [{ denied: 'true' }, ['bob']],
    [{ denied: 'false' }, ['ann', 'carl', 'dora', 'eve']],
    [{ onCredit: 'true' }, ['dora']],
    [{ canceled: 'true' }, ['eve']],
    [{ canceled: 'false', planId: 'test' }, ['ann', 'bob', 'carl']],
    [{ planId: 'credit', sort: 'cost' }, ['dora']],
    [{ search: 'ANN@' }, ['ann']],
    [{ search: 'or', sort: 'lastCall' }, ['dora']],
    [{ search: 'b', denied: 'true' }, ['bob']],
    [{ search: 'b', canceled: 'true' }, []],
    [{ search: 'EXAMPLE', sort: 'worstMeter' }, ['ann', 'eve', 'dora', 'bob']],
  ])('narrowed by %o has who it should', async (query, found) => {
    expect((await pages(tenant, { ...query, limit: '1' })).flat()).toEqual(found);
  });

  test('is the same for the operator, and of another organization has nothing', async () => {
    const params = { org: tenant.organizationId };
    expect((await operator.send('listOrganizationCustomers', { params })).data.items).toEqual(all);
    expect((await operator.send('listOrganizationCustomers', { params: { org: 'nobody' } })).refusal.code).toBe(
      'NOT_FOUND',
    );
    for (const query of CUSTOMER_SORTS.map((sort) => ({ sort })))
      expect(customerIds((await list(other, query)).items)).toEqual(['ann']);
    expect((await list(other, { search: 'bob' })).items).toEqual([]);
  });

  test('refuses what it does not have, by name', async () => {
    const listRefusal = async (query: Record<string, string>) =>
      (await tenant.api.send('listCustomers', { query })).refusal.message;
    expect(await listRefusal({ colour: 'red' })).toContain('colour');
    expect(await listRefusal({ sort: 'size' })).toContain('sort');
    expect(await listRefusal({ nearLimit: 'much' })).toContain('nearLimit');
    expect(await listRefusal({ denied: 'maybe' })).toContain('denied');
  });

  test('is CSV if Accept prefers it, with no cell that a spreadsheet takes for a formula', async () => {
    const params = { org: tenant.organizationId };
    const { key } = (await operator.send('createKey', { params, body: { name: 'csv' } })).data;
    const response = await worker.fetch('https://callmeter.test/customers?limit=1&sort=worstMeter', {
      headers: { Authorization: `Bearer ${key}`, Accept: `text/csv, ${MEDIA_TYPE};q=0.5` },
    });
    const [titles = '', ...lines] = (await response.text()).trimEnd().split('\r\n');
    expect(titles).toMatch(
      /^customerId,customerFriendlyName,customerEmail,.*,worstMeter,worstMeterUsed,worstMeterLimit,/,
    );
    expect(lines.map((line) => line.slice(0, line.indexOf(',')))).toEqual(
      customerIds((await list(tenant, { sort: 'worstMeter' })).items),
    );
    expect(lines.some((line) => line.startsWith("bob,,'=cmd@example.com,"))).toBe(true);
  });
});

test('events and the usage summary are CSV too', async () => {
  const params = { org: tenant.organizationId };
  const { key } = (await operator.send('createKey', { params, body: { name: 'csv' } })).data;
  const csvOf = async (path: string) => {
    const headers = { Authorization: `Bearer ${key}`, Accept: 'text/csv' };
    const response = await worker.fetch(`https://callmeter.test${path}`, { headers });
    expect([response.status, response.headers.get('Content-Type')]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
    ]);
    return (await response.text()).trimEnd().split('\r\n');
  };
  const [titles, denied = ''] = await csvOf('/events?type=call.denied');
  expect(titles).toBe('eventId,type,timestamp,customerId,data');
  expect(denied).toMatch(/^[^,]+,call\.denied,[^,]+,bob,"\{/);
  const { totals, byCustomer } = (await tenant.api.send('readUsageSummary')).data;
  const summary = await csvOf('/usage/summary');
  expect(summary[0]).toMatch(/^dimension,key,calls,unpricedCalls,.*,costUSD,costUsdNano,/);
  expect(summary[1]).toMatch(new RegExp(`^total,,${totals.calls},`));
  expect(summary.filter((line) => line.startsWith('customer,')).map((line) => line.split(',')[1])).toEqual(
    byCustomer.map(({ customerId }) => customerId),
  );
});

describe('while customers change', () => {
  test('pages show nobody twice, and everybody whose figures did not fall', async () => {
    const busy = await createTenant(operator, { ...PLAN, limits: { standardCalls: 100 } });
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const [index, name] of names.entries()) {
      await calls(busy, name, index + 1);
      await deliverToD1(busy.organizationId, name);
    }
    for (const sort of ['worstMeter', 'cost', 'lastCall']) {
      const shown = (
        await pages(busy, { sort, limit: '2' }, async (page) => {
          // The first of all starts a new period, so it falls behind the others; the last one rises, unseen.
          if (page === 1) {
            await busy.api.send('replenishCustomer', { params: { customerId: 'f' }, body: {} });
            await calls(busy, 'e', 1);
            for (const name of ['f', 'e']) await deliverToD1(busy.organizationId, name);
          }
        })
      ).flat();
      expect([sort, shown.length]).toEqual([sort, new Set(shown).size]);
      expect(names.filter((name) => !shown.includes(name) && !['e', 'f'].includes(name))).toEqual([]);
    }
  });

  test('a period that is over counts no longer, also before its customer has begun the next one', async () => {
    const late = await createTenant(operator, PLAN);
    await calls(late, 'ann', 9);
    await late.api.send('beginCall', { body: { customerId: 'ann', requested: { premium: true } } });
    await deliverToD1(late.organizationId, 'ann');
    const query = { sort: 'worstMeter', nearLimit: '0.9', denied: 'true' };
    expect((await list(late, query)).items).toMatchObject([{ worstMeter: { used: 9, share: 0.9 } }]);
    const set = async (column: string, value: number | string | null) => {
      const sql = `UPDATE customers SET ${column} = ? WHERE organization_id = ?`;
      await bindings.DB.prepare(sql).bind(value, late.organizationId).run();
    };
    await set('next_replenish_at_ms', Date.now());
    expect((await list(late, query)).items).toEqual([]);
    expect((await list(late)).items).toMatchObject([
      { worstMeter: { name: 'standardCalls', used: 0, limit: 10, share: 0 }, costUSD: 0, costUsdNano: '0' },
    ]);
    // On another plan nothing is known of the new period.
    await set('pending_usage_plan_version_id', 'large:v1');
    expect((await list(late)).items).toMatchObject([{ worstMeter: null }]);
  });

  test('a row of before there were figures says that they are not known', async () => {
    const old = await createTenant(operator, PLAN);
    await bindings.DB.prepare(
      `INSERT INTO customers (organization_id, customer_id, subscription_id, subscription_version, plan_id, usage_plan_version_id,
         created_at_ms, last_replenished_at_ms, next_replenish_at_ms, revision) VALUES (?, 'old', 's', 1, 'test', 'test:v1', 1, 1, ?, 1)`,
    )
      .bind(old.organizationId, Date.now() + 1_000_000)
      .run();
    const unknown = { worstMeter: null, costUSD: null, costUsdNano: null, balanceUsd: null, lastCallAt: null };
    for (const sort of CUSTOMER_SORTS) expect((await list(old, { sort })).items).toMatchObject([unknown]);
  });
});

describe('a page', () => {
  let large: Tenant;
  const count = CUSTOMERS_SEARCHED_MAX + 50;
  beforeAll(async () => {
    large = await createTenant(operator, PLAN);
    await bindings.DB.prepare(
      `INSERT INTO customers (organization_id, customer_id, customer_id_lower, subscription_id, subscription_version, plan_id,
         usage_plan_version_id, created_at_ms, last_replenished_at_ms, next_replenish_at_ms, canceled_at_ms, worst_meter,
         worst_meter_used, worst_meter_limit, balance_nano_usd, revision)
       WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?2)
       SELECT ?1, printf('c-%05d', n), printf('c-%05d', n), 's' || n, 1, 'test', 'test:v1', 1, 1, ?3, CASE WHEN n % 5000 = 10 THEN 1 END,
         'standardCalls', n, 100000, '0', 1 FROM number`,
    )
      .bind(large.organizationId, count, Date.now() + 1e9)
      .run();
  });

  test('looks at a bounded number of customers, and goes on from there', async () => {
    const query = { sort: 'worstMeter', canceled: 'true', limit: '2' };
    const first = await list(large, query);
    expect(customerIds(first.items)).toEqual(['c-10010', 'c-05010']);
    expect(first.nextCursor).not.toBeNull();
    expect((await pages(large, query)).flat()).toEqual(['c-10010', 'c-05010', 'c-00010']);
    // The customers that were looked at had none; the next page does.
    const ended = await pages(large, { canceled: 'true', planId: 'test', sort: 'cost', search: 'c-0001' });
    expect(ended.flat()).toEqual(['c-00010']);
    expect(ended.length).toBeGreaterThan(1);
  });

  const PLACES = { customerId: ['c'], worstMeter: [0.5, 'c'], cost: [1, 2, 'c'], lastCall: [5, 'c'] };
  const FILTERS: CustomerFilter[] = [
    {},
    { canceled: true, planId: 'test' },
    { search: 'C-', nearLimit: 0.5, denied: true },
  ];
  test.each(CUSTOMER_SORTS.flatMap((sort) => FILTERS.map((filter) => [sort, filter] as const)))(
    'by %s, narrowed by %o, follows an index and sorts nothing',
    async (sort, filter) => {
      if (sort === 'customerId' && filter.search !== undefined) return;
      for (const after of [null, placeText(sort, { beganAtMs: 1, values: PLACES[sort] })]) {
        const plan = await queryPlansOf((env) =>
          findCustomers(env, large.organizationId, filter, { after, limit: 50 }, { sort }),
        );
        const ofCustomers = plan.filter((detail) => /\bcustomers\b/.test(detail));
        expect(ofCustomers.length).toBeGreaterThan(0);
        expect(ofCustomers.filter((detail) => !/^SEARCH customers USING .*INDEX/.test(detail))).toEqual([]);
        expect(plan.filter((detail) => /TEMP B-TREE/.test(detail))).toEqual([]);
        if (after !== null && sort !== 'customerId')
          expect(ofCustomers.join()).toMatch(/organization_id=\? AND \(?\w+[,<>]/);
      }
    },
  );
});
