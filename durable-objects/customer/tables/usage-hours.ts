/**
 * Usage by UTC hour of the end of calls. The hour in which a usage period begins has two rows, one before and one from its
 * beginning, so that what was recorded in a period is known exactly. A sum of money has two columns, whole dollars and the
 * rest in nano-USD, because it may exceed 64 bits. Both are read as text: above 2^53 a number would be rounded.
 *
 * What was used in the hour under way is a column of the account's row, which every end writes in any case. It is added to
 * the table when another hour is used, a period begins, or a correction reaches into it.
 */

import type { MeterSlot } from '../../../src/domain/meters.ts';
import { type NanoUsd, nanoOfParts, partsOfNano } from '../../../src/domain/money.ts';
import type { SentColumn } from '../../../src/objects/series-hours.ts';
import { DAY_MS, HOUR_MS } from '../../../src/platform/time.ts';

export interface UsageHour {
  completedCalls: number;
  failedCalls: number;
  inputTokens: number;
  outputTokens: number;
  completedCostNanoUsd: NanoUsd;
  failedCostNanoUsd: NanoUsd;
  unpricedCalls: number;
  /** Of those above: calls with provisional usage, and their part of the cost. */
  provisionalCalls: number;
  provisionalCostNanoUsd: NanoUsd;
}

/** When usage was recorded that is corrected now, and whether it counts in the present usage period. */
interface Recorded {
  atMs: number;
  isPresent: boolean;
}

const SLOT_COLUMNS = { CUSTOM1: 'custom1', CUSTOM2: 'custom2', AGENTIC_API: 'agentic_api' } as const satisfies Record<
  MeterSlot,
  string
>;

const COLUMNS: Record<SentColumn, string> = {
  hour: `IIF(hour_ms % ${HOUR_MS} = 0, hour_ms / ${HOUR_MS}, hour_ms / ${HOUR_MS}.0)`,
  completedCalls: 'completed_calls',
  failedCalls: 'failed_calls',
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  costNanoUsd:
    '(completed_cost_usd + failed_cost_usd) * 1000000000 + completed_cost_rest_nano_usd + failed_cost_rest_nano_usd',
  agenticApi: SLOT_COLUMNS.AGENTIC_API,
  customMeter1: SLOT_COLUMNS.CUSTOM1,
  customMeter2: SLOT_COLUMNS.CUSTOM2,
  unpricedCalls: 'unpriced_calls',
  provisionalCalls: 'provisional_calls',
  provisionalCostNanoUsd: 'provisional_cost_usd * 1000000000 + provisional_cost_rest_nano_usd',
};

const COST_USD = '(completed_cost_usd + failed_cost_usd)';
const COST_REST_NANO_USD = '(completed_cost_rest_nano_usd + failed_cost_rest_nano_usd)';

/** Columns that are added to, in the order in which they are bound. Parts of a sum of money are bound as text. */
const ADDED = {
  completed_calls: '?',
  failed_calls: '?',
  input_tokens: '?',
  output_tokens: '?',
  completed_cost_usd: 'CAST(? AS INTEGER)',
  completed_cost_rest_nano_usd: 'CAST(? AS INTEGER)',
  failed_cost_usd: 'CAST(? AS INTEGER)',
  failed_cost_rest_nano_usd: 'CAST(? AS INTEGER)',
  unpriced_calls: '?',
  provisional_calls: '?',
  provisional_cost_usd: 'CAST(? AS INTEGER)',
  provisional_cost_rest_nano_usd: 'CAST(? AS INTEGER)',
  custom1: '?',
  custom2: '?',
  agentic_api: '?',
};
type AddedColumn = keyof typeof ADDED;

