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

  /**
   * All hours in order, as JSON: an array of numbers each, which `parseHours` (src/domain/readings/series-hours.ts) reads. One text, because thousands of objects would cost more
   * on their way than everything that is made of them.
   */
  asJson(): string {
    const values = `hour_ms, completed_calls, failed_calls, input_tokens, output_tokens,
      completed_cost_nano_usd + failed_cost_nano_usd, agentic_api, custom1, custom2, unpriced_calls`;
    const sql = `SELECT json_group_array(json_array(${values})) AS hours FROM (SELECT * FROM usage_hours ORDER BY hour_ms)`;
    return this.#sql.exec<{ hours: string }>(sql).one().hours;
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
