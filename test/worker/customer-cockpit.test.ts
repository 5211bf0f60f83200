/**
 * Promise: the list of customers shows the same as each customer's own readings for the last 30 days; the filters that
 * need more than a customer's row match picking by hand, by API and in the console; the console's list sorts, filters,
 * counts and turns its pages by links alone.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { changeWords } from '../../src/console/cost.tsx';
import { usd } from '../../src/domain/money.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { deliverToD1, operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 24, 12);
const PLAN = { name: 'Free', limitType: 'BLOCK', limits: { standardCalls: 10, premiumCalls: 0 }, priceUsd: '0' };
const PRICED = { name: 'Pro', limitType: 'NONE', priceUsd: '20' };
const UNPRICED = { name: 'Old', limitType: 'NONE' };

const visitor = new Visitor();
let tenant: Tenant;
let customers: string;

async function call(customerId: string, modelUsed: string, end: Record<string, unknown> = {}): Promise<void> {
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId } })).data;
  await tenant.api.send('endCall', { body: { callId, modelUsed, inputTokens: 100_000, responseTokens: 10, ...end } });
}

async function calls(customerId: string, count: number, modelUsed: string, end?: Record<string, unknown>) {
  for (let made = 0; made < count; made += 1) await call(customerId, modelUsed, end);
}

const listIds = async (query: Record<string, string>) => {
  const params = { org: tenant.organizationId };
  const [own, asOperator] = await Promise.all([
    tenant.api.send('listCustomers', { query }),
    operator.send('listOrganizationCustomers', { params, query }),
  ]);
  expect(asOperator.data.items).toEqual(own.data.items);
  return own.data.items.map(({ customerId }) => customerId);
};

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW - 40 * DAY });
  tenant = await createTenant(operator, PLAN);
  const org = tenant.organizationId;
  customers = `/console/organizations/${org}/customers`;
  await operator.send('putPlan', { params: { org, planId: 'pro' }, body: PRICED });
  await operator.send('putPlan', { params: { org, planId: 'old' }, body: UNPRICED });
  const contacts: Record<string, string> = { grown: 'Grown & Co', ends: 'Ending Ltd', lost: 'Lost GmbH' };
  for (const customerId of ['grown', 'fails', 'ends', 'lost', 'earns', 'old', 'idle'])
    await tenant.api.send('provisionCustomer', {
      body: { customerId, ...(contacts[customerId] && { customerName: contacts[customerId] }) },
    });
  for (const [customerId, planId] of [
    ['earns', 'pro'],
    ['old', 'old'],
  ] as const)
    await tenant.api.send('changePlan', { params: { customerId }, body: { planId } });
  await call('grown', 'gpt-6-luna');
  await call('idle', 'gpt-4o-mini');
  vi.setSystemTime(NOW - DAY);
  await calls('grown', 3, 'gpt-6-luna');
  await calls('fails', 2, 'gpt-6-luna');
  await calls('fails', 1, 'gpt-6-luna', { error: { code: 'VENDOR_TIMEOUT', message: 'no answer' } });
  await call('ends', 'gpt-4o-mini');
  await calls('lost', 9, 'gpt-6-luna');
  await call('lost', 'no-such-model');
  await call('earns', 'gpt-6-luna');
  await call('old', 'gpt-6-luna');
  vi.setSystemTime(NOW);
  for (const customerId of ['grown', 'fails', 'ends', 'lost', 'earns', 'old', 'idle'])
    await deliverToD1(org, customerId);
  await visitor.signIn();
});
afterAll(() => {
  vi.useRealTimers();
});

describe('the list finds', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['whose calls fail', { failing: '0.1' }, ['fails']],
    ['whose calls fail, but not by less than is asked for', { failing: '0.5' }, []],
    ['who pays for a model that ends, not who did so long ago', { endingModel: 'true' }, ['ends']],
    ['the others', { endingModel: 'false', sort: 'customerId' }, ['earns', 'fails', 'grown', 'idle', 'lost', 'old']],
    [
      'who costs more than it earns, where the price of the plan is known',
      { unprofitable: 'true' },
      ['ends', 'fails', 'grown', 'lost'],
    ],
    ['the same in another order and pages', { unprofitable: 'true', sort: 'cost', limit: '1' }, ['lost']],
    ['the others of it', { unprofitable: 'false' }, ['earns', 'idle', 'old']],
    ['all of it together', { unprofitable: 'true', endingModel: 'true', search: 'LTD', planId: 'test' }, ['ends']],
    ['none together', { failing: '0.1', endingModel: 'true' }, []],
  ])('%s', async (_, query, found) => {
    expect(await listIds(query)).toEqual(found);
  });

  test('refuses a share that is none, by name', async () => {
    const { refusal } = await tenant.api.send('listCustomers', { query: { failing: '2' } });
    expect(refusal.message).toContain('failing');
  });
});

/** The text of a customer's row. */
async function readRow(customerId: string, query = ''): Promise<string> {
  const { html } = await visitor.read(`${customers}?${query}`);
  const row = html.split('<tr ').find((part) => part.includes(`href="${customers}/${customerId}"`)) ?? '';
  return row.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

describe('the console', () => {
  test('shows cost and margin of 30 days as the API has them, and the change in words', async () => {
    const from = new Date(NOW - 29 * DAY).toISOString().slice(0, 10);
    const query = { from, customerId: 'grown' };
    const { totals } = (await tenant.api.send('readUsageSummary', { query })).data;
    const row = await readRow('grown');
    expect(row).toContain('Grown & Co'.replace('&', '&amp;'));
    expect(row).toContain(usd(BigInt(totals.costUsdNano)));
    expect(row).toContain('3 times as much');
    expect(row).toContain(`-${usd(BigInt(totals.costUsdNano))}`);
    expect(await readRow('lost')).toContain('1 call without a price');
    expect(await readRow('old')).toContain('plan has no price');
    expect(await readRow('earns')).toContain('new');
  });

  test('says what is wrong with a customer', async () => {
    expect(await readRow('fails')).toContain('33.3% failed');
    expect(await readRow('ends')).toMatch(/model ends \d+ \w+ 20\d\d\s+openai\/gpt-4o-mini-2024-07-18/);
    expect(await readRow('lost')).toContain('100% Standard calls 10 of 10');
    expect(await readRow('idle')).toContain('active');
  });

  test('narrows by links with counts, keeps what narrows already, and takes each away', async () => {
    const { html, text } = await visitor.read(`${customers}?endingModel=true`);
    expect(text).toContain('Near a limit 1');
    expect(text).toContain('1 customer');
    expect(text).not.toContain('Lost GmbH');
    expect(html).toContain(`href="${customers}?endingModel=true&amp;nearLimit=0.8"`);
    expect(html).toContain(`<a class="badge" href="${customers}" title="Remove filter">`);
    const none = await visitor.read(`${customers}?endingModel=true&nearLimit=0.8`);
    expect(none.text).toContain('No customers match');
    expect((await visitor.send(`${customers}?failing=many`)).status).toBe(400);
  });

  test('sorts by its heads: by default the highest cost first, of a search by id', async () => {
    const order = async (query: string) => {
      const { html } = await visitor.read(`${customers}?${query}`);
      const rows = html.split('<tbody')[1] ?? '';
      const ids = [...rows.matchAll(/<th role="rowheader"[\s\S]*?customers\/(\w+)"/g)].map(([, id]) => id);
      return { ids, sorted: /aria-sort="(\w+)"><a[^>]*>([^<]+)/.exec(html)?.slice(1) };
    };
    expect((await order('')).sorted).toEqual(['descending', 'Period cost']);
    expect(await order('sort=customerId')).toMatchObject({
      ids: ['earns', 'ends', 'fails', 'grown', 'idle', 'lost', 'old'],
      sorted: ['ascending', 'Customer'],
    });
    expect((await order('nearLimit=0.1')).ids[0]).toBe('lost');
    expect((await order('search=L')).sorted).toEqual(['ascending', 'Customer']);
  });

  test('is a file of what is narrowed', async () => {
    const { headers, html } = await visitor.read(`${customers}?unprofitable=true&sort=customerId&format=csv`);
    expect(headers.get('Content-Disposition')).toContain('customers.csv');
    const [titles = '', ...lines] = html.trimEnd().split('\r\n');
    expect(titles).toContain('onCredit,denied');
    expect(lines.map((line) => line.split(',')[0])).toEqual(['ends', 'fails', 'grown', 'lost']);
  });
});

test.each([
  [0n, 0n, null],
  [5n, 0n, 'new'],
  [0n, 5n, 'down 100%'],
  [1_004n, 1_000n, 'as before'],
  [1_230n, 1_000n, 'up 23%'],
  [950n, 1_000n, 'down 5%'],
  [4_250n, 1_000n, '4.3 times as much'],
])('%d after %d is %j', (nano, before, said) => {
  expect(changeWords({ now: nano, before })).toBe(said);
});