const ALL_COLUMNS = Object.keys(ADDED) as AddedColumn[];
const ADD_TO_ROW = `ON CONFLICT (hour_ms) DO UPDATE SET ${ALL_COLUMNS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;
const ADD = `INSERT INTO usage_hours (hour_ms, ${ALL_COLUMNS.join(', ')}) VALUES (?, ${Object.values(ADDED).join(', ')}) ${ADD_TO_ROW}`;
const REJOIN = `INSERT INTO usage_hours (hour_ms, ${ALL_COLUMNS.join(', ')}) SELECT ?1, ${ALL_COLUMNS.join(', ')}`;

/** The table, in which the row ?2 is the sum of its own and of what ?3, a JSON object of columns, has of it. */
const WITH_CURRENT = `(SELECT hour_ms, ${ALL_COLUMNS.join(', ')} FROM usage_hours WHERE hour_ms >= ?1 AND hour_ms IS NOT ?2
  UNION ALL SELECT CAST(?2 AS INTEGER), ${ALL_COLUMNS.map((name) => `COALESCE(${name}, 0) + CAST(?3 ->> '$.${name}' AS INTEGER)`).join(', ')}
  FROM (SELECT 1) LEFT JOIN usage_hours ON hour_ms = ?2 WHERE ?2 >= ?1)`;

/** What was used since it was last added to the table, all in one row of that. */
interface CurrentHour {
  rowMs: number;
  usage: UsageHour;
  units: Record<MeterSlot, number>;
}

const NO_UNITS: CurrentHour['units'] = { CUSTOM1: 0, CUSTOM2: 0, AGENTIC_API: 0 };

export class UsageHourTable {
  readonly #sql: SqlStorage;
  /** `undefined` until it is read. */
  #current: CurrentHour | null | undefined;
  #hasChanged = false;
  /** What was recorded cost since a usage period began, once it was asked for; kept up to date. */
  #costSince: { periodMs: number; fromMs: number; nanoUsd: NanoUsd } | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Whether the account's row is to be written for the hour under way. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** What the account's row is to have of the hour under way, as JSON; `null` if it has that already. */
  takeText(): string | null {
    const text = this.#hasChanged ? JSON.stringify(this.#current && storedCurrent(this.#current)) : null;
    this.#hasChanged = false;
    return text;
  }

  /** To be called when a transaction failed. */
  rolledBack(): void {
    this.#current = undefined;
    this.#hasChanged = false;
    this.#costSince = undefined;
  }

  /** Adds a call. */
  add(atMs: number, usage: UsageHour): void {
    this.#addCost(this.#add(atMs, usage, NO_UNITS), usage);
  }

  addUnits(atMs: number, slot: MeterSlot, units: number): void {
    this.#add(atMs, UNUSED_HOUR, { ...NO_UNITS, [slot]: units });
  }

  /** Returns the row to which it belongs. A count that a number does not hold exactly is left to the table, which holds more. */
  #add(atMs: number, usage: UsageHour, units: CurrentHour['units']): number {
    const current = this.#currentAt(atMs);
    const { rowMs } = current;
    const sum = { rowMs, usage: sumOf(current.usage, usage), units: sumOfUnits(current.units, units) };
    const isExact = Object.values(columnsOf(sum)).every(
      (value) => typeof value === 'string' || Number.isSafeInteger(value),
    );
    if (!isExact) this.#addToTable();
    this.#change(isExact ? sum : { rowMs, usage, units });
    return rowMs;
  }

  #read(): CurrentHour | null {
    if (this.#current === undefined) {
      const sql = 'SELECT current_hour AS text FROM account';
      const text = this.#sql.exec<{ text: string | null }>(sql).toArray()[0]?.text ?? 'null';
      const stored = JSON.parse(text) as StoredCurrent | null;
      this.#current = stored && readCurrent(stored);
    }
    return this.#current;
  }

  #change(current: CurrentHour | null): void {
    this.#current = current;
    this.#hasChanged = true;
  }

  /** What is added to the row of that time. If that is another row than before, the table gets what was added to that one. */
  #currentAt(atMs: number): CurrentHour {
    const rowMs = this.#rowAt(atMs);
    if (this.#read()?.rowMs !== rowMs) this.#addToTable();
    return this.#read() ?? { rowMs, usage: UNUSED_HOUR, units: NO_UNITS };
  }

  #addToTable(): void {
    const current = this.#read();
    if (!current) return;
    this.#write(current.rowMs, columnsOf(current));
    this.#change(null);
  }

  /**
   * Divides the hour of that time, at which a usage period begins: what is used from then on has a row of its own. An hour
   * without usage before it needs none, and one in which periods began before is divided at the last of them alone, also if
   * that began in the same instant.
   */
  divide(atMs: number): void {
    this.#addToTable();
    this.#costSince = undefined;
    const hourMs = atMs - (atMs % HOUR_MS);
    const earlierPart = 'usage_hours WHERE hour_ms > ?1 AND hour_ms <= ?2';
    this.#sql.exec(`${REJOIN} FROM ${earlierPart} ${ADD_TO_ROW}`, hourMs, atMs);
    this.#sql.exec(`DELETE FROM ${earlierPart}`, hourMs, atMs);
    this.#sql.exec(
      `INSERT INTO usage_hours (hour_ms) SELECT ?2 WHERE ?1 < ?2 AND EXISTS (SELECT 1 FROM usage_hours WHERE hour_ms = ?1)
       ON CONFLICT (hour_ms) DO NOTHING`,
      hourMs,
      atMs,
    );
  }

  /** The row that has what was used at that time. `isEarlier`: before the period that began in the same instant. */
  #rowAt(atMs: number, isEarlier = false): number {
    const hourMs = atMs - (atMs % HOUR_MS);
    const sql = 'SELECT MAX(hour_ms) AS at FROM usage_hours WHERE hour_ms >= ? AND hour_ms < ?';
    return this.#sql.exec<{ at: number | null }>(sql, hourMs, isEarlier ? atMs : atMs + 1).one().at ?? hourMs;
  }

  /** The first row of the usage period that began then: its whole hour, if that was not divided. */
  #firstRowOf(periodMs: number): number {
    const sql = `SELECT 1 FROM usage_hours WHERE hour_ms = ?1 UNION ALL SELECT 1 FROM dropped_cost WHERE from_ms = ?1`;
    const isDivided = this.#sql.exec(sql, periodMs).toArray().length > 0;
    return isDivided ? periodMs : periodMs - (periodMs % HOUR_MS);
  }

  #write(hourMs: number, columns: Record<AddedColumn, number | string>): void {
    this.#sql.exec(ADD, hourMs, ...ALL_COLUMNS.map((name) => columns[name]));
  }

  #addCost(hourMs: number, { completedCostNanoUsd, failedCostNanoUsd }: UsageHour): void {
    if (this.#costSince && hourMs >= this.#costSince.fromMs)
      this.#costSince.nanoUsd += completedCostNanoUsd + failedCostNanoUsd;
  }

  /** Replaces what a call counted in its hour, as long as that is kept. */
  replace({ atMs, isPresent }: Recorded, before: UsageHour, after: UsageHour): void {
    this.#addToTable();
    const hourMs = this.#rowAt(atMs, !isPresent);
    const isKept = this.#sql.exec('SELECT 1 FROM usage_hours WHERE hour_ms = ?', hourMs).toArray().length > 0;
    if (!isKept) return;
    const change = sumOf(after, negated(before));
    this.#write(hourMs, columnsOf({ usage: change, units: NO_UNITS }));
    this.#addCost(hourMs, change);
  }

  /** Takes units out of their hour, as long as it is kept. */
  takeUnits({ atMs, isPresent }: Recorded, slot: MeterSlot, units: number): void {
    this.#addToTable();
    const column = SLOT_COLUMNS[slot];
    const hourMs = this.#rowAt(atMs, !isPresent);
    this.#sql.exec(`UPDATE usage_hours SET ${column} = ${column} - ? WHERE hour_ms = ?`, units, hourMs);
  }

  /** Completed calls and their cost in the UTC hour and the UTC day of that time. */
  velocity(atMs: number): Record<'hour' | 'day', { calls: number; costNanoUsd: NanoUsd }> {
    const [hourMs, dayMs] = [atMs - (atMs % HOUR_MS), atMs - (atMs % DAY_MS)];
    const inHour = `FILTER (WHERE hour_ms >= ?1 AND hour_ms < ?1 + ${HOUR_MS})`;
    const sum = (column: string, within = '') => `CAST(COALESCE(SUM(${column}) ${within}, 0) AS TEXT)`;
    const row = this.#sql
      .exec<Record<'hourCalls' | 'hourUsd' | 'hourRest' | 'dayCalls' | 'dayUsd' | 'dayRest', string>>(
        `SELECT ${sum('completed_calls', inHour)} AS hourCalls, ${sum('completed_calls')} AS dayCalls,
           ${sum('completed_cost_usd', inHour)} AS hourUsd, ${sum('completed_cost_rest_nano_usd', inHour)} AS hourRest,
           ${sum('completed_cost_usd')} AS dayUsd, ${sum('completed_cost_rest_nano_usd')} AS dayRest
         FROM usage_hours WHERE hour_ms >= ?2 AND hour_ms < ?3`,
        hourMs,
        dayMs,
        dayMs + DAY_MS,
      )
      .one();
    const current = this.#read();
    const usedSince = (fromMs: number, forMs: number) =>
      current && current.rowMs >= fromMs && current.rowMs < fromMs + forMs ? current.usage : UNUSED_HOUR;
    const [hour, day] = [usedSince(hourMs, HOUR_MS), usedSince(dayMs, DAY_MS)];
    return {
      hour: {
        calls: Number(row.hourCalls) + hour.completedCalls,
        costNanoUsd: nanoOfParts(row.hourUsd, row.hourRest) + hour.completedCostNanoUsd,
      },
      day: {
        calls: Number(row.dayCalls) + day.completedCalls,
        costNanoUsd: nanoOfParts(row.dayUsd, row.dayRest) + day.completedCostNanoUsd,
      },
    };
  }

  /**
   * What was recorded cost since the present usage period began: of hours that are no longer kept, the cost is known since
   * then alone.
   */
  costSince(periodMs: number): NanoUsd {
    if (this.#costSince?.periodMs !== periodMs) {
      const fromMs = this.#firstRowOf(periodMs);
      const sum = (columns: string) => `CAST(COALESCE(SUM(${columns}), 0) AS TEXT)`;
      const { usd, rest } = this.#sql
        .exec<{ usd: string; rest: string }>(
          `SELECT ${sum('usd')} AS usd, ${sum('rest')} AS rest FROM (
             SELECT ${COST_USD} AS usd, ${COST_REST_NANO_USD} AS rest FROM usage_hours WHERE hour_ms >= ?1
             UNION ALL SELECT cost_usd, cost_rest_nano_usd FROM dropped_cost WHERE from_ms = ?1)`,
          fromMs,
        )
        .one();
      this.#costSince = { periodMs, fromMs, nanoUsd: nanoOfParts(usd, rest) };
      const current = this.#read();
      if (current) this.#addCost(current.rowMs, current.usage);
    }
    return this.#costSince.nanoUsd;
  }

  /**
   * The hours from then on, as JSON: an object of these columns, which `parseHours`
   * (src/objects/series-hours.ts) reads. It is one text, because thousands of objects would cost more to
   * send than to use, and columns, because SQLite prints and JavaScript parses them in half the time of rows. The order
   * of hours is not defined, and one that a usage period divides comes in parts.
   */
  asJson(columns: readonly SentColumn[], fromMs: number): string {
    const current = this.#read();
    const pairs = columns.map((name) => `'${name}', json_group_array(${COLUMNS[name]})`);
    const select = `SELECT json_object(${pairs.join(', ')}) AS hours FROM`;
    const cursor = current
      ? this.#sql.exec<{ hours: string }>(
          `${select} ${WITH_CURRENT}`,
          fromMs,
          current.rowMs,
          JSON.stringify(columnsOf(current)),
        )
      : this.#sql.exec<{ hours: string }>(`${select} usage_hours WHERE hour_ms >= ?`, fromMs);
    return cursor.one().hours;
  }

  /**
   * Drops hours before then. What those of the usage period cost, which began at `periodMs`, stays known. Returns the
   * rows written.
   */
  drop({ beforeMs, periodMs }: { beforeMs: number; periodMs: number }, rowsMax: number): number {
    this.#costSince = undefined;
    if ((this.#read()?.rowMs ?? beforeMs) < beforeMs) this.#addToTable();
    const fromMs = this.#firstRowOf(periodMs);
    if (fromMs < beforeMs)
      this.#sql.exec(
        `INSERT INTO dropped_cost (id, from_ms, cost_usd, cost_rest_nano_usd)
           SELECT 1, ?1, COALESCE(SUM(${COST_USD}), 0), COALESCE(SUM(${COST_REST_NANO_USD}), 0)
           FROM (SELECT * FROM usage_hours WHERE hour_ms < ?2 ORDER BY hour_ms LIMIT ?3) WHERE hour_ms >= ?1
         ON CONFLICT (id) DO UPDATE SET from_ms = excluded.from_ms,
           cost_usd = excluded.cost_usd + IIF(from_ms = excluded.from_ms, cost_usd, 0),
           cost_rest_nano_usd = excluded.cost_rest_nano_usd + IIF(from_ms = excluded.from_ms, cost_rest_nano_usd, 0)`,
        fromMs,
        beforeMs,
        rowsMax,
      );
    const sql = `DELETE FROM usage_hours WHERE hour_ms IN (
      SELECT hour_ms FROM usage_hours WHERE hour_ms < ? ORDER BY hour_ms LIMIT ?)`;
    return this.#sql.exec(sql, beforeMs, rowsMax).rowsWritten;
  }

  oldestMs(): number | null {
    const { at } = this.#sql.exec<{ at: number | null }>('SELECT MIN(hour_ms) AS at FROM usage_hours').one();
    return at ?? this.#read()?.rowMs ?? null;
  }
}

/** A row of the table, without columns that are 0. */
type StoredCurrent = { hour_ms: number } & Partial<Record<AddedColumn, number | string>>;

function columnsOf({ usage, units }: Omit<CurrentHour, 'rowMs'>): Record<AddedColumn, number | string> {
  const [completed, failed] = [partsOfNano(usage.completedCostNanoUsd), partsOfNano(usage.failedCostNanoUsd)];
  const provisional = partsOfNano(usage.provisionalCostNanoUsd);
  return {
    completed_calls: usage.completedCalls,
    failed_calls: usage.failedCalls,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    completed_cost_usd: completed.usd,
    completed_cost_rest_nano_usd: completed.restNanoUsd,
    failed_cost_usd: failed.usd,
    failed_cost_rest_nano_usd: failed.restNanoUsd,
    unpriced_calls: usage.unpricedCalls,
    provisional_calls: usage.provisionalCalls,
    provisional_cost_usd: provisional.usd,
    provisional_cost_rest_nano_usd: provisional.restNanoUsd,
    custom1: units.CUSTOM1,
    custom2: units.CUSTOM2,
    agentic_api: units.AGENTIC_API,
  };
}

function storedCurrent(current: CurrentHour): StoredCurrent {
  const used = Object.entries(columnsOf(current)).filter(([, value]) => value !== 0 && value !== '0');
  return { hour_ms: current.rowMs, ...Object.fromEntries(used) };
}

function readCurrent({ hour_ms: rowMs, ...columns }: StoredCurrent): CurrentHour {
  const count = (name: AddedColumn) => Number(columns[name] ?? 0);
  const cost = (kind: 'completed' | 'failed' | 'provisional') =>
    nanoOfParts(String(columns[`${kind}_cost_usd`] ?? 0), String(columns[`${kind}_cost_rest_nano_usd`] ?? 0));
  return {
    rowMs,
    usage: {
      completedCalls: count('completed_calls'),
      failedCalls: count('failed_calls'),
      inputTokens: count('input_tokens'),
      outputTokens: count('output_tokens'),
      completedCostNanoUsd: cost('completed'),
      failedCostNanoUsd: cost('failed'),
      unpricedCalls: count('unpriced_calls'),
      provisionalCalls: count('provisional_calls'),
      provisionalCostNanoUsd: cost('provisional'),
    },
    units: { CUSTOM1: count('custom1'), CUSTOM2: count('custom2'), AGENTIC_API: count('agentic_api') },
  };
}

/** An hour in which nothing was used. */
export const UNUSED_HOUR: UsageHour = {
  completedCalls: 0,
  failedCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  completedCostNanoUsd: 0n,
  failedCostNanoUsd: 0n,
  unpricedCalls: 0,
  provisionalCalls: 0,
  provisionalCostNanoUsd: 0n,
};

const sumOfUnits = (one: CurrentHour['units'], other: CurrentHour['units']) => ({
  CUSTOM1: one.CUSTOM1 + other.CUSTOM1,
  CUSTOM2: one.CUSTOM2 + other.CUSTOM2,
  AGENTIC_API: one.AGENTIC_API + other.AGENTIC_API,
});

function negated(hour: UsageHour): UsageHour {
  return {
    completedCalls: -hour.completedCalls,
    failedCalls: -hour.failedCalls,
    inputTokens: -hour.inputTokens,
    outputTokens: -hour.outputTokens,
    completedCostNanoUsd: -hour.completedCostNanoUsd,
    failedCostNanoUsd: -hour.failedCostNanoUsd,
    unpricedCalls: -hour.unpricedCalls,
    provisionalCalls: -hour.provisionalCalls,
    provisionalCostNanoUsd: -hour.provisionalCostNanoUsd,
  };
}

function sumOf(one: UsageHour, other: UsageHour): UsageHour {
  return {
    completedCalls: one.completedCalls + other.completedCalls,
    failedCalls: one.failedCalls + other.failedCalls,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    completedCostNanoUsd: one.completedCostNanoUsd + other.completedCostNanoUsd,
    failedCostNanoUsd: one.failedCostNanoUsd + other.failedCostNanoUsd,
    unpricedCalls: one.unpricedCalls + other.unpricedCalls,
    provisionalCalls: one.provisionalCalls + other.provisionalCalls,
    provisionalCostNanoUsd: one.provisionalCostNanoUsd + other.provisionalCostNanoUsd,
  };
}
