/**
 * Parts that the sums of usage in D1 share: figures as text, because D1 rounds numbers above 2^53, and a customer's
 * usage before an instant, which is one row of running totals.
 */
import { type SQL, sql } from 'drizzle-orm';
import { type NanoUsd, nanoOfParts } from '../domain/money.ts';
import { customerRunningTotals, type featureRunningTotals, usageHours } from './schema/index.ts';

/** The columns of each figure. An amount of money has two: dollars, and the rest in nano-USD. */
const COLUMNS = {
  calls: [usageHours.calls],
  unpricedCalls: [usageHours.unpricedCalls],
  inputTokens: [usageHours.inputTokens],
  cachedInputTokens: [usageHours.cachedInputTokens],
  outputTokens: [usageHours.outputTokens],
  reasoningTokens: [usageHours.reasoningTokens],
  searches: [usageHours.searches],
  /** The calls with provisional usage, and their part of the cost. */
  provisionalCalls: [usageHours.provisionalCalls],
  provisionalCostNanoUsd: [usageHours.provisionalCostUsd, usageHours.provisionalCostRestNanoUsd],
  costNanoUsd: [usageHours.costUsd, usageHours.costRestNanoUsd],
  /** What the customers' balances pay for the calls. */
  chargedNanoUsd: [usageHours.chargeUsd, usageHours.chargeRestNanoUsd],
} as const;

type Figure = keyof typeof COLUMNS;

export type Figures<Name extends Figure> = {
  [Own in Name]: (typeof COLUMNS)[Own] extends readonly [unknown, unknown] ? NanoUsd : number;
};

/** A row has each column under its own name. */
type FigureRow = Readonly<Record<string, unknown>>;

/** Some of the figures, as a query selects them and as its rows are read. */
export class FigureSet<Name extends Figure> {
  readonly #names: readonly Name[];
  readonly columns: readonly string[];

  constructor(names: readonly Name[]) {
    this.#names = names;
    this.columns = names.flatMap((name) => COLUMNS[name].map((column) => column.name));
  }

  /** An expression for each column, under the column's name. */
  select(expression: (column: string) => string): SQL {
    return sql.raw(this.columns.map((column) => `${expression(column)} AS ${column}`).join(', '));
  }

  /** The same as text, as `read` takes it. */
  selectText(expression: (column: string) => string): SQL {
    return this.select((column) => `CAST(${expression(column)} AS TEXT)`);
  }

  read(row: FigureRow): Figures<Name> {
    const figures = this.#names.map((name) => {
      const [value = '', rest] = COLUMNS[name].map((column) => String(row[column.name]));
      return [name, rest === undefined ? Number(value) : nanoOfParts(value, rest)];
    });
    return Object.fromEntries(figures) as Figures<Name>;
  }
}

/** As all rows of a group have it together. */
export const summed = (column: string): string => `SUM(${column})`;

export const COST_AND_CHARGE = new FigureSet(['calls', 'unpricedCalls', 'costNanoUsd', 'chargedNanoUsd']);

export type CostAndCharge = Figures<'calls' | 'unpricedCalls' | 'costNanoUsd' | 'chargedNanoUsd'>;

/** The sum of each figure of `one`; what else `other` has is left out. */
export function addFigures<Sums extends Partial<Figures<Figure>>>(one: Sums, other: Sums): Sums {
  const sums = Object.entries(one).map(([name, value]) => {
    const more = other[name as keyof Sums];
    return [name, typeof value === 'bigint' ? value + (more as bigint) : Number(value) + Number(more)];
  });
  return Object.fromEntries(sums) as Sums;
}

interface TotalsBefore {
  table?: typeof customerRunningTotals | typeof featureRunningTotals;
  /** The condition that selects the organization's rows of a table. */
  among: (table: SQL) => SQL;
  customer: SQL;
  atMs: SQL;
}

/** The customer's usage before an instant, as the table `name`, for a join: no row if that was nothing. */
export function totalsBefore(
  name: string,
  { table = customerRunningTotals, among, customer, atMs }: TotalsBefore,
): SQL {
  const own = (of: SQL) => sql`${among(of)} AND ${of}.customer_id = ${customer}`;
  const [found, other] = [sql.raw(name), sql.raw('other')];
  return sql`${table} ${found} ON ${own(found)} AND ${found}.hour_ms = (
    SELECT MAX(hour_ms) FROM ${table} other WHERE ${own(other)} AND other.hour_ms < ${atMs})`;
}

/** What `later` has more than `earlier`, which may be missing. */
export const moreThanEarlier = (column: string): string => `later.${column} - COALESCE(earlier.${column}, 0)`;
