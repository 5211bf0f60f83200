/**
 * The public pages in a browser: API reference and model pages, in light and dark mode and at phone width. None scrolls
 * sideways, logs an error or has an axe violation. Screenshots are stored in `.state/screenshots-public`.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { violations } from './accessibility.ts';
import { launch, openPage } from './browser.ts';
import { type BrowserServer, startBrowserServer } from './server.ts';

const PICTURES = join(import.meta.dirname, '../../.state/screenshots-public');

let server: BrowserServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startBrowserServer(), launch()]);
  await mkdir(PICTURES, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const PAGES = {
  docs: '/docs',
  'docs-search': '/docs?q=credit',
  'docs-nothing-found': '/docs?q=no+such+words',
  'docs-operation': '/docs/endCall',
  'docs-plan-operation': '/docs/putPlan',
  'docs-gateway': '/docs/createChatCompletion',
  'docs-schema': '/docs/schemas/Plan',
  'docs-not-found': '/docs/nothing',
  models: '/models',
  'models-search': '/models?q=gemini+flash',
  'model-retired': '/models/openai/gpt-4-32k',
  'model-active': '/models/anthropic/claude-opus-5-5',
  'model-not-found': '/models/openai/gpt-4o-minni',
};

const VIEWS: Record<string, BrowserContextOptions> = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 780 }, isMobile: true, hasTouch: true },
};

describe.each(Object.entries(VIEWS))('in %s', (view, options) => {
  test.each(Object.entries(PAGES))('%s', async (name, path) => {
    const { page, complaints, close } = await openPage(browser, server.url, options);
    await page.goto(path);
    const wide = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    await page.screenshot({ path: join(PICTURES, `${name}-${view}.png`), fullPage: true });
    expect(wide).toBe(0);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});

test('from a search to a model and its replacement, by keyboard', async () => {
  const { page, complaints, close } = await openPage(browser, server.url);
  await page.goto('/models');
  await page.keyboard.press('Tab');
  await expect
    .poll(() => page.evaluate<string>('document.activeElement.textContent.trim()'))
    .toBe('Skip to the content');
  await page.getByLabel('Find a model').fill('gpt-4-32k');
  await page.keyboard.press('Enter');
  await page
    .getByRole('link', { name: /^openai\/gpt-4-32k/ })
    .first()
    .press('Enter');
  await page.waitForURL(/\/models\/openai\/gpt-4-32k[\d-]*$/);
  await page.getByRole('region', { name: 'What to do' }).getByRole('link').first().press('Enter');
  await page.waitForURL(/\/models\/openai\/(?!gpt-4-32k)/);
  expect(complaints).toEqual([]);
  await close();
});

test('from a search in the reference to an example that can be selected as a whole', async () => {
  const { page, complaints, close } = await openPage(browser, server.url);
  await page.goto('/docs');
  await page.getByLabel('Find an operation or a field').fill('call_end');
  await page.getByRole('button', { name: 'Search' }).click();
  await page
    .getByRole('link', { name: /\/call_end/ })
    .first()
    .click();
  await page.waitForURL(/\/docs\/endCall$/);
  await page.getByRole('region', { name: 'Command to try it with' }).locator('pre').click();
  const selected = await page.evaluate<string>('getSelection().toString()');
  expect(selected).toMatch(/^CALL_ID=\$\(curl/);
  expect(selected).toContain('/call_end');
  expect(complaints).toEqual([]);
  await close();
});
