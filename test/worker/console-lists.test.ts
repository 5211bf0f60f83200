/**
 * Lists of the console: going through the pages of one and back shows the same pages, and every row once.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

/** One more than fits on a page. */
const ROWS = 51;
/** More pages than any list here has. */
const PAGES_MAX = 20;
/** Requests at a time. */
const AT_ONCE = 10;

const visitor = new Visitor();
let tenant: Tenant;
let base: string;

async function times(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const indexes = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, offset) => from + offset);
    await Promise.all(indexes.map(make));
  }
}

beforeAll(async () => {
  await visitor.signIn();
  tenant = await createTenant(operator);
  const org = tenant.organizationId;
  base = `/console/organizations/${org}`;
  await times(ROWS, async (index) => {
    const name = `Row ${String(index).padStart(2, '0')}`;
    await operator.send('createKey', { params: { org }, body: { name } });
    await operator.send('putPlan', { params: { org, planId: `plan-${index}` }, body: { name, limitType: 'BLOCK' } });
    await operator.send('createOrganization', { body: { name } });
    await operator.send('putOperator', { params: { name: `op${index}@example.com` }, body: { role: 'viewer' } });
  });
});

interface Read {
  rows: string[];
  previous: string | undefined;
  next: string | undefined;
  place: string | undefined;
}

async function read(path: string): Promise<Read> {
  const { html } = await visitor.read(path);
  const link = (rel: string) => new RegExp(`<a rel="${rel}" href="([^"]*)"`).exec(html)?.[1]?.replaceAll('&amp;', '&');
  return {
    rows: [...html.matchAll(/<th role="rowheader"[^>]*>(.*?)<\/th>/gs)].map(([, cell = '']) => cell),
    previous: link('prev'),
    next: link('next'),
    place: /<nav class="pager"[^>]*><span[^>]*>([\d,]+ to [\d,]+)/.exec(html)?.[1],
  };
}

describe('the pages of a list', () => {
  test.each([
    ['keys', () => `${base}/keys`],
    ['plans', () => `${base}/plans`],
    ['organizations', () => '/console/organizations'],
    ['operators', () => '/console/operators'],
    ['models by name', () => '/console/catalog?search=gpt'],
    ['models by price', () => '/console/catalog?search=gpt&sort=-input'],
  ])('of %s lead on and back through the same rows', async (_, pathOf) => {
    const there: Read[] = [];
    for (let path: string | undefined = pathOf(); path !== undefined; path = there.at(-1)?.next) {
      there.push(await read(path));
      expect(there.length).toBeLessThan(PAGES_MAX);
    }
    expect(there.length).toBeGreaterThan(1);
    const rows = there.flatMap((page) => page.rows);
    expect(new Set(rows).size).toBe(rows.length);
    let shown = 0;
    for (const page of there) {
      expect(page.place).toBe(`${shown + 1} to ${shown + page.rows.length}`);
      shown += page.rows.length;
    }
    const back: Read[] = there.slice(-1);
    for (let path = back[0]?.previous; path !== undefined; path = back[0]?.previous) {
      back.unshift(await read(path));
      expect(back.length).toBeLessThan(PAGES_MAX);
    }
    expect(back.map((page) => page.rows)).toEqual(there.map((page) => page.rows));
    expect(back[0]?.previous).toBeUndefined();
  });

  test('with a trail that is no trail are there, and lead back to the first one', async () => {
    const path = `${base}/keys`;
    const second = (await read(path)).next ?? '';
    const { cursor = '' } = Object.fromEntries(new URL(second, 'https://callmeter.test').searchParams);
    for (const trail of ['', 'x', '0-', '0-..50', '-5.10', '9'.repeat(5_000), '\u0000']) {
      const { html } = await visitor.read(`${path}?${new URLSearchParams({ cursor, trail })}`);
      expect([trail, html.includes(`<a href="${path}">First page</a>`)]).toEqual([trail, true]);
      expect(html).not.toContain('rel="prev"');
    }
  });
});

describe('the head of a list', () => {
  test('sorts it by what it names, and says so', async () => {
    const path = '/console/catalog?search=claude&status=ACTIVE';
    const { html } = await visitor.read(path);
    const href = /<th [^>]*><a href="([^"]*sort=-input)">Input<\/a>/.exec(html)?.[1]?.replaceAll('&amp;', '&');
    expect(href).toBe(`${path}&sort=-input`);
    const sorted = await visitor.read(href ?? '');
    expect(sorted.html).toMatch(/aria-sort="descending"><a href="[^"]*sort=input">Input/);
    const prices = [...sorted.html.matchAll(/data-label="Input"[^>]*><span[^>]*>\$([\d.,]+)/g)].map(([, price]) =>
      Number(price?.replaceAll(',', '')),
    );
    expect(prices.length).toBeGreaterThan(3);
    expect(prices).toEqual(prices.toSorted((a, b) => b - a));
  });

  test('counts the rows where all are here, and says otherwise that it counts the page', async () => {
    expect((await visitor.read('/console/catalog?search=gpt-6-luna')).text).toMatch(/\d+ models? Model/);
    expect((await visitor.read(`${base}/keys`)).text).toContain('50 keys on this page');
    const other = await createTenant(operator);
    expect((await visitor.read(`/console/organizations/${other.organizationId}/keys`)).text).toMatch(/ 1 key /);
  });
});
