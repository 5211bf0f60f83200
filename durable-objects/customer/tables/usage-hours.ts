/**
 * Usage by UTC hour of the end of calls. Sums of money are read as text: above 2^53 a number would be rounded.
 */
import type { NanoUsd } from '../../../src/domain/money.ts';
import type { MeterSlot } from '../../../src/domain/plan.ts';

export interface UsageHour {
  completedCalls: number;
  failedCalls: number;
  inputTokens: number;
  outputTokens: number;
  completedCostNanoUsd: NanoUsd;
  failedCostNanoUsd: NanoUsd;
  unpricedCalls: number;
}

/** An hour with usage, as readings take it. */
export type SeriesHour = {
  startMs: number;
  completedCalls: number;
  failedCalls: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  agenticApi: number;
  customMeter1: number;
  customMeter2: number;
  unpricedCalls: number;
};

const HOUR_MS = 3_600_000;
const SLOT_COLUMNS = { CUSTOM1: 'custom1', CUSTOM2: 'custom2', AGENTIC_API: 'agentic_api' } as const satisfies Record<MeterSlot, string>;

export class UsageHourTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(atMs: number, usage: UsageHour): void {
    this.#sql.exec(
      `INSERT INTO usage_hours (hour_ms, completed_calls, failed_calls, input_tokens, output_tokens, completed_cost_nano_usd, failed_cost_nano_usd,
         unpriced_calls)
       VALUES (?, ?, ?, ?, ?, CAST(? AS INTEGER), CAST(? AS INTEGER), ?)
       ON CONFLICT (hour_ms) DO UPDATE SET
         completed_calls = completed_calls + excluded.completed_calls,
         failed_calls = failed_calls + excluded.failed_calls,
         input_tokens = input_tokens + excluded.input_tokens,
         output_tokens = output_tokens + excluded.output_tokens,
         completed_cost_nano_usd = completed_cost_nano_usd + excluded.completed_cost_nano_usd,
         failed_cost_nano_usd = failed_cost_nano_usd + excluded.failed_cost_nano_usd,
         unpriced_calls = unpriced_calls + excluded.unpriced_calls`,
      atMs - (atMs % HOUR_MS),
      usage.completedCalls,
      usage.failedCalls,
      usage.inputTokens,
      usage.outputTokens,
      usage.completedCostNanoUsd.toString(),
      usage.failedCostNanoUsd.toString(),
      usage.unpricedCalls,
    );
  }

  addUnits(atMs: number, slot: MeterSlot, units: number): void {
    const column = SLOT_COLUMNS[slot];
    const sql = `INSERT INTO usage_hours (hour_ms, ${column}) VALUES (?, ?)
      ON CONFLICT (hour_ms) DO UPDATE SET ${column} = ${column} + excluded.${column}`;
    this.#sql.exec(sql, atMs - (atMs % HOUR_MS), units);
  }

  /** Completed calls and their cost in [fromMs, toMs), both on the hour. */
  completedBetween(fromMs: number, toMs: number): { calls: number; costNanoUsd: NanoUsd } {
    const { calls, cost } = this.#sql
      .exec<{ calls: number; cost: string }>(
        `SELECT COALESCE(SUM(completed_calls), 0) AS calls, CAST(COALESCE(SUM(completed_cost_nano_usd), 0) AS TEXT) AS cost
         FROM usage_hours WHERE hour_ms >= ? AND hour_ms < ?`,
        fromMs,
        toMs,
      )
      .one();
    return { calls, costNanoUsd: BigInt(cost) };
  }

  /** Hours from then on, in order. Money and units as numbers: for estimates, not for bills. */
  since(fromMs: number): SeriesHour[] {
    return this.#sql
      .exec<SeriesHour>(
        `SELECT hour_ms AS startMs, completed_calls AS completedCalls, failed_calls AS failedCalls, input_tokens AS inputTokens,
           output_tokens AS outputTokens, CAST(completed_cost_nano_usd + failed_cost_nano_usd AS REAL) / 1e9 AS costUsd,
           agentic_api AS agenticApi, custom1 AS customMeter1, custom2 AS customMeter2,
           unpriced_calls AS unpricedCalls
         FROM usage_hours WHERE hour_ms >= ? ORDER BY hour_ms`,
        fromMs,
      )
      .toArray();
  }

  /** Drops hours before then. Returns the rows written. */
  drop(beforeMs: number, rowsMax: number): number {
    const sql = 'DELETE FROM usage_hours WHERE hour_ms IN (SELECT hour_ms FROM usage_hours WHERE hour_ms < ? LIMIT ?)';
    return this.#sql.exec(sql, beforeMs, rowsMax).rowsWritten;
  }

  oldestMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(hour_ms) AS at FROM usage_hours').one().at;
  }
}
