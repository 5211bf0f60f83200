/**
 * Lists: the way back through the pages of one is the way there, whatever stands in the address; a sorted list has all its
 * rows; the figures of a column stand under each other.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseNanoUsd, rateColumn, usdColumn, usdParts } from '../../src/ui/format.ts';
import { sorted } from '../../src/ui/sorting.ts';
import { Pager, Table } from '../../src/ui/table.tsx';
import { nextQuery, previousQuery, readTrail, type Trail } from '../../src/ui/trail.ts';
import { CHARACTER } from '../support/characters.ts';

const PAGE = 50;
const cursors = fc.array(fc.stringMatching(/^[\w-]{1,60}$/), { minLength: 1, maxLength: 90 });

/** The addresses of a list's pages, the first one first, as its links lead through it. */
function walk(cursorsOfPages: readonly string[]): Record<string, string>[] {
  const queries: Record<string, string>[] = [{}];
  for (const cursor of cursorsOfPages) queries.push(nextQuery(readTrail(queries.at(-1) ?? {}, PAGE), cursor));
  return queries;
}

const before = (trail: Trail) => trail.before;

describe('the way back', () => {
  test('leads to the page before, and each page says where its rows stand', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(/^[\w-]{1,20}$/), { minLength: 1, maxLength: 30 }), (pages) => {
        const queries = walk(pages);
        queries.forEach((query, index) => {
          const trail = readTrail(query, PAGE);
          expect(before(trail)).toBe(index * PAGE);
          if (index > 0)
            expect(readTrail(previousQuery(trail), PAGE)).toEqual(readTrail(queries[index - 1] ?? {}, PAGE));
        });
      }),
    );
  });

  test('stays in an address of bounded length, and ends at the first page', () => {
    fc.assert(
      fc.property(cursors, (pages) => {
        const last = walk(pages).at(-1) ?? {};
        expect(new URLSearchParams(last).toString().length).toBeLessThan(1_600);
        let query = last;
        let steps = 0;
        while (query.cursor !== undefined) {
          query = previousQuery(readTrail(query, PAGE));
          steps += 1;
          expect(steps).toBeLessThanOrEqual(pages.length);
        }
        expect(query).toEqual({});
      }),
    );
  });

  test('of any other text is the first page', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: CHARACTER, maxLength: 300 }),
        fc.stringMatching(/^[\w-]{1,20}$/),
        (trail, cursor) => {
          const read = readTrail({ cursor, trail }, PAGE);
          expect(read.cursor).toBe(cursor);
          if (!/^[\d\w.-]*$/.test(trail)) expect(previousQuery(read)).toEqual({});
        },
      ),
    );
    for (const trail of ['', 'x', '0-', '0-.x', '5-a b.10', '-.1', '0-.50.', '1e3']) {
      const read = readTrail({ cursor: 'abc', trail }, PAGE);
      expect([trail, previousQuery(read), read.before]).toEqual([trail, {}, null]);
    }
  });

  test('is a link of the pager beside the place of the rows', () => {
    const [, second = {}, third = {}] = walk(['b', 'c']);
    const pager = (query: Record<string, string>, next: string | null) =>
      String(Pager({ path: '/list', query: { plan: 'pro' }, next, first: false, previous: readTrail(query, PAGE) }));
    expect(pager(second, 'c')).toContain('51 to 100');
    expect(pager(second, 'c')).toContain('<a rel="prev" href="/list?plan=pro">');
    expect(pager(second, 'c')).not.toContain('First page');
    expect(pager(third, null)).toContain('101 to 150');
    expect(pager(third, null)).toContain('First page');
    expect(pager(third, null)).not.toContain('Next page');
  });
});

