/**
 * The search for customers: by the beginning of the id, of the display name or of the e-mail address in whatever case, in pages, each of which
 * reads its own part of the indexes alone.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Env } from '../../src/env.ts';
import { cursorOf } from '../../src/platform/page.ts';
import { type CustomerFilter, findCustomers } from '../../src/storage/customers.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

const CUSTOMERS: Record<string, string | undefined> = {
  ann: 'Über Fahrt GmbH',
  Bob: 'über alles',
  carl: 'ΟΔΟΣΑ',
  dora: undefined,
  'Ann-2': 'Ann too',
  '😀-smile': '😁 teeth',
  zoe: 'Anna',
  yan: 'anna',
};

/** Who is found by the id or the name is not found by it again. */
const EMAILS: Record<string, string | undefined> = {
  dora: 'Sales@Example.com',
  ann: 'ann@example.com',
  zoe: 'anna@example.com',
};

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator);
  const other = await createTenant(operator);
  for (const [customerId, customerName] of Object.entries(CUSTOMERS)) {
    for (const { api, organizationId } of [tenant, other]) {
      const customerEmail = EMAILS[customerId];
      await api.send('provisionCustomer', {
        body: { customerId, ...(customerName && { customerName }), ...(customerEmail && { customerEmail }) },
      });
      await deliverToD1(organizationId, customerId);
    }
  }
});

const idsOf = async (query: Record<string, string>) =>
  (await tenant.api.send('listCustomers', { query })).data.items.map(({ customerId }) => customerId);

test.each([
  ['the id, in another case', 'ANN', ['ann', 'Ann-2', 'yan', 'zoe']],
  ['the name, in another case', 'ÜBER', ['Bob', 'ann']],
  ['a name with a letter that has two lower cases', 'ΟΔΟΣ', ['carl']],
  ['a character beyond 16 bits, and not the next one', '😀', ['😀-smile']],
  ['the same of a name', '😁', ['😀-smile']],
  ['the e-mail address, in another case', 'SALES@', ['dora']],
  ['nothing that is there', 'zzz', []],
  ['the middle of an id', 'nn', []],
])('finds by %s', async (_, search, found) => {
  expect(await idsOf({ search })).toEqual(found);
});

test('returns each customer once across pages, first by id and then by name, even if both match', async () => {
  const pages: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: Record<string, string> = { search: 'a', limit: '1', ...(cursor && { cursor }) };
    const page: { items: { customerId: string }[]; nextCursor: string | null } = (
      await tenant.api.send('listCustomers', { query })
    ).data;
    pages.push(page.items.map(({ customerId }) => customerId));
    cursor = page.nextCursor;
  }
  expect(pages).toEqual([['ann'], ['Ann-2'], ['yan'], ['zoe']]);
});

test('takes a cursor of another list or search for none', async () => {
  const cursors = ['ann', '9 1 aann', '0 3 bobBob', '0 99 ann'].map(cursorOf);
  for (const cursor of cursors) expect(await idsOf({ search: 'ann', cursor })).toEqual(await idsOf({ search: 'ann' }));
});

test('finds rows of before there was a search column as they were found then, and by the new rule once they change', async () => {
  await bindings.DB.prepare(
    `UPDATE customers SET customer_id_lower = LOWER(customer_id), friendly_name_lower = LOWER(friendly_name) WHERE organization_id = ?`,
  )
    .bind(tenant.organizationId)
    .run();
  expect([await idsOf({ search: 'Üb' }), await idsOf({ search: 'üb' }), await idsOf({ search: 'aNN' })]).toEqual([
    ['Bob', 'ann'],
    ['Bob'],
    ['ann', 'Ann-2', 'yan', 'zoe'],
  ]);
  await tenant.api.send('provisionCustomer', { body: { customerId: 'ann', customerName: 'Über Land' } });
  await deliverToD1(tenant.organizationId, 'ann');
  expect(await idsOf({ search: 'üb' })).toEqual(['Bob', 'ann']);
});

describe('reads only matching customers', () => {
  /** The plans of the queries that a function sends. */
  async function plansOf(send: (env: Env) => Promise<unknown>): Promise<string[]> {
    const sent: D1PreparedStatement[] = [];
    const DB = {
      prepare(sql: string) {
        const explained = bindings.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`);
        const statement = bindings.DB.prepare(sql);
        return {
          bind(...values: unknown[]) {
            sent.push(explained.bind(...values));
            return statement.bind(...values);
          },
        };
      },
    } as unknown as D1Database;
    await send({ ...bindings, DB });
    const plans = await Promise.all(sent.map((statement) => statement.all<{ detail: string }>()));
    return plans.flatMap(({ results }) => results.map(({ detail }) => detail));
  }

  test.each<[string, CustomerFilter, string | null]>([
    ['by search', { search: 'x' }, null],
    ['by search from a place on', { search: 'x' }, '0 2 xaid'],
    ['by search of one plan', { search: 'x', planId: 'p' }, null],
    ['by search with other letters', { search: 'Üx' }, '0 3 üxaid'],
    ['without a search', {}, 'place'],
    ['of one plan', { planId: 'p' }, 'place'],
    ['by search from a name on', { search: 'x' }, '1 2 xaid'],
  ])('%s', async (_, filter, after) => {
    const plan = await plansOf((env) => findCustomers(env, tenant.organizationId, filter, { after, limit: 50 }));
    expect(plan.length).toBeGreaterThan(0);
    const ofCustomers = plan.filter((detail) => /\bcustomers\b/.test(detail));
    expect(ofCustomers.filter((detail) => !/^SEARCH customers USING .*INDEX/.test(detail))).toEqual([]);
    if (filter.search === undefined) return;
    const ranges = plan.filter((detail) =>
      /customers_by_(id|name|email)_search \(organization_id=\? AND (\w+_lower>\?|\(\w+_lower,customer_id\)>\(\?,\?\)) AND \w+_lower<\?\)/.test(
        detail,
      ),
    );
    expect(ranges).toHaveLength((filter.search === 'x' ? 3 : 6) - (after?.startsWith('1') ? 1 : 0));
    // The page itself is found by its ids.
    expect(plan.some((detail) => /\(organization_id=\? AND customer_id=\?\)/.test(detail))).toBe(true);
  });
});
