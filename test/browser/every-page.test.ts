/**
 * Every page of the console in light and dark mode, on a desk, a tablet and a phone, and in forced colours: none scrolls
 * sideways, logs an error or violates an accessibility rule, and all write dates in one style. A page is loaded once and
 * then shown in each of these ways, which only style sheets change.
 */
import { Hono } from 'hono';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { CONSOLE_PATH, type ConsoleEnv } from '../../src/console/context.ts';
import { mountPages } from '../../src/console/pages.ts';
import { violations } from './accessibility.ts';
import { launch, openPage, signIn, type Watched } from './browser.ts';
import { consolePages } from './console-pages.ts';
import { takePicture } from './pictures.ts';
import { sharedServer } from './server.ts';

/** Data for the console's script: not pages. */
const DATA_ROUTES = ['/search/list'];
const VISITORS = 2;
const VISITS_MS_MAX = 600_000;
const SIGN_IN = { name: 'sign-in', path: '/console', status: 200 };

const LOOKS = [
  { look: 'light', width: 1440, height: 900, colorScheme: 'light', forcedColors: 'none' },
  { look: 'dark', width: 1440, height: 900, colorScheme: 'dark', forcedColors: 'none' },
  { look: 'tablet', width: 820, height: 1100, colorScheme: 'dark', forcedColors: 'none' },
  { look: 'phone', width: 360, height: 740, colorScheme: 'light', forcedColors: 'none' },
  { look: 'large-phone', width: 390, height: 844, colorScheme: 'dark', forcedColors: 'none' },
  { look: 'high-contrast', width: 1440, height: 900, colorScheme: 'dark', forcedColors: 'active' },
] as const;

const server = sharedServer();
const pages = consolePages(inject('shared').consoleIds);
/** The faults of the pages, and the number of pages, by look. */
const found = Object.fromEntries(LOOKS.map(({ look }) => [look, { faults: [] as unknown[], seen: 0 }]));
let browser: Browser;

interface Visit {
  name: string;
  path: string;
  status: number;
}

beforeAll(async () => {
  browser = await launch();
  const visits = Object.entries(pages)
    .map(([name, path]) => ({ name, path, status: name === 'not-found' ? 404 : 200 }))
    .values();
  const visitor = async (_: unknown, index: number) => {
    // A colour that fades into another one has no contrast to judge.
    const watched = await openPage(browser, server.url, { reducedMotion: 'reduce' });
    if (index === 0) await look(watched, SIGN_IN);
    await signIn(watched.page, server);
    for (const visit of visits) await look(watched, visit);
    await watched.close();
  };
  await Promise.all(Array.from({ length: VISITORS }, visitor));
}, VISITS_MS_MAX);

/** At a page, in every way. */
async function look({ page, complaints }: Watched, { name, path, status }: Visit): Promise<void> {
  complaints.length = 0;
  const answered = (await page.goto(path))?.status();
  if (answered !== status) complaints.push(`status ${answered}`);
  complaints.push(...(await foreignDates(page)));
  for (const { look, width, height, colorScheme, forcedColors } of LOOKS) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme, forcedColors });
    await takePicture(page, `${name}.${look}`);
    const overhang = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    if (overhang !== 0) complaints.push(`${overhang} pixels beside the window`);
    complaints.push(...(await violations(page)), ...(await brokenTimes(page)));
    const own = found[look];
    if (!own) continue;
    own.seen += 1;
    own.faults.push(...complaints.splice(0).map((fault) => [name, fault]));
  }
}

/** Dates of another style than `20 Nov 2026`. Ids, names of models, releases and citations keep what they have. */
async function foreignDates(page: Page): Promise<string[]> {
  const texts = await page.evaluate<string[]>(`[...document.querySelectorAll('main *')]
    .filter((one) => !one.closest('pre, code, a, time, svg, .id') && one.children.length === 0)
    .map((one) => one.textContent.trim())`);
  return texts.filter((text) => /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?$/.test(text)).map((text) => `the date ${text}`);
}

/** Times in tables that take more than two lines: the time, and its distance from now. */
function brokenTimes(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('main td time, main th time')]
    .filter((time) => {
      const range = document.createRange();
      range.selectNodeContents(time);
      const tops = [...range.getClientRects()].map(({ top }) => top).sort((a, b) => a - b);
      return tops.filter((top, at) => at === 0 || top - tops[at - 1] > 8).length > 2;
    })
    .map((time) => 'the time over several lines ' + time.textContent)`);
}

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

describe.each(LOOKS)('$look', ({ look }) => {
  test('every page fits its width, logs no error, and passes axe-core', () => {
    expect(found[look]).toEqual({ faults: [], seen: Object.keys(pages).length + 1 });
  });
});