describe('a sorted list', () => {
  const rows = [{ cost: 2n }, { cost: null }, { cost: 10n }, { cost: 1n }];
  const order = (sort: string | undefined) =>
    sorted(rows, { cost: ({ cost }) => cost }, { path: '/list', query: { plan: 'pro' }, sort });

  test('has every row, those without a value last', () => {
    const costs = (sort: string) => order(sort).rows.map(({ cost }) => cost);
    expect(costs('cost')).toEqual([1n, 2n, 10n, null]);
    expect(costs('-cost')).toEqual([10n, 2n, 1n, null]);
    for (const other of ['', 'toString', '-', 'costs']) expect(costs(other)).toEqual([2n, null, 10n, 1n]);
  });

  test('names its order, and links to the other one with the filters', () => {
    expect(order('-cost').by('cost')).toEqual({ href: '/list?plan=pro&sort=cost', order: 'descending' });
    expect(order(undefined).by('cost')).toEqual({ href: '/list?plan=pro&sort=-cost', order: null });
    const html = String(
      Table({
        caption: 'Costs',
        rows,
        total: '4 costs',
        columns: [{ title: 'Cost', cell: ({ cost }) => String(cost), sort: order('cost').by('cost') }],
      }),
    );
    expect(html).toMatch(/<th[^>]*aria-sort="ascending"><a href="\/list\?plan=pro&amp;sort=-cost">Cost<\/a>/);
    expect(html).toMatch(/<caption class="total">.*4 costs<\/caption>/);
  });
});

describe('the figures of a column', () => {
  test('have the same decimals, so that their points stand under each other', () => {
    const decimals = (text: string) => text.split('.')[1]?.length;
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 15n }), { minLength: 1, maxLength: 20 }), (amounts) => {
        const show = usdColumn(amounts);
        expect(new Set(amounts.map((amount) => decimals(show(amount)))).size).toBe(1);
      }),
    );
    const show = rateColumn([0.075, 2.5, undefined, 1_000]);
    expect([0.075, 2.5, 1_000].map(show)).toEqual(['$0.075', '$2.500', '$1,000.000']);
  });
});

describe('the parts of a sum', () => {
  test('add up to it as they are shown', () => {
    const read = (text: string) => parseNanoUsd(text.replaceAll(/[$,]/g, ''));
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 13n }), { minLength: 1, maxLength: 12 }), (parts) => {
        const texts = usdParts(parts);
        const sum = parts.reduce((all, part) => all + part, 0n);
        const decimals = texts[0]?.split('.')[1]?.length ?? 0;
        const unit = 10n ** BigInt(9 - decimals);
        expect(texts.reduce((all, text) => all + read(text), 0n)).toBe(((sum * 2n + unit) / (unit * 2n)) * unit);
        // No part is off by a whole unit of its last digit.
        parts.forEach((part, index) => {
          const off = read(texts[index] ?? '') - part;
          expect(off < unit && -off < unit).toBe(true);
        });
      }),
    );
    expect(usdParts([34_424_000_000n, 18_644_000_000n, 5_244_000_000n])).toEqual(['$34.43', '$18.64', '$5.24']);
  });
});

describe('a row without the width of a table', () => {
  test('is a card with one title and at most one figure', () => {
    const column = (title: string, more: object = {}) => ({ title, cell: () => title, ...more });
    const columns = [
      column('Key', { heading: true }),
      column('Calls', { figure: true }),
      column('Cost', { figure: true }),
      column('Made', { phone: 'hidden' }),
    ];
    const places = (chosen: typeof columns) =>
      [...String(Table({ caption: 'Keys', rows: [1], columns: chosen })).matchAll(/class="[^"]*in-(\w+)"/g)].map(
        ([, place]) => place,
      );
    expect(places(columns)).toEqual(['title', 'figure', 'detail', 'hidden']);
    const other = columns.map((one) => (one.title === 'Cost' ? { ...one, phone: 'figure' } : one));
    expect(places(other)).toEqual(['title', 'detail', 'figure', 'hidden']);
  });
});

test('a card shows the column that decides the order, also if cards have no room for it otherwise', () => {
  const rendered = (order: 'ascending' | null) =>
    String(
      Table({
        caption: 'Customers',
        rows: [{ name: 'acme', cost: '$1' }],
        columns: [
          { title: 'Name', heading: true, cell: ({ name }) => name },
          { title: 'Cost', phone: 'hidden', sort: { href: '?sort=cost', order }, cell: ({ cost }) => cost },
        ],
      }),
    );
  expect(rendered('ascending')).toMatch(/<td[^>]*in-detail sorted[^>]*>\$1</);
  expect(rendered(null)).toMatch(/<td[^>]*in-hidden[^>]*>\$1</);
});
