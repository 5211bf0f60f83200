/**
 * Tables and charts in a real browser: rows are cards on a phone and low on a wide screen, the head stays in view; the
 * values of a chart are reached by keyboard and by touch.
 */
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { violations } from './accessibility.ts';
import { launch, openPage, signIn } from './browser.ts';
import { sharedServer } from './server.ts';

const ORG = `/console/organizations/${DEMO_ORGANIZATION_ID}`;
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

const server = sharedServer();
let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

async function signedIn(options: Parameters<typeof openPage>[2]) {
  const watched = await openPage(browser, server.url, options);
  await signIn(watched.page, server);
  return watched;
}

const overhang = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** The label of the focused element. */
const focused = (page: Page) => page.evaluate<string | null>('document.activeElement.getAttribute("aria-label")');

/** The values of marks that are seen. */
const seen = (page: Page) => page.locator('.marks .values:visible');

test('on a phone a row is a card: its name and its figure on one line, the rest below', async () => {
  const { page, complaints, close } = await signedIn(PHONE);
  await page.goto('/console/catalog?search=gpt-6&status=ACTIVE&sort=-input');
  const row = page.getByRole('row').nth(1);
  const [title, figure, detail] = await Promise.all(
    ['.in-title', '.in-figure', '.in-detail >> nth=0'].map((part) => row.locator(part).boundingBox()),
  );
  if (!title || !figure || !detail) throw new Error('a card lacks a part');
  expect(Math.abs(title.y - figure.y)).toBeLessThan(8);
  expect(figure.x).toBeGreaterThan(title.x + title.width / 2);
  expect(detail.y).toBeGreaterThan(title.y + title.height / 2);
  // The roles of a table are still there, and so are the links that sort.
  expect(await row.getByRole('rowheader').count()).toBe(1);
  expect(await row.getByRole('cell').count()).toBeGreaterThan(2);
  expect(await page.getByRole('columnheader', { name: 'Input' }).getAttribute('aria-sort')).toBe('descending');
  await page.getByRole('link', { name: 'Output', exact: true }).click();
  await page.waitForURL(/sort=-output/);
  expect(await overhang(page)).toBe(0);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test('on a phone each card shows the figure by which the list is sorted', async () => {
  const { page, complaints, close } = await signedIn({ ...PHONE, colorScheme: 'dark' });
  for (const [sort, label] of [
    ['cost', 'Period cost'],
    ['lastCall', 'Last call'],
    ['worstMeter', 'Worst meter'],
  ] as const) {
    await page.goto(`${ORG}/customers?sort=${sort}`);
    const cards = page.getByRole('row').filter({ has: page.getByRole('rowheader') });
    const shown = cards.locator(`[data-label="${label}"]:visible`);
    expect([sort, await shown.count()]).toEqual([sort, await cards.count()]);
    expect(await cards.count()).toBeGreaterThan(2);
    expect(await page.getByRole('columnheader', { name: label }).getAttribute('aria-sort')).toBe('descending');
  }
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test('a sparkline says dollars of a cost, and calls of calls', async () => {
  const { page, complaints, close } = await signedIn({ viewport: { width: 1440, height: 900 } });
  const titles = () => page.locator('svg.spark title').allTextContents();
  await page.goto(`${ORG}/customers`);
  const costs = await titles();
  expect(costs.length).toBeGreaterThan(2);
  expect(costs.filter((title) => !/: from \$[\d,.]+ to \$[\d,.]+/.test(title))).toEqual([]);
  await page.goto('/console');
  const calls = await titles();
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.filter((title) => !/^Calls a day of .+: from [\d,]+ calls? to [\d,]+ calls?/.test(title))).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test('on a wide screen the rows of calls are low, and the head stays in view', async () => {
  const { page, complaints, close } = await signedIn({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${ORG}/calls`);
  const heights = await page
    .locator('tbody tr')
    .evaluateAll((rows: Element[]) =>
      rows.map((row) => (row as unknown as { offsetHeight: number }).offsetHeight).toSorted((a, b) => a - b),
    );
  expect(heights.length).toBe(50);
  expect(heights[Math.floor(heights.length / 2)]).toBeLessThanOrEqual(36);
  await page.evaluate('scrollTo(0, 1200)');
  const head = await page.getByRole('columnheader', { name: 'Model' }).boundingBox();
  expect(head?.y).toBe(0);
  expect(await overhang(page)).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test('the marks of a chart are one stop of the tab key, and the arrow keys lead through their values', async () => {
  const { page, complaints, close } = await signedIn({ viewport: { width: 1440, height: 900 } });
  await page.goto(ORG);
  const chart = page.getByRole('list', { name: 'Cost per day' });
  expect(await chart.locator('[tabindex="0"]').count()).toBe(1);
  await chart.locator('[tabindex="0"]').focus();
  const last = await focused(page);
  expect(last).toContain('not over');
  await page.keyboard.press('ArrowRight');
  expect(await focused(page)).toBe(last);
  await page.keyboard.press('ArrowLeft');
  const before = await focused(page);
  expect(before).not.toBe(last);
  expect(await seen(page).count()).toBe(1);
  expect(before?.startsWith((await seen(page).locator('strong').textContent()) ?? '-')).toBe(true);
  await page.keyboard.press('Home');
  expect(await chart.locator('[tabindex]').first().getAttribute('aria-label')).toBe(await focused(page));
  await page.keyboard.press('End');
  expect(await focused(page)).toBe(last);
  await page.keyboard.press('ArrowLeft');
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Tab');
  expect(await chart.locator(':focus').count()).toBe(0);
  await page.keyboard.press('Shift+Tab');
  expect(await focused(page)).toBe(before);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/calls\?/);
  expect(complaints).toEqual([]);
  await close();
});

test('a tap on a mark shows its values, a second one follows its link', async () => {
  const { page, complaints, close } = await signedIn(PHONE);
  await page.goto(ORG);
  const mark = page.getByRole('list', { name: 'Cost per day' }).locator('a').nth(4);
  await mark.scrollIntoViewIfNeeded();
  await mark.tap();
  await seen(page).first().waitFor();
  expect(new URL(page.url()).pathname).toBe(ORG);
  await mark.tap();
  await page.waitForURL(/\/calls\?/);
  expect(complaints).toEqual([]);
  await close();
});
