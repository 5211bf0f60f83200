/**
 * Every page of the console in light and dark mode, at phone width, and in forced colours: none scrolls sideways, logs an
 * error or violates an accessibility rule. Screenshots are stored in `.state/screenshots` for people to review.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Hono } from 'hono';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { CONSOLE_PATH, type ConsoleEnv } from '../../src/console/context.ts';
import { mountPages } from '../../src/console/pages.ts';
import { violations } from './accessibility.ts';
import { launch, openPage, signIn, type Watched } from './browser.ts';
import { consolePages } from './console-pages.ts';
import { writeHistory } from './history.ts';
import { makePresent } from './present.ts';
import { type BrowserServer, startBrowserServer } from './server.ts';

const PICTURES = join(import.meta.dirname, '../../.state/screenshots');
const HISTORY_DAYS = 45;
/** What the console's script reads: no pages. */
const DATA_ROUTES = ['/search/list'];
const VISITS_MS_MAX = 400_000;

let server: BrowserServer;
let browser: Browser;
let pages: Record<string, string>;

beforeAll(async () => {
  [server, browser] = await Promise.all([startBrowserServer(), launch()]);
  await writeHistory(server.db, DEMO_ORGANIZATION_ID, HISTORY_DAYS, Date.now());
  pages = consolePages(await makePresent(server));
  await rm(PICTURES, { recursive: true, force: true });
  await mkdir(PICTURES, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const LOOKS = [
  { look: 'light', width: 1440, height: 900, colorScheme: 'light', forcedColors: 'none' },
  { look: 'dark', width: 1440, height: 900, colorScheme: 'dark', forcedColors: 'none' },
  { look: 'phone', width: 360, height: 740, colorScheme: 'light', forcedColors: 'none' },
  { look: 'high-contrast', width: 1440, height: 900, colorScheme: 'dark', forcedColors: 'active' },
] as const;

test('the pages are all that the console has', () => {
  const app = new Hono<ConsoleEnv>();
  mountPages(app);
  const routes = app.routes.filter(({ method, path }) => method === 'GET' && !DATA_ROUTES.includes(path));
  const served = Object.values(pages).map((address) => {
    const [pathname] = address.slice(CONSOLE_PATH.length).split('?');
    const [handlers] = app.router.match('GET', pathname || '/');
    return handlers[0]?.[0][1].path;
  });
  expect(routes.map(({ path }) => path).filter((path) => !served.includes(path))).toEqual([]);
});

describe.each(LOOKS)('$look', ({ look, width, height, colorScheme, forcedColors }) => {
  let watched: Watched;
  beforeAll(async () => {
    watched = await openPage(browser, server.url, { viewport: { width, height }, colorScheme, forcedColors });
    await watched.page.goto('/console');
    await watched.page.screenshot({ path: join(PICTURES, `sign-in.${look}.png`), fullPage: true });
    await signIn(watched.page, server.operatorToken);
  });
  afterAll(() => watched?.close());

  test('every page fits its width, logs no error, and passes axe-core', { timeout: VISITS_MS_MAX }, async () => {
    const { page, complaints } = watched;
    for (const [name, path] of Object.entries(pages)) {
      const response = await page.goto(path);
      expect([name, response?.status()]).toEqual([name, name === 'not-found' ? 404 : 200]);
      await page.screenshot({ path: join(PICTURES, `${name}.${look}.png`), fullPage: true });
      const overhang = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect([name, overhang]).toEqual([name, 0]);
      expect([name, await violations(page)]).toEqual([name, []]);
      expect([name, complaints]).toEqual([name, []]);
    }
  });
});
