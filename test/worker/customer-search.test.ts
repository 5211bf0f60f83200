/**
 * The search for customers: by any part of the id, of the display name or of the e-mail address, in upper or lower
 * case, in pages, each of which reads only one index, from its position on.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { type CustomerFilter, findCustomers } from '../../src/history/customers.ts';
import { encodeCursor } from '../../src/platform/page.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { queryPlansOf } from '../support/query-plans.ts';
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

/** A customer that the id or the name finds is not found again by it. */
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

const searchIds = async (query: Record<string, string>) =>
  (await tenant.api.send('listCustomers', { query })).data.items.map(({ customerId }) => customerId);

test.each([
  ['the id, in another case', 'ANN', ['Ann-2', 'ann', 'yan', 'zoe']],
  ['the id as it is, which comes first', 'ann', ['ann', 'Ann-2', 'yan', 'zoe']],
  ['the name, in another case', 'ÜBER', ['Bob', 'ann']],
  ['a name with a letter that has two lower cases', 'ΟΔΟΣ', ['carl']],
  ['a character beyond 16 bits, and not the next one', '😀', ['😀-smile']],
  ['the same of a name', '😁', ['😀-smile']],
  ['the e-mail address, in another case', 'SALES@', ['dora']],
  ['nothing that is there', 'zzz', []],
  ['the middle of an id', 'OB', ['Bob']],
  ['the middle of a name', 'fahrt', ['ann']],
  ['the middle of a name with other letters', 'ΔΟΣ', ['carl']],
  ['the domain of an e-mail address', '@example', ['ann', 'dora', 'zoe']],
  ['a character that LIKE takes for any', '_', []],
  ['nothing across two of them', 'annüber', []],
])('finds by %s', async (_, search, found) => {
  expect(await searchIds({ search })).toEqual(found);
});

test.each([
  ['a', '1'],
  ['a', '2'],
  ['ann', '1'],
  ['ann', '3'],
])('returns each customer once across pages, found by %j in pages of %s', async (search, limit) => {
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: Record<string, string> = { search, limit, ...(cursor && { cursor }) };
    const page: { items: { customerId: string }[]; nextCursor: string | null } = (
      await tenant.api.send('listCustomers', { query })
    ).data;
    expect(page.items.length).toBeLessThanOrEqual(Number(limit));
    found.push(...page.items.map(({ customerId }) => customerId));
    cursor = page.nextCursor;
  }
  expect(found).toEqual(await searchIds({ search }));
});

test('takes a cursor of another list or search for none', async () => {
  const cursors = ['ann', '9 1 aann', '0 3 bobBob', 'lastCall [1,5,"ann"]'].map(encodeCursor);
  for (const cursor of cursors)
    expect(await searchIds({ search: 'ann', cursor })).toEqual(await searchIds({ search: 'ann' }));
});

test('finds rows of before there was a search column as they were found then, and by the new rule once they change', async () => {
  await bindings.DB.prepare(
    `UPDATE customers SET customer_id_lower = LOWER(customer_id), friendly_name_lower = LOWER(friendly_name) WHERE organization_id = ?`,
  )
    .bind(tenant.organizationId)
    .run();
  expect([
    await searchIds({ search: 'Üb' }),
    await searchIds({ search: 'üb' }),
    await searchIds({ search: 'aNN' }),
  ]).toEqual([['Bob', 'ann'], ['Bob'], ['Ann-2', 'ann', 'yan', 'zoe']]);
  await tenant.api.send('provisionCustomer', { body: { customerId: 'ann', customerName: 'Über Land' } });
  await deliverToD1(tenant.organizationId, 'ann');
  expect(await searchIds({ search: 'üb' })).toEqual(['Bob', 'ann']);
});

describe('reads', () => {
  test.each<[string, CustomerFilter, string | null, RegExp]>([
    ['a search', { search: 'x' }, null, /customers_by_search \(organization_id=\?/],
    [
      'a search from a place on',
      { search: 'x' },
      'search id',
      /customers_by_search \(organization_id=\? AND \(?customer_id\)?>/,
    ],
    [
      'a search within a plan',
      { search: 'x', planId: 'p' },
      'search id',
      /customers_by_search \(organization_id=\? AND \(?customer_id\)?>/,
    ],
    ['all customers', {}, 'place', /\(organization_id=\? AND \(?customer_id\)?>/],
    [
      'those of a plan',
      { planId: 'p' },
      'place',
      /customers_by_plan \(organization_id=\? AND plan_id=\? AND \(?customer_id\)?>/,
    ],
    ['those on credit', { onCredit: true }, 'place', /customers_on_credit \(organization_id=\? AND \(?customer_id\)?>/],
    [
      'those who were denied',
      { denied: true },
      'place',
      /customers_denied \(organization_id=\? AND \(?customer_id\)?>/,
    ],
  ])('%s from one index, and sorts nothing', async (_, filter, after, used) => {
    const plan = await queryPlansOf((env) => findCustomers(env, tenant.organizationId, filter, { after, limit: 50 }));
    const ofCustomers = plan.filter((detail) => /\bcustomers\b/.test(detail));
    expect(ofCustomers.at(-1)).toMatch(used);
    expect(ofCustomers.filter((detail) => !/^SEARCH customers USING .*INDEX/.test(detail))).toEqual([]);
    expect(plan.filter((detail) => /TEMP B-TREE/.test(detail))).toEqual([]);
  });
});
