/**
 * CSV (RFC 4180) for spreadsheets: a text that one would read as a formula begins with an apostrophe, because names of
 * customers, features and models are whatever callers sent.
 */

/** What a cell may have; `null` is an empty one. A number stays one, also below zero. */
export type Cell = string | number | null;

/** A line of titles, and one for each item. */
export function csvOf<Item>(columns: Readonly<Record<string, (item: Item) => Cell>>, items: readonly Item[]): string {
  const lines = items.map((item) => Object.values(columns).map((column) => cell(column(item))));
  return [Object.keys(columns), ...lines].map((cells) => `${cells.join(',')}\r\n`).join('');
}

function cell(value: Cell): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const safe = /^[\s]*[=+\-@]|^[\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
