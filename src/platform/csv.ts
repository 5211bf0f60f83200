/**
 * CSV (RFC 4180) for spreadsheets: a text that a spreadsheet would read as a formula gets an apostrophe in front,
 * because callers choose the names of customers, features and models. Every CSV of the service is written here.
 */

/** The value of a cell; `null` is an empty one. A number stays a number, also below zero. */
export type Cell = string | number | Exact | null;

/** A number that is written with all its digits. */
interface Exact {
  exact: string;
}

/** The first character after those that a spreadsheet may skip, in both widths that spreadsheets know. */
const FORMULA = /^[\s\p{C}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/u;

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

/** A number that is already a text, such as an amount of money; `null` if there is none. */
export function exact(digits: string | null): Cell {
  return digits === null ? null : { exact: digits };
}

/** A line of titles, and one for each item. */
export function formatCsv<Item>(
  columns: Readonly<Record<string, (item: Item) => Cell>>,
  items: readonly Item[],
): string {
  const lines = items.map((item) => csvLine(Object.values(columns).map((column) => column(item))));
  return csvLine(Object.keys(columns)) + lines.join('');
}

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

function cell(value: Cell): string {
  if (value === null) return '';
  if (typeof value !== 'string') return typeof value === 'number' ? String(value) : value.exact;
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
