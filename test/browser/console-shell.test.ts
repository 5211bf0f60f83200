/**
 * The navigation of the console in a real browser: the search over any page, the switch between organizations, and
 * tooltips by keyboard; the search and the switch work without script.
 */
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { until } from '../e2e/local-server.ts';
import { violations } from './accessibility.ts';
import { launch, openPage, signIn, type Watched } from './browser.ts';
import { sharedServer } from './server.ts';

const ORG = `/console/organizations/${DEMO_ORGANIZATION_ID}`;

const server = sharedServer();
let browser: Browser;
let other: string;

beforeAll(async () => {
  browser = await launch();
  other = (await server.operator.send('createOrganization', { body: { name: 'Second Ltd' } })).data.organizationId;
  const { callId } = (
    await server.demo.send('beginCall', { body: { customerId: 'ada', customerFriendlyName: 'Ada Lovelace' } })
  ).data;
  const usage = { modelUsed: 'openai/gpt-6-luna', inputTokens: 1_000, responseTokens: 100 };
  expect((await server.demo.send('endCall', { body: { callId, ...usage } })).status).toBe(200);
  const ended = { params: { org: DEMO_ORGANIZATION_ID }, query: { customerId: 'ada', status: 'COMPLETED' } };
  await until(async () => (await server.operator.send('listOrganizationCalls', ended)).data.items.length === 1);
});

async function signedIn(options: Parameters<typeof openPage>[2] = {}): Promise<Watched> {
  const watched = await openPage(browser, server.url, options);
  await signIn(watched.page, server);
  return watched;
}

const palette = (page: Page) => page.getByRole('dialog', { name: 'Search' });
const selected = (page: Page) => palette(page).locator('[role=option][aria-selected=true]');

test('the key / opens the search, which is used by keyboard alone and leads to what is found', async () => {
  const { page, complaints, close } = await signedIn();
  await page.goto(ORG);
  await page.keyboard.press('/');
  const field = palette(page).getByRole('combobox');
  await field.waitFor();
  await page.keyboard.type('ada love');
  await selected(page).filter({ hasText: 'Ada Lovelace' }).waitFor();
  expect(await field.getAttribute('aria-activedescendant')).toBe(await selected(page).getAttribute('id'));
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${ORG}/customers/ada`);

  await page.keyboard.press('Control+k');
  await palette(page).getByRole('option').first().waitFor();
  const first = await selected(page).textContent();
  await page.keyboard.press('ArrowDown');
  expect(await selected(page).textContent()).not.toBe(first);
  await page.keyboard.press('ArrowUp');
  expect(await selected(page).textContent()).toBe(first);
  await page.keyboard.press('Escape');
  expect(await palette(page).isVisible()).toBe(false);
  expect(new URL(page.url()).pathname).toBe(`${ORG}/customers/ada`);
  expect(complaints).toEqual([]);
  await close();
});

test('the key / is typed where a field has the focus', async () => {
  const { page, complaints, close } = await signedIn();
  await page.goto('/console/organizations/new');
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.focus();
  await page.keyboard.type('a/b');
  expect(await name.inputValue()).toBe('a/b');
  expect(await palette(page).isVisible()).toBe(false);
  expect(complaints).toEqual([]);
  await close();
});

test('the search says when the session has ended', async () => {
  const { page, close } = await signedIn();
  await page.context().clearCookies();
  await page.keyboard.press('/');
  await palette(page).getByText('Your session has ended.').waitFor();
  await palette(page).getByRole('link', { name: 'Sign in in a new tab' }).waitFor();
  await close();
});

test('without script, the side searches and switches to the same page of another organization', async () => {
  const { page, complaints, close } = await signedIn({ javaScriptEnabled: false });
  await page.goto(`${ORG}/customers`);
  const side = page.locator('.side-rest');
  await side.getByRole('searchbox', { name: 'Search' }).fill('ada');
  await page.keyboard.press('Enter');
  await page.getByRole('main').getByRole('link', { name: 'Ada Lovelace' }).click();
  expect(new URL(page.url()).pathname).toBe(`${ORG}/customers/ada`);
  await side.locator('.switcher summary').click();
  await side.getByRole('link', { name: 'Second Ltd' }).click();
  expect(new URL(page.url()).pathname).toBe(`/console/organizations/${other}/customers`);
  expect(await side.locator('.switcher summary').textContent()).toContain('Second Ltd');
  expect(complaints).toEqual([]);
  await close();
});

test('a short figure says its exact value by keyboard, pointer and tap, until Escape', async () => {
  const { page, complaints, close } = await signedIn({ hasTouch: true });
  const tip = page.getByRole('tooltip');
  await page.goto(`${ORG}/customers/ada`);
  const figure = page.locator('main [data-tip][tabindex="0"]').first();
  const exact = (await figure.getAttribute('data-tip')) ?? '';
  expect(exact).not.toBe('');
  await figure.focus();
  expect(await tip.textContent()).toBe(exact);
  expect(await figure.getAttribute('aria-describedby')).toBe('tip');
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  expect(await tip.isVisible()).toBe(false);
  await figure.hover();
  expect(await tip.textContent()).toBe(exact);
  // It stays while the pointer is on it.
  await tip.hover();
  expect(await tip.isVisible()).toBe(true);
  await page.getByRole('heading', { level: 1 }).hover();
  expect(await tip.isVisible()).toBe(false);
  await figure.tap();
  expect(await tip.isVisible()).toBe(true);
  expect(complaints).toEqual([]);
  await close();
});

test('the titles of a table are one stop of the Tab key, and the arrow keys go through them', async () => {
  const { page, complaints, close } = await signedIn();
  await page.goto(`${ORG}/calls`);
  const tips = page.locator('main table [data-tip][tabindex]');
  expect(await tips.count()).toBeGreaterThan(1);
  expect(await page.locator('main table [data-tip][tabindex="0"]').count()).toBe(1);
  await tips.first().focus();
  await page.keyboard.press('ArrowDown');
  expect(await page.evaluate<string>('document.activeElement.dataset.tip')).toBe(
    await tips.nth(1).getAttribute('data-tip'),
  );
  expect(complaints).toEqual([]);
  await close();
});

test('pages are set in the font of our own', async () => {
  const { page, complaints, close } = await signedIn();
  await page.evaluate('document.fonts.ready');
  expect(
    await page.evaluate<boolean>(
      '[...document.fonts].some(({ family, status }) => family.includes("Inter") && status === "loaded")',
    ),
  ).toBe(true);
  expect(complaints).toEqual([]);
  await close();
});
