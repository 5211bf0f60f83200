/**
 * The operator's work in a real browser: from signing in by keyboard to revoking a key, without console messages or
 * requests to another origin.
 */
import type { Browser, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { launch, openPage, signIn, type Watched } from './browser.ts';
import { sharedServer } from './server.ts';

const server = sharedServer();
let browser: Browser;
let watched: Watched;
let page: Page;

beforeAll(async () => {
  browser = await launch();
  watched = await openPage(browser, server.url);
  page = watched.page;
});
afterEach(() => {
  expect(watched.complaints).toEqual([]);
});

const heading = () => page.getByRole('heading', { level: 1 }).textContent();
const field = (name: string) => page.getByRole('textbox', { name, exact: true });
/** Every button here sends a form, whose answer is another page. */
const press = (name: string) =>
  Promise.all([page.waitForEvent('load'), page.getByRole('button', { name, exact: true }).click()]);
const follow = (name: string) => page.getByRole('link', { name, exact: true }).first().click();

/** Tabs until the element with this accessible name has the focus. */
async function tabTo(name: string): Promise<void> {
  for (let steps = 0; steps < 40; steps += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate<string>(`(() => {
      const element = document.activeElement;
      return element.labels?.[0]?.textContent ?? element.textContent ?? '';
    })()`);
    if (focused.trim() === name) return;
  }
  throw new Error(`${name} is not reached by Tab`);
}

/** Whether the focused element shows that it is. */
function focusIsVisible(): Promise<boolean> {
  return page.evaluate<boolean>(`getComputedStyle(document.activeElement).outlineStyle !== 'none'`);
}

describe('the console', () => {
  test('can be used by keyboard only, with a visible focus', async () => {
    await page.goto('/console');
    await tabTo('Operator token');
    expect(await focusIsVisible()).toBe(true);
    await page.keyboard.type('not the token, but as long as one could be');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('not the operator token');

    await tabTo('Operator token');
    await page.keyboard.type(server.operatorToken);
    await tabTo('Sign in');
    expect(await focusIsVisible()).toBe(true);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console$/);
    expect(await heading()).toBe('Overview');

    await page.waitForLoadState('load');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console#main$/);
  });

  let key: string;

  test('creates an organization, its default plan, and a key', async () => {
    await page.goto('/console');
    await follow('New organization');
    await field('Name').fill('Browser Ltd');
    await press('Create organization');
    await page.waitForURL(/\/setup\?done=organization$/);
    expect(await page.locator('.notice.good').textContent()).toContain('organization is created');

    await follow('Plans');
    await follow('New plan');
    await field('Plan id').fill('small');
    await field('Name').fill('Small');
    await field('Premium calls').fill('a few');
    await press('Create plan');
    const wrong = field('Premium calls');
    expect(await wrong.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator(':focus').getAttribute('name')).toBe('limits.premiumCalls');
    expect(await page.getByRole('alert').textContent()).toContain('Premium calls: must be a number, such as 100');
    await wrong.fill('2');
    await press('Create plan');
    expect(await heading()).toBe('Small');

    await follow('Plans');
    await follow('New plan');
    await field('Plan id').fill('large');
    await field('Name').fill('Large');
    await field('Premium calls').fill('1,000');
    await press('Create plan');

    await follow('Settings');
    await page.getByLabel('Default plan').selectOption('small');
    await press('Save');
    await follow('API keys');
    await follow('New key');
    await field('Name').fill('Web shop');
    await press('Create key');
    key = (await page.locator('.secret').textContent())?.trim() ?? '';
    expect(key).toMatch(/^utk-[A-Za-z0-9_-]{43}$/);
    await follow('I have copied it');
    expect(await page.content()).not.toContain(key);
  });

  test('shows the calls that were made with that key, and one with its cost lines', async () => {
    const api = server.demo.with(key);
    const begun = await api.send('beginCall', {
      body: { customerId: 'ada', requested: { premium: true }, feature: 'chat' },
    });
    const usage = { inputTokens: 1_000, responseTokens: 200 };
    const end = { callId: begun.data.callId, providerUsed: 'anthropic', modelUsed: 'claude-opus-5-5', ...usage };
    const ended = (await api.send('endCall', { body: end })).data;

    await expect
      .poll(async () => {
        await follow('Customers');
        return page.getByRole('link', { name: 'ada' }).count();
      })
      .toBe(1);
    await follow('ada');
    expect(await page.getByText('1 left, 50%').count()).toBe(1);
    const tabs = page.getByRole('navigation', { name: 'Customer', exact: true });
    await tabs.getByRole('link', { name: 'Calls' }).click();
    await page.getByRole('table', { name: 'Calls' }).getByRole('rowheader').getByRole('link').first().click();
    expect(await page.getByRole('table', { name: 'Cost lines' }).getByRole('row').count()).toBe(3);
    expect(await page.locator(`data[value="${ended.costUSD}"]`).count()).toBeGreaterThan(0);
  });

  test('changes the plan of a customer after a preview', async () => {
    await page.getByRole('link', { name: 'ada' }).first().click();
    await follow('Change plan');
    await page.getByRole('combobox', { name: 'Plan' }).selectOption('large');
    await press('Preview the change');
    const table = page.getByRole('table', { name: 'Remaining before and after' });
    expect(await table.getByRole('row', { name: /Premium calls/ }).textContent()).toContain('999 of 1,000');
    await press('Change the plan now');
    await page.locator('.notice.good').waitFor();
    expect(await page.locator('.notice.good').textContent()).toContain('plan change is saved');
    expect(await page.getByText('999 left, 99.9%').count()).toBe(1);
  });

  test('revokes the key, which then stops working, and signs out', async () => {
    await follow('API keys');
    await follow('Web shop');
    await follow('Revoke key');
    expect(await page.getByRole('main').textContent()).toContain('stops working at once');
    await press('Revoke key');
    await page.locator('.notice.good').waitFor();
    expect(await page.locator('.notice.good').textContent()).toContain('no longer works');
    expect((await server.demo.with(key).send('beginCall', { body: { customerId: 'ada' } })).status).toBe(401);

    await follow('Event log');
    const events = await page.getByRole('main').textContent();
    for (const change of [
      'Revoked the API key',
      'Moved',
      'Created the API key',
      'Created the plan',
      'Created the organization',
    ])
      expect(events).toContain(change);

    await press('Sign out');
    await page.goto('/console');
    expect(await heading()).toBe('Operator console');
  });
});

test('on a phone, every page is reachable through the menu without script', async () => {
  const phone = await openPage(browser, server.url, {
    viewport: { width: 360, height: 740 },
    javaScriptEnabled: false,
  });
  await signIn(phone.page, server);
  await phone.page.getByText('Menu').click();
  await phone.page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Health' }).click();
  expect(await phone.page.getByRole('heading', { level: 1 }).textContent()).toBe('Health');
  expect(phone.complaints).toEqual([]);
  await phone.close();
});
