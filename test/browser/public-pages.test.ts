/**
 * The public pages in a browser: start page, API reference and model pages, in light and dark mode and at phone width.
 * None scrolls sideways, logs an error or has an axe violation.
 */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { violations } from './accessibility.ts';
import { launch, openPage, type Watched } from './browser.ts';
import { takePicture } from './pictures.ts';
import { sharedServer } from './server.ts';

const server = sharedServer();
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});

const PAGES = {
  start: '/',
  docs: '/docs',
  'docs-search': '/docs?q=credit',
  'docs-nothing-found': '/docs?q=zebra+crossing',
  'docs-operation': '/docs/endCall',
  'docs-plan-operation': '/docs/putPlan',
  'docs-gateway': '/docs/createChatCompletion',
  'docs-schema': '/docs/schemas/Plan',
  'docs-schemas': '/docs/schemas',
  'docs-errors': '/docs/errors',
  'docs-guide': '/docs/guides/concepts',
  'docs-start': '/docs/guides/README',
  'docs-python': '/docs/guides/python',
  'docs-tables': '/docs/guides/credit',
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
  let watched: Watched;
  beforeAll(async () => {
    watched = await openPage(browser, server.url, options);
  });
  afterAll(() => watched?.close());

  test.each(Object.entries(PAGES))('%s', async (name, path) => {
    const { page, complaints } = watched;
    complaints.length = 0;
    await page.goto(path);
    const wide = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    await takePicture(page, `${name}-${view}`);
    expect(wide).toBe(0);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
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

test('from a search in the reference to an example that can be copied', async () => {
  const { page, complaints, close } = await openPage(browser, server.url);
  await page.goto('/docs');
  await page.getByLabel('Search').fill('call_end');
  await page.getByRole('button', { name: 'Search' }).click();
  await page
    .getByRole('link', { name: /\/call_end/ })
    .first()
    .click();
  await page.waitForURL(/\/docs\/endCall$/);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('tabpanel', { name: 'curl' }).getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toMatch(/^CALL_ID=\$\(curl/);
  expect(copied).toContain(`${server.url}/call_end`);
  expect(complaints).toEqual([]);
  await close();
});

describe('the reference opens at its top', () => {
  test.each([
    ['/docs', 'All operations'],
    ['/docs/errors', 'Error codes'],
    ['/docs/guides/README', 'Start'],
  ])('%s: page, search and list', async (path, entry) => {
    const { page, close } = await openPage(browser, server.url, { viewport: { width: 1280, height: 600 } });
    await page.goto(path, { waitUntil: 'networkidle' });
    const scrolled = "[scrollY, document.querySelector('.docs-side').scrollTop, document.activeElement.tagName]";
    expect(await page.evaluate(scrolled)).toEqual([0, 0, 'BODY']);
    for (const shown of [
      page.getByLabel('Search'),
      page.locator('.docs-side').getByRole('link', { name: entry, exact: true }),
    ]) {
      const box = await shown.boundingBox();
      expect([path, box && box.y >= 0 && box.y + box.height <= 600]).toEqual([path, true]);
    }
    await close();
  });

  test('the list of a page whose entry is below its end is scrolled there, and the page is not', async () => {
    const { page, close } = await openPage(browser, server.url, { viewport: { width: 1280, height: 600 } });
    await page.goto('/docs/createChatCompletion');
    await expect.poll(() => page.evaluate<number>("document.querySelector('.docs-side').scrollTop")).toBeGreaterThan(0);
    const entry = await page.locator('.docs-side [aria-current]').boundingBox();
    expect([await page.evaluate('scrollY'), entry && entry.y > 0 && entry.y < 600]).toEqual([0, true]);
    await close();
  });
});

test('samples are tabs that arrows move between, and the language stays chosen on the next page', async () => {
  const { page, complaints, close } = await openPage(browser, server.url);
  await page.goto('/docs/beginCall');
  const tab = (name: string) => page.getByRole('tab', { name });
  await expect.poll(() => tab('curl').getAttribute('aria-selected')).toBe('true');
  await tab('curl').focus();
  await page.keyboard.press('ArrowRight');
  expect(await tab('TypeScript').getAttribute('aria-selected')).toBe('true');
  expect(await page.getByRole('tabpanel').allTextContents()).toEqual([
    expect.stringContaining('callmeter.beginCall({'),
  ]);
  await page.keyboard.press('End');
  expect(await page.getByRole('tabpanel').textContent()).toContain('import requests');
  await page.goto('/docs/createChatCompletion');
  await expect.poll(() => tab('Python').getAttribute('aria-selected')).toBe('true');
  expect(await page.getByRole('tabpanel').textContent()).toContain('from openai import OpenAI');
  expect(complaints).toEqual([]);
  await close();
});

describe('the form of an operation', () => {
  test('sends the example with the demo key of a server on this machine, after the requests that it needs', async () => {
    const { page, complaints, close } = await openPage(browser, server.url);
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).pathname);
    });
    await page.goto('/docs/endCall');
    await expect.poll(() => page.getByLabel('API key').inputValue()).toMatch(/^utk-/);
    const key = await page.getByLabel('API key').inputValue();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Status 200').waitFor();
    expect(sent).toEqual(['/call_begin', '/call_end']);
    expect(await page.getByRole('region', { name: 'What the server answered' }).textContent()).toContain(
      'CALL_END_SUCCESS',
    );
    expect(await violations(page)).toEqual([]);
    // The key is in the form alone.
    expect(page.url()).not.toContain(key);
    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    );
    expect(stored).not.toContain(key);
    await page.reload();
    expect(complaints).toEqual([]);
    await close();
  });

  test('sends what the reader wrote: another key, path, query and body, and shows the refusal', async () => {
    const { page, complaints, close } = await openPage(browser, server.url);
    await page.goto('/docs/beginCall');
    await expect.poll(() => page.getByLabel('API key').inputValue()).toMatch(/^utk-/);
    const body = page.getByRole('textbox', { name: 'Body' });
    await body.fill('{ "customerId": ');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('The body is not JSON:').waitFor();
    await body.fill('{ "customerId": 7 }');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Status 400').waitFor();
    await page.getByLabel('API key').fill(`utk-${'x'.repeat(43)}`);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Status 401').waitFor();
    await page.goto('/docs/resolveModel');
    await page.locator('[data-place="path"][name="model"]').fill('gpt-4-32k/x y');
    const asked = page.waitForRequest(/model-alternatives/);
    await page.getByRole('button', { name: 'Send' }).click();
    expect((await asked).url()).toBe(`${server.url}/v1/model-alternatives/openai/gpt-4-32k%2Fx%20y?response=light`);
    await page.getByText('Status 200').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('of the operator is not there', async () => {
    const { page, close } = await openPage(browser, server.url);
    await page.goto('/docs/createOrganization');
    await page.getByRole('tab', { name: 'curl' }).waitFor();
    expect(await page.getByRole('button', { name: 'Send' }).count()).toBe(0);
    await close();
  });
});

describe('without a script', () => {
  test('all samples show, the form does not, and the list of pages opens on a phone', async () => {
    const { page, complaints, close } = await openPage(browser, server.url, {
      ...VIEWS.phone,
      javaScriptEnabled: false,
    });
    await page.goto('/docs/endCall');
    for (const language of ['curl', 'TypeScript', 'Python'])
      expect(await page.getByRole('heading', { name: language }).isVisible()).toBe(true);
    expect(await page.getByLabel('API key').isVisible()).toBe(false);
    const entry = page
      .getByRole('navigation', { name: 'Documentation' })
      .getByRole('link', { name: 'End call POST', exact: true });
    expect(await entry.isVisible()).toBe(false);
    await page.getByText('All pages').click();
    expect(await entry.isVisible()).toBe(true);
    expect(await entry.getAttribute('aria-current')).toBe('page');
    expect(complaints).toEqual([]);
    await close();
  });

  test('the list stands open beside the page on a wide screen, with the group of the page open in it', async () => {
    const { page, close } = await openPage(browser, server.url, { ...VIEWS.light, javaScriptEnabled: false });
    await page.goto('/docs/endCall');
    const list = page.getByRole('navigation', { name: 'Documentation' });
    expect(await list.getByRole('link', { name: 'Begin call' }).isVisible()).toBe(true);
    expect(await list.getByRole('link', { name: 'Put plan' }).isVisible()).toBe(false);
    await list.getByText('Operator: plans').click();
    await list.getByRole('link', { name: 'Put plan' }).click();
    await page.waitForURL(/\/docs\/putPlan$/);
    await list.getByText('Guides').click();
    await list.getByRole('link', { name: 'Plans', exact: true }).click();
    await page.waitForURL(/\/docs\/guides\/plans$/);
    await close();
  });
});
