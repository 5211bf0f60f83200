/**
 * How the service ran in the last days, by hour: what this projector delivered, and, in the one that is asked to, the
 * requests of all isolates and the runs of the cron.
 */
import type { CronName, RequestKind } from '../../src/contract/health-history.ts';
import type { CronRun, DeliveryFigures, RequestFigures, ServiceFigures } from '../../src/objects/service-figures.ts';
import { addLatencies, type LatencyCounts, noLatencies } from '../../src/platform/latency.ts';
import { DAY_MS, HOUR_MS } from '../../src/platform/time.ts';

/** Figures by hour are kept for so long, and runs of the cron for a week, so that the last daily one is among them. */
const KEPT_HOURS_MS = 2 * DAY_MS;
const KEPT_RUNS_MS = 7 * DAY_MS;

const hourOf = (atMs: number) => atMs - (atMs % HOUR_MS);

export class ServiceLog {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** D1 took changes, the oldest of which had waited for so long. */
  delivered(changes: number, { waitedMs, nowMs }: { waitedMs: number; nowMs: number }): void {
    this.#addDelivery({ hourMs: hourOf(nowMs), deliveries: 1, changes, failures: 0, longestWaitMs: waitedMs });
  }

  /** D1 did not take what it was sent. */
  deliveryFailed(nowMs: number): void {
    this.#addDelivery({ hourMs: hourOf(nowMs), deliveries: 0, changes: 0, failures: 1, longestWaitMs: 0 });
  }

  #addDelivery({ hourMs, deliveries, changes, failures, longestWaitMs }: DeliveryFigures): void {
    const added = this.#sql.exec(
      `INSERT INTO delivery_hours (hour_ms, deliveries, changes, failures, longest_wait_ms) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET deliveries = deliveries + excluded.deliveries, changes = changes + excluded.changes,
         failures = failures + excluded.failures, longest_wait_ms = MAX(longest_wait_ms, excluded.longest_wait_ms)
       RETURNING deliveries + failures AS events`,
      hourMs,
      deliveries,
      changes,
      failures,
      longestWaitMs,
    );
    // The first of an hour also forgets what is old.
    if (added.one().events === 1)
      this.#sql.exec('DELETE FROM delivery_hours WHERE hour_ms < ?', hourMs - KEPT_HOURS_MS);
  }

  addRequests(figures: readonly RequestFigures[]): void {
    for (const { hourMs, kind, requests, serverErrors, latencies } of figures) {
      const found = this.#sql
        .exec<{ latencies: string }>('SELECT latencies FROM request_hours WHERE hour_ms = ? AND kind = ?', hourMs, kind)
        .toArray()[0];
      const before = found ? (JSON.parse(found.latencies) as LatencyCounts) : noLatencies();
      this.#sql.exec(
        `INSERT INTO request_hours (hour_ms, kind, requests, server_errors, latencies) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,
           server_errors = server_errors + excluded.server_errors, latencies = excluded.latencies`,
        hourMs,
        kind,
        requests,
        serverErrors,
        JSON.stringify(addLatencies(before, latencies)),
      );
      if (!found) this.#sql.exec('DELETE FROM request_hours WHERE hour_ms < ?', hourMs - KEPT_HOURS_MS);
    }
  }

  addRun({ name, startedMs, tookMs, ok, message }: CronRun): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO cron_runs (started_ms, name, took_ms, ok, message) VALUES (?, ?, ?, ?, ?)',
      startedMs,
      name,
      tookMs,
      ok ? 1 : 0,
      message,
    );
    this.#sql.exec('DELETE FROM cron_runs WHERE started_ms < ?', startedMs - KEPT_RUNS_MS);
  }

  figures(sinceMs: number): ServiceFigures {
    const deliveries = this.#sql.exec<DeliveryFigures & Record<string, SqlStorageValue>>(
      `SELECT hour_ms AS hourMs, deliveries, changes, failures, longest_wait_ms AS longestWaitMs
       FROM delivery_hours WHERE hour_ms >= ? ORDER BY hour_ms`,
      sinceMs,
    );
    const requests = this.#sql.exec<{
      hourMs: number;
      kind: RequestKind;
      requests: number;
      serverErrors: number;
      latencies: string;
    }>(
      `SELECT hour_ms AS hourMs, kind, requests, server_errors AS serverErrors, latencies
       FROM request_hours WHERE hour_ms >= ? ORDER BY hour_ms, kind`,
      sinceMs,
    );
    const runs = this.#sql.exec<{
      name: CronName;
      startedMs: number;
      tookMs: number;
      ok: number;
      message: string | null;
    }>('SELECT name, started_ms AS startedMs, took_ms AS tookMs, ok, message FROM cron_runs ORDER BY started_ms DESC');
    return {
      deliveries: deliveries.toArray(),
      requests: requests.toArray().map((row) => ({ ...row, latencies: JSON.parse(row.latencies) as LatencyCounts })),
      runs: runs.toArray().map((row) => ({ ...row, ok: row.ok === 1 })),
    };
  }
}
