/**
 * Seven questions of an operator are answered within three clicks from the overview, each with the API's figure:
 * yesterday's cost and earnings of a customer, the customers near a limit, the users of a model that ends, the reason
 * of a denied call, the changes of a plan and their authors, the calls without a price, and whether the service lags.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { formatUsd } from '../../src/domain/money.ts';
import { until } from '../e2e/local-server.ts';
import { launch, openPage, signIn, type Watched } from './browser.ts';
import { writeHistory } from './history.ts';
import { endingModel } from './present.ts';
import { type OwnServer, startBrowserServer } from './server.ts';

const CLICKS_MAX = 3;
const HISTORY_DAYS = 3;
const DAY_MS = 86_400_000;
const CUSTOMER = 'acme';
const PLAN = { name: 'Team', limitType: 'BLOCK', limits: { premiumCalls: 5 }, priceUsd: '30.00' };
const PREMIUM_CALLS_NOW = 6;
const ENDING = endingModel();
const org = { org: DEMO_ORGANIZATION_ID };

let server: OwnServer;
let browser: Browser;
let watched: Watched;
let page: Page;
let clicks = 0;

beforeAll(async () => {
  [server, browser] = await Promise.all([startBrowserServer(inject('shared').bundleDir), launch()]);
  await writeHistory(server.db, DEMO_ORGANIZATION_ID, HISTORY_DAYS, Date.now());
  await makePresent();
  watched = await openPage(browser, server.url);
  page = watched.page;
  await signIn(page, server);
});
afterAll(async () => {
  await server?.stop();
});
afterEach(() => {
  expect(watched.complaints).toEqual([]);
});

/** A premium call; if it is denied, nothing runs. */
async function call(customerId: string, modelUsed: string): Promise<void> {
  const begun = await server.demo.send('beginCall', { body: { customerId, requested: { premium: true } } });
  if (!begun.data.allowed.premium) return;
  const [providerUsed, model] = modelUsed.split('/');
  await server.demo.send('endCall', {
    body: { callId: begun.data.callId, providerUsed, modelUsed: model, inputTokens: 900, responseTokens: 80 },
  });
}

/** A plan with a price, a customer near its limit and one beyond it, a model that ends, and one without a price. */
async function makePresent(): Promise<void> {
  const { operator } = server;
  await operator.send('putPlan', { params: { ...org, planId: 'team' }, body: PLAN });
  await operator.send('updateOrganization', { params: org, body: { defaultPlanId: 'team' } });
  await call(CUSTOMER, 'openai/gpt-6-sol');
  for (let made = 0; made < 4; made += 1) await call('near', 'openai/gpt-6-sol');
  for (let made = 0; made < 6; made += 1) await call('beyond', 'openai/gpt-6-sol');
  await call('late', `${ENDING.provider}/${ENDING.model}`);
  await call('late', 'openai/a-model-that-nobody-knows');
  const limits = { premiumCalls: PREMIUM_CALLS_NOW };
  await operator.send('putPlan', { params: { ...org, planId: 'team' }, body: { ...PLAN, limits } });
  await until(
    async () =>
      (await calls({ status: 'NOT_ALLOWED' })).length === 1 && (await calls({ priced: 'false' })).length === 1,
  );
}

const calls = async (query: Record<string, string>) =>
  (await server.operator.send('listOrganizationCalls', { params: org, query })).data.items;

const dayText = (atMs: number) => new Date(atMs).toISOString().slice(0, 'yyyy-mm-dd'.length);

async function ask(): Promise<void> {
  clicks = 0;
  await page.goto('/console');
}

/** Follows the first link of this name. */
async function follow(name: string | RegExp): Promise<void> {
  clicks += 1;
  const link = page.getByRole('main').getByRole('link', { name, exact: true }).first();
  const side = page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name, exact: true }).first();
  await link.or(side).first().click();
  await page.waitForLoadState();
}

const text = async () => (await page.getByRole('main').innerText()).replaceAll(/\s+/g, ' ');

/** The exact value of the figure with this name. */
async function figure(name: string): Promise<string | null> {
  const stat = page.locator('.stat').filter({ has: page.getByText(name, { exact: true }) });
  return stat.locator('data').first().getAttribute('value');
}

