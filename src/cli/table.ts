/**
 * Plain text output: aligned tables, label and value pairs, and values with their units.
 *
 * A column of amounts is right-aligned. Nothing is truncated, so that every id can be copied. Control characters never
 * reach the terminal.
 */
import { formatUsd, type NanoUsd } from '../domain/money.ts';

/** A column whose rows add up: its cell, and the total of rows. */
export interface Addends<Row> {
  cell: (row: Row) => unknown;
  total: (rows: readonly Row[]) => unknown;
}

/** The title and cell of each column. A cell may be any JSON value. */
export type Columns<Row> = Record<string, ((row: Row) => unknown) | Addends<Row>>;

/** The rows that a table does not print: they are in the total (`unprinted`), or nobody has read them (`hasMore`). */
interface Missing {
  unprinted?: number;
  hasMore?: boolean;
}

const AMOUNT = /^(unlimited|-?\$?\d[\d,]*(\.\d+)?( ?%| ms| s| days)?)$/;
const NOTHING = '-';
const GAP = '  ';
/** Rows of a table that `--json` prints as a whole. */
const ROWS_SHOWN_MAX = 10;

const thousands = new Intl.NumberFormat('en-US', { maximumFractionDigits: 9 });

/** If rows add up, the last line is their total. */
export function table<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  { unprinted = 0, hasMore = false }: Missing = {},
): string {
  if (rows.length === 0) return '(none)';
  const kinds = Object.values(columns);
  const body = rows
    .slice(0, rows.length - unprinted)
    .map((row) => kinds.map((kind) => show(typeof kind === 'function' ? kind(row) : kind.cell(row))));
  const rest = hasMore ? ` of these ${show(rows.length)}` : unprinted > 0 ? ` of all ${show(rows.length)}` : '';
  const totals = kinds.map((kind, column) =>
    typeof kind === 'object' ? show(kind.total(rows)) : column === 0 ? `Total${rest}` : '',
  );
  const addUp = rows.length > 1 && kinds.some((kind) => typeof kind === 'object');
  const lines = [Object.keys(columns), ...body, ...(addUp ? [totals] : [])];
  const widths = kinds.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const right = widths.map((_, column) => {
    if (addUp && column === 0) return false;
    const cells = body.map((line) => line[column] ?? '').filter((cell) => cell !== NOTHING);
    return cells.length > 0 && cells.every((cell) => AMOUNT.test(cell));
  });
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, widths[column] ?? 0, right[column]))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

/** A column of counts. A row without one adds nothing; without any there is no total. */
export function counts<Row>(count: (row: Row) => number | null): Addends<Row> {
  return {
    cell: count,
    total: (rows) => {
      const known = rows.map(count).filter((figure) => figure !== null);
      return known.length === 0 ? null : known.reduce((sum, figure) => sum + figure, 0);
    },
  };
}

/** A column of amounts in nano-USD, shown and added up exactly. What is not known is never shown as zero. */
export function dollars<Row>(nanoUsd: (row: Row) => string | NanoUsd | null): Addends<Row> {
  const sum = (rows: readonly Row[]) => {
    const known = rows.map(nanoUsd).filter((amount) => amount !== null);
    return known.length === 0 ? null : usd(known.reduce<bigint>((total, amount) => total + BigInt(amount), 0n));
  };
  return { cell: (row) => sum([row]), total: sum };
}

/** The first rows of a table, the total of all, and how many more `--json` has; `hasMore` if it has not all either. */
export function firstRows<Row>(rows: readonly Row[], columns: Columns<Row>, hasMore = false): string {
  const more = Math.max(0, rows.length - ROWS_SHOWN_MAX);
  return `${table(rows, columns, { unprinted: more, hasMore })}${more > 0 ? `\n${show(more)} more in --json` : ''}`;
}

/** One line per label; `undefined` values are omitted. */
export function pairs(values: Record<string, unknown>): string {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...entries.map(([label]) => label.length));
  return entries.map(([label, value]) => `${label.padEnd(width)}${GAP}${show(value)}`).join('\n');
}

export function section(title: string, text: string): string {
  return `\n${title}\n${indent(text)}`;
}

export function indent(text: string, by = GAP): string {
  return text.replace(/^(?=.)/gm, by);
}

/** A JSON value on one line. */
export function show(value: unknown): string {
  if (value === null || value === undefined || value === '') return NOTHING;
  if (typeof value === 'number') return thousands.format(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return value.map(show).join(', ') || NOTHING;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(/\p{Cc}/gu, ' ');
}

/** A value of the API, with the unit that its field's name implies. */
export function showField(field: string, value: unknown): string {
  if (typeof value !== 'number') return show(value);
  if (/usd$/i.test(field)) return `$${show(value)}`;
  if (field.endsWith('Ms')) return `${show(value)} ms`;
  if (field.endsWith('Seconds')) return `${show(value)} s`;
  if (field.endsWith('Days')) return `${show(value)} days`;
  if (field === 'ratio') return percent(value);
  return show(value);
}

/** Exact: an amount of nano-USD in dollars. */
export function usd(nanoUsd: string | NanoUsd): string {
  const nano = BigInt(nanoUsd);
  return nano < 0n ? `-$${formatUsd(-nano)}` : `$${formatUsd(nano)}`;
}

export function percent(ratio: number): string {
  return `${show(Math.round(ratio * 1000) / 10)} %`;
}

/** `usagePlanVersionId` as `Usage plan version id`, `costAvoidedUSD` as `Cost avoided USD`. */
export function columnLabel(field: string): string {
  const words = field
    .replace(/(Ms|Days)$/, '')
    .replace(/([a-z\d])([A-Z])/g, (_, before: string, letter: string) => `${before} ${letter.toLowerCase()}`)
    .replace(/\busd\b/gi, 'USD');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function pad(cell: string, width: number, right = false): string {
  return right ? cell.padStart(width) : cell.padEnd(width);
}
