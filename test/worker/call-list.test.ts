/**
 * Promise: `GET /calls` lists an organization's calls, and nobody else's; every filter and order gives what picking by
 * hand from the whole list gives; and a search that does not cover everything says so.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { CALLS_SEARCHED_MAX, type CallListItem } from '../../src/contract/call-list.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { formatUsd } from '../../src/domain/money.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator, worker } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const PLAN = { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 0 } };
const START_MS = Date.parse('2026-11-01T00:00:00Z');

let tenant: Tenant;
let other: Tenant;
let all: CallListItem[];

const list = async ({ api }: Tenant, query: Record<string, string> = {}) =>
  (await api.send('listCalls', { query })).data;
const callIds = (items: readonly { callId: string }[]) => items.map(({ callId }) => callId);

async function call({ api }: Tenant, begin: object, end: object | null): Promise<void> {
  const { callId } = (await api.send('beginCall', { body: begin })).data;
  if (end) await api.send('endCall', { body: { callId, ...end } });
}

beforeAll(async () => {
  [tenant, other] = await Promise.all([createTenant(operator, PLAN), createTenant(operator, PLAN)]);
  const usage = { inputTokens: 1_000, cachedInputTokens: 100, responseTokens: 200 };
  await call(
    tenant,
    { customerId: 'ann', customerUserId: 'u1', feature: 'chat', tags: ['a', 'b'] },
    { modelUsed: 'gpt-4o-mini', ...usage },
  );
  await call(
    tenant,
    { customerId: 'ann', customerUserId: 'u2', feature: '=1+1', tags: ['b'] },
    { modelUsed: 'gpt-4o', ...usage },
  );
  await call(tenant, { customerId: 'ann', feature: 'chat' }, { modelUsed: 'my-own-model', ...usage });
  await call(
    tenant,
    { customerId: 'bob', feature: 'chat', tags: ['a'] },
    { modelUsed: 'openai/gpt-4o-mini', inputTokens: 5, responseTokens: 5 },
  );
  await call(tenant, { customerId: 'bob' }, { error: { code: 'VENDOR_TIMEOUT', message: 'no answer' } });
  await call(tenant, { customerId: 'bob', requested: { premium: true } }, null);
  await call(tenant, { customerId: 'bob', feature: 'open' }, null);
  await call(other, { customerId: 'ann', feature: 'chat' }, { modelUsed: 'gpt-4o', ...usage });
  for (const customerId of ['ann', 'bob']) await deliverToD1(tenant.organizationId, customerId);
  await deliverToD1(other.organizationId, 'ann');
  all = (await list(tenant)).items;
});

describe('the list', () => {
  test('has every call of the organization, the newest first, with what it used and cost', async () => {
    expect(all.map(({ customerId, status }) => [customerId, status])).toEqual([
      ['bob', 'IN_PROGRESS'],
      ['bob', 'NOT_ALLOWED'],
      ['bob', 'FAILED'],
      ['bob', 'COMPLETED'],
      ['ann', 'COMPLETED'],
      ['ann', 'COMPLETED'],
      ['ann', 'COMPLETED'],
    ]);
    const dear = all[5];
    expect(dear).toMatchObject({
      modelUsed: 'gpt-4o',
      inputTokens: 1_000,
      cachedInputTokens: 100,
      responseTokens: 200,
      tags: ['b'],
    });
    const read = (await tenant.api.send('readCall', { params: { callId: dear?.callId ?? '' } })).data;
    expect([dear?.costUsdNano, dear?.costUSD]).toEqual([read.costUsdNano, read.costUSD]);
    expect((await list(other)).items).toHaveLength(1);
  });

  test.each<[Record<string, string>, (item: CallListItem) => boolean]>([
    [{ customerId: 'bob' }, ({ customerId }) => customerId === 'bob'],
    [{ customerUserId: 'u1' }, ({ customerUserId }) => customerUserId === 'u1'],
    [{ feature: 'chat' }, ({ feature }) => feature === 'chat'],
    [{ model: 'gpt-4o-mini' }, ({ modelUsed }) => modelUsed === 'gpt-4o-mini'],
    [{ model: 'openai/gpt-4o-mini-2024-07-18' }, ({ modelKey }) => modelKey === 'openai/gpt-4o-mini-2024-07-18'],
    [{ tag: 'b' }, ({ tags }) => tags.includes('b')],
    [{ status: 'NOT_ALLOWED' }, ({ status }) => status === 'NOT_ALLOWED'],
    [{ errorCode: 'VENDOR_TIMEOUT' }, ({ errorCode }) => errorCode === 'VENDOR_TIMEOUT'],
    [{ priced: 'true' }, ({ costUsdNano }) => costUsdNano !== null],
    [
      { priced: 'false' },
      ({ costUsdNano, endedAt, status }) => costUsdNano === null && endedAt !== null && status !== 'NOT_ALLOWED',
    ],
    [{ costAboveUsd: '0.001' }, ({ costUsdNano }) => costUsdNano !== null && BigInt(costUsdNano) > 1_000_000n],
    [
      { customer_id: 'ann', feature: 'chat', priced: 'true' },
      ({ customerId, feature, costUsdNano }) => customerId === 'ann' && feature === 'chat' && costUsdNano !== null,
    ],
  ])('narrowed by %o has what picking by hand gives', async (query, keep) => {
    const expected = callIds(all.filter(keep));
    expect(expected.length).toBeGreaterThan(0);
    expect(callIds((await list(tenant, query)).items)).toEqual(expected);
  });

  test('is half-open in time', async () => {
    const from = all[3]?.startedAt ?? '';
    expect(callIds((await list(tenant, { from })).items)).toEqual(
      callIds(all.filter(({ startedAt }) => startedAt >= from)),
    );
    expect(callIds((await list(tenant, { to: from })).items)).toEqual(
      callIds(all.filter(({ startedAt }) => startedAt < from)),
    );
  });

  test.each(['startedAt', 'cost'])('by %s comes in pages without repeats or gaps', async (sort) => {
    const whole = (await list(tenant, { sort })).items;
    if (sort === 'cost') {
      const costs = whole.map(({ costUsdNano }) => BigInt(costUsdNano ?? -1));
      expect(costs).toEqual(costs.toSorted((a, b) => (a < b ? 1 : -1)));
      expect(whole).toHaveLength(all.filter(({ costUsdNano }) => costUsdNano !== null).length);
    }
    const found: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await list(tenant, { sort, limit: '2', ...(cursor !== '' && { cursor }) });
      found.push(...callIds(page.items));
      cursor = page.nextCursor;
    }
    expect(found).toEqual(callIds(whole));
  });

  test('is the same for the operator', async () => {
    const params = { org: tenant.organizationId };
    expect((await operator.send('listOrganizationCalls', { params })).data.items).toEqual(all);
    expect((await operator.send('listOrganizationCalls', { params: { org: 'nobody' } })).refusal.code).toBe(
      'NOT_FOUND',
    );
  });

  test('refuses what it does not have, by name', async () => {
    const listRefusal = async (query: Record<string, string>) =>
      (await tenant.api.send('listCalls', { query })).refusal.message;
    expect(await listRefusal({ colour: 'red' })).toContain('colour');
    expect(await listRefusal({ status: 'DONE' })).toContain('status');
    expect(await listRefusal({ costAboveUsd: 'much' })).toContain('costAboveUsd');
    expect(await listRefusal({ from: '2026-11-02T00:00:00Z', to: '2026-11-01T00:00:00Z' })).toContain('to');
  });

  test('is CSV if Accept prefers it, with no cell that a spreadsheet takes for a formula', async () => {
    const { key } = (
      await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'csv' } })
    ).data;
    const response = await worker.fetch('https://callmeter.test/calls?limit=1', {
      headers: { Authorization: `Bearer ${key}`, Accept: `text/csv, ${MEDIA_TYPE};q=0.5` },
    });
    const lines = (await response.text()).trimEnd().split('\r\n');
    expect(lines).toHaveLength(1 + all.length);
    expect(lines[0]).toMatch(/^callId,customerId,customerUserId,feature,tags,status,/);
    expect(lines.some((line) => line.includes(",'=1+1,"))).toBe(true);
  });
});

describe("the console's list", () => {
  const visitor = new Visitor();
  const listPath = (query: Record<string, string>) =>
    `/console/organizations/${tenant.organizationId}/calls?${new URLSearchParams(query)}`;
  const FILTERS: Record<string, string>[] = [
    {},
    { customerId: 'bob' },
    { customerUserId: 'u1' },
    { feature: 'chat' },
    { model: 'gpt-4o-mini' },
    { tag: 'b' },
    { status: 'NOT_ALLOWED' },
    { reason: 'ALLOWANCE_EXHAUSTED' },
    { errorCode: 'VENDOR_TIMEOUT' },
    { priced: 'false' },
    { costAboveUsd: '0.001', sort: 'cost' },
    { from: '2000-01-01T00:00', to: '2100-01-01T00:00' },
  ];
  const asApi = ({ from, to, ...rest }: Record<string, string>) => ({
    ...rest,
    ...(from && { from: `${from}:00Z` }),
    ...(to && { to: `${to}:00Z` }),
  });

  beforeAll(async () => {
    await visitor.signIn();
  });

  test.each(FILTERS)(
    'narrowed by %o has the calls of the API, their number and the sum of their costs',
    async (filter) => {
      const { items } = await list(tenant, asApi(filter));
      expect(items.length).toBeGreaterThan(0);
      const { html, text } = await visitor.read(listPath(filter));
      const links = [...html.matchAll(/<th[^>]*><span class="whole"><a href="[^"]*\/calls\/([^"]+)"/g)].map(
        ([, id = '']) => decodeURIComponent(id),
      );
      expect(links).toEqual(callIds(items));
      const cost = items.reduce((sum, { costUsdNano }) => sum + BigInt(costUsdNano ?? 0), 0n);
      expect(/<dt>Calls<\/dt><dd><span class="stat-value"><span class="num">(\d+)</.exec(html)?.[1]).toBe(
        String(items.length),
      );
      const unpriced = items.filter(
        ({ costUsdNano, status, reversedAt }) =>
          costUsdNano === null && reversedAt === null && ['COMPLETED', 'FAILED'].includes(status),
      );
      // An unknown cost is no zero.
      const isKnown = cost > 0n || unpriced.length === 0;
      const shown = /<dt>Cost<\/dt><dd><span class="stat-value"><data value="([^"]+)"/.exec(html)?.[1];
      expect(shown).toBe(isKnown ? formatUsd(cost) : undefined);
      expect(/Cost no price/.test(text)).toBe(!isKnown);
      expect(/\d calls? without a price/.test(text)).toBe(unpriced.length > 0);
    },
  );

  test('is a file of what is filtered, as CSV and as JSON', async () => {
    const { items } = await list(tenant, { feature: 'chat' });
    const json = await visitor.read(listPath({ feature: 'chat', format: 'json' }));
    expect([json.headers.get('Content-Disposition'), JSON.parse(json.html)]).toEqual([
      'attachment; filename="calls.json"',
      items,
    ]);
    const csv = await visitor.read(listPath({ feature: 'chat', format: 'csv' }));
    expect(csv.html.trim().split(/\r?\n/)).toHaveLength(items.length + 1);
  });

  test('leads from every value to the calls that have it, and takes each filter away again', async () => {
    const { html } = await visitor.read(listPath({ customerId: 'ann', feature: 'chat' }));
    const links = [...html.matchAll(/href="([^"]*\/calls\?[^"]*)"/g)].map(([, href = '']) =>
      Object.fromEntries(new URLSearchParams(href.replaceAll('&amp;', '&').split('?')[1])),
    );
    for (const narrowed of [{ customerUserId: 'u1' }, { tag: 'a' }, { model: 'gpt-4o-mini' }, { status: 'COMPLETED' }])
      expect(links).toContainEqual({ customerId: 'ann', feature: 'chat', ...narrowed });
    for (const rest of [{ customerId: 'ann' }, { feature: 'chat' }]) expect(links).toContainEqual(rest);
  });

  test('names a filter that it cannot take, and keeps what was typed', async () => {
    const { status, html } = await visitor.send(listPath({ costAboveUsd: 'much', feature: 'chat' }));
    expect(status).toBe(400);
    expect(html).toContain('Cost above, USD: ');
    expect(html).toContain('value="much"');
  });
});

test('a search of more calls than it looks at says since when, and goes on from there', async () => {
  const large = await createTenant(operator, PLAN);
  const count = CALLS_SEARCHED_MAX + 50;
  await bindings.DB.prepare(
    `INSERT INTO calls (organization_id, call_id, customer_id, feature, status, started_at_ms, usage_plan_version_id, pricing_mode,
       usage_provider, record, revision, delivery)
     WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?2)
     SELECT ?1, printf('call-%05d', n), 'c', CASE WHEN n % 1000 = 0 THEN 'rare' END, 'COMPLETED', ?3 + n, 'v', 'standard', '', '{}', 1, 0
     FROM number`,
  )
    .bind(large.organizationId, count, START_MS)
    .run();
  const newest = await list(large, { feature: 'rare' });
  expect(newest.searchedFrom).toBe(new Date(START_MS + 50).toISOString());
  expect(newest.items).toHaveLength(10);
  const older = await list(large, { feature: 'rare', to: newest.searchedFrom ?? '' });
  expect([older.searchedFrom, callIds(older.items)]).toEqual([null, ['call-00000']]);
  expect((await list(large)).searchedFrom).toBeNull();
});