/** Ids of the customers that the list shows. */
async function listedCustomers(): Promise<string[]> {
  const hrefs = await page
    .locator('tbody th a')
    .evaluateAll<string[], { href: string }>((links) => links.map(({ href }) => href));
  return hrefs.map((href) => decodeURIComponent(new URL(href).pathname.split('/').at(-1) ?? '')).sort();
}

test("what a customer cost yesterday, and its margin, are the API's to the last nano-USD", async () => {
  await ask();
  await follow('Customers');
  await follow(CUSTOMER);
  await follow('Yesterday');
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  const today = Date.now() - (Date.now() % DAY_MS);
  const { totals } = (
    await server.operator.send('readCustomerMargin', {
      params: { ...org, customerId: CUSTOMER },
      query: { from: dayText(today - DAY_MS), to: dayText(today) },
    })
  ).data;
  expect(totals.calls).toBeGreaterThan(0);
  expect(await figure('Cost')).toBe(formatUsd(BigInt(totals.costUsdNano)));
  expect(await figure('Margin')).toBe(formatUsd(BigInt(totals.marginUsdNano)));
});

test('who is near a limit: as many as the overview says, and those that the API lists', async () => {
  const near = (await server.operator.send('listOrganizationCustomers', { params: org, query: { nearLimit: '0.8' } }))
    .data.items;
  expect(near.map(({ customerId }) => customerId).sort()).toEqual(['beyond', 'near']);
  await ask();
  await follow(`${near.length} customers near a limit`);
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  expect(await listedCustomers()).toEqual(near.map(({ customerId }) => customerId).sort());
});

test('which customers use a model that ends', async () => {
  const query = { endingModel: 'true' };
  const using = (await server.operator.send('listOrganizationCustomers', { params: org, query })).data.items;
  expect(using.map(({ customerId }) => customerId)).toContain('late');
  await ask();
  await follow(/models? in use ends?$/);
  await follow('Customers that use them');
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  expect(await listedCustomers()).toEqual(using.map(({ customerId }) => customerId).sort());
});

test('why a call was denied: the meter and its figures at that moment', async () => {
  const [denied] = await calls({ status: 'NOT_ALLOWED' });
  expect(denied).toMatchObject({ customerId: 'beyond', denial: { code: 'ALLOWANCE_EXHAUSTED', limit: 5, used: 5 } });
  await ask();
  await follow('1 denied call');
  clicks += 1;
  await page.locator('tbody th a').first().click();
  await page.waitForLoadState();
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  expect(await text()).toContain('Asked for premium. Denied: 5 of the 5 premium calls of Team were used.');
});

test('what changed on a plan, and who did it', async () => {
  const [change] = (
    await server.operator.send('listEvents', {
      query: { organizationId: DEMO_ORGANIZATION_ID, kind: 'plan', limit: '1' },
    })
  ).data.items;
  await ask();
  await follow('Plans');
  await follow('Team');
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  const changes = (await page.locator('#changes').innerText()).replaceAll(/\s+/g, ' ');
  expect(changes).toMatch(new RegExp(`Premium calls ${PLAN.limits.premiumCalls} → ${PREMIUM_CALLS_NOW}`));
  expect(change?.actor).toBe('operator');
  expect(changes).toContain('by the operator token');
});

test('which calls have no price: by model, as many as the API lists', async () => {
  const unpriced = await calls({ priced: 'false' });
  await ask();
  await follow(`${unpriced.length} call without a price`);
  expect(await text()).toContain('a-model-that-nobody-knows');
  await follow(`${unpriced.length} call without a price of a-model-that-nobody-knows`);
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  const listed = page.locator('tbody th a');
  expect(await listed.count()).toBe(unpriced.length);
  expect(await listed.first().getAttribute('href')).toContain(encodeURIComponent(unpriced[0]?.callId ?? 'none'));
});

test('whether the service lags: how long a change waited for the reports in the last day', async () => {
  const { longestWaitMs } = (await server.operator.send('readHealthHistory')).data.totals;
  await ask();
  await follow('Health');
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
  expect(await figure('Longest wait')).toBe(String(longestWaitMs));
});
