/**
 * Usage by UTC hour of the end of calls. The hour in which a usage period begins has two rows, one before and one from its
 * beginning, so that what was recorded in a period is known exactly. A sum of money has two columns, whole dollars and the
 * rest in nano-USD, because it may exceed 64 bits. Both are read as text: above 2^53 a number would be rounded.
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

/** Columns that a call adds to, in the order in which they are bound. Parts of a sum of money are bound as text. */
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
};

const ADD = `INSERT INTO usage_hours (hour_ms, ${Object.keys(ADDED).join(', ')}) VALUES (?, ${Object.values(ADDED).join(', ')})
  ON CONFLICT (hour_ms) DO UPDATE SET ${Object.keys(ADDED)
    .map((name) => `${name} = ${name} + excluded.${name}`)
    .join(', ')}`;

const ALL_COLUMNS = [...Object.keys(ADDED), ...Object.values(SLOT_COLUMNS)];
const REJOIN = `INSERT INTO usage_hours (hour_ms, ${ALL_COLUMNS.join(', ')}) SELECT ?1, ${ALL_COLUMNS.join(', ')}`;
const ADD_TO_ROW = `ON CONFLICT (hour_ms) DO UPDATE SET ${ALL_COLUMNS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;

export class UsageHourTable {
  readonly #sql: SqlStorage;
  /** What the transaction under way adds, by hour: calls that share a transaction share a row. */
  readonly #added = new Map<number, UsageHour>();
  /** What was recorded cost since a usage period began, once it was asked for; kept up to date. */
  #costSince: { periodMs: number; fromMs: number; nanoUsd: NanoUsd } | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Adds a call. It is written with `flush`. */
  add(atMs: number, usage: UsageHour): void {
    const hourMs = this.#rowAt(atMs);
    const added = this.#added.get(hourMs);
    this.#added.set(hourMs, added ? sumOf(added, usage) : usage);
  }

  /**
   * Divides the hour of that time, at which a usage period begins: what is used from then on has a row of its own. An hour
   * without usage before it needs none, and one in which periods began before is divided at the last of them alone, also if
   * that began in the same instant.
   */
  divide(atMs: number): void {
    this.flush();
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

  /** To be called before a transaction ends. */
  flush(): void {
    for (const [hourMs, added] of this.#added) this.#write(hourMs, added);
    this.#added.clear();
  }

  /** To be called when a transaction failed. */
  rolledBack(): void {
    this.#added.clear();
    this.#costSince = undefined;
  }

  #write(hourMs: number, usage: UsageHour): void {
    const [completed, failed] = [partsOfNano(usage.completedCostNanoUsd), partsOfNano(usage.failedCostNanoUsd)];
    const provisional = partsOfNano(usage.provisionalCostNanoUsd);
    if (this.#costSince && hourMs >= this.#costSince.fromMs)
      this.#costSince.nanoUsd += usage.completedCostNanoUsd + usage.failedCostNanoUsd;
    this.#sql.exec(
      ADD,
      hourMs,
      usage.completedCalls,
      usage.failedCalls,
      usage.inputTokens,
      usage.outputTokens,
      completed.usd,
      completed.restNanoUsd,
      failed.usd,
      failed.restNanoUsd,
      usage.unpricedCalls,
      usage.provisionalCalls,
      provisional.usd,
      provisional.restNanoUsd,
    );
  }

  addUnits(atMs: number, slot: MeterSlot, units: number): void {
    const column = SLOT_COLUMNS[slot];
    const sql = `INSERT INTO usage_hours (hour_ms, ${column}) VALUES (?, ?)
      ON CONFLICT (hour_ms) DO UPDATE SET ${column} = ${column} + excluded.${column}`;
    this.#sql.exec(sql, this.#rowAt(atMs), units);
  }

  /** Replaces what a call counted in its hour, as long as that is kept. */
  replace({ atMs, isPresent }: Recorded, before: UsageHour, after: UsageHour): void {
    this.flush();
    const hourMs = this.#rowAt(atMs, !isPresent);
    const isKept = this.#sql.exec('SELECT 1 FROM usage_hours WHERE hour_ms = ?', hourMs).toArray().length > 0;
    if (isKept) this.#write(hourMs, sumOf(after, negated(before)));
  }

  /** Takes units out of their hour, as long as it is kept. */
  takeUnits({ atMs, isPresent }: Recorded, slot: MeterSlot, units: number): void {
    const column = SLOT_COLUMNS[slot];
    const hourMs = this.#rowAt(atMs, !isPresent);
    this.#sql.exec(`UPDATE usage_hours SET ${column} = ${column} - ? WHERE hour_ms = ?`, units, hourMs);
  }

  /** Completed calls and their cost in the UTC hour and the UTC day of that time. */
  velocity(atMs: number): Record<'hour' | 'day', { calls: number; costNanoUsd: NanoUsd }> {
    this.flush();
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
    return {
      hour: { calls: Number(row.hourCalls), costNanoUsd: nanoOfParts(row.hourUsd, row.hourRest) },
      day: { calls: Number(row.dayCalls), costNanoUsd: nanoOfParts(row.dayUsd, row.dayRest) },
    };
  }

  /**
   * What was recorded cost since the present usage period began: of hours that are no longer kept, the cost is known since
   * then alone.
   */
  costSince(periodMs: number): NanoUsd {
    this.flush();
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
    this.flush();
    const pairs = columns.map((name) => `'${name}', json_group_array(${COLUMNS[name]})`);
    const sql = `SELECT json_object(${pairs.join(', ')}) AS hours FROM usage_hours WHERE hour_ms >= ?`;
    return this.#sql.exec<{ hours: string }>(sql, fromMs).one().hours;
  }

  /**
   * Drops hours before then. What those of the usage period cost, which began at `periodMs`, stays known. Returns the
   * rows written.
   */
  drop({ beforeMs, periodMs }: { beforeMs: number; periodMs: number }, rowsMax: number): number {
    this.#costSince = undefined;
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
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(hour_ms) AS at FROM usage_hours').one().at;
  }
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
