/**
 * Sorts a whole list by a column that the page's query names: `sort=name` ascending, `sort=-name` descending. Rows
 * without a value come last in both orders. Any other text keeps the order of the list.
 */
import type { Sort } from './table.tsx';

type Value = string | number | bigint | null;

/** For each column, the value to sort by. */
export type Orders<Row, Name extends string> = Readonly<Record<Name, (row: Row) => Value>>;

export interface Sorted<Row, Name extends string> {
  rows: readonly Row[];
  /** The sorting link for a column's head; `undefined` if only a part of the list is here. */
  by: (name: Name) => Sort | undefined;
  /** The current order, for the links to other pages of the list. */
  query: Record<string, string>;
}

interface Place {
  path: string;
  /** Other parameters that the links keep. */
  query?: Readonly<Record<string, string>>;
  /** The parameter `sort` of the query. */
  sort: string | undefined;
}

const language = new Intl.Collator('en', { numeric: true });

export function sorted<Row, Name extends string>(
  rows: readonly Row[],
  orders: Orders<Row, Name>,
  { path, query = {}, sort = '' }: Place,
  isWhole = true,
): Sorted<Row, Name> {
  if (!isWhole) return { rows, by: () => undefined, query: {} };
  const isFalling = sort.startsWith('-');
  const named = isFalling ? sort.slice(1) : sort;
  const chosen = Object.hasOwn(orders, named) ? orders[named as Name] : undefined;
  const by = (name: Name): Sort => {
    const isChosen = chosen !== undefined && name === named;
    // The first click shows the largest figure, or the first word.
    const isFigure = rows.some((row) => typeof orders[name](row) !== 'string' && orders[name](row) !== null);
    const falls = isChosen ? !isFalling : isFigure;
    return {
      href: `${path}?${new URLSearchParams({ ...query, sort: falls ? `-${name}` : name })}`,
      order: isChosen ? (isFalling ? 'descending' : 'ascending') : null,
    };
  };
  if (!chosen) return { rows, by, query: {} };
  return { rows: rows.toSorted((a, b) => compared(chosen(a), chosen(b), isFalling)), by, query: { sort } };
}

function compared(a: Value, b: Value, isFalling: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === 'string' && typeof b === 'string' ? language.compare(a, b) : a < b ? -1 : a > b ? 1 : 0;
  return isFalling ? -order : order;
}
