/**
 * The service with one more migration, which rewrites every call of a customer, and a list of the alarms of each customer
 * with the rows that they rewrote. It is only bundled and run locally; no deployment has this entry point.
 */
import { MIGRATIONS } from '../../durable-objects/customer/migrations.ts';
import type { Migration } from '../../durable-objects/schema.ts';
import service, { Customer as ServiceCustomer } from '../../src/index.ts';

export {
  CallDirectory,
  CompressionJob,
  CustomerBatches,
  GatewayBatch,
  OrganizationWatch,
  PlanMigration,
  Projector,
  Repricing,
  WebhookEndpoint,
} from '../../src/index.ts';

const rewrite: Extract<Migration, object>['rewrite'] = (sql, after, rowsMax) => {
  const rows = sql.exec<{ rowid: number }>(
    'SELECT rowid FROM calls WHERE rowid > ? ORDER BY rowid LIMIT ?',
    after ?? 0,
    rowsMax,
  );
  const rowids = rows.toArray().map(({ rowid }) => rowid);
  if (rowids.length === 0) return null;
  const ids = JSON.stringify(rowids);
  sql.exec('UPDATE calls SET times = times + 1 WHERE rowid IN (SELECT value FROM json_each(?))', ids);
  sql.exec('UPDATE alarms SET rows = rows + ? WHERE alarm = (SELECT MAX(alarm) FROM alarms)', rowids.length);
  return rowids.at(-1) ?? null;
};

(MIGRATIONS as Migration[]).push({
  sql: `ALTER TABLE calls ADD COLUMN times INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE alarms (alarm INTEGER PRIMARY KEY, rows INTEGER NOT NULL DEFAULT 0)`,
  rewrite,
});

export class Customer extends ServiceCustomer {
  override alarm(): Promise<void> {
    this.ctx.storage.sql.exec('INSERT INTO alarms DEFAULT VALUES');
    return super.alarm();
  }
}

export default service;
