/**
 * The schema of a projector, as a list of migrations. Append only: existing objects have run the ones before.
 *
 * Objects from before the migrations had numbers have the tables of the first one, and no version.
 */
import type { Migration } from '../schema.ts';

export const MIGRATIONS: readonly Migration[] = [
  `
  -- The database that the pages are for: one row, from the first page on.
  CREATE TABLE IF NOT EXISTS history_database (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL);
  -- Pages of changes, as they came. Places are never used twice: a delivery deletes what it has read by its place.
  CREATE TABLE IF NOT EXISTS pages (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id TEXT NOT NULL,
    customer_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    page TEXT NOT NULL
  );
  -- Changes that D1 refused, each as a page of its own.
  CREATE TABLE IF NOT EXISTS set_aside (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id TEXT NOT NULL,
    customer_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    page TEXT NOT NULL,
    UNIQUE (subscription_id, kind, id)
  );
  -- Organizations with new events in D1, whose webhooks do not know of them yet, and the parts that brought them.
  CREATE TABLE IF NOT EXISTS to_wake (organization_id TEXT PRIMARY KEY, parts INTEGER NOT NULL) WITHOUT ROWID;

  -- How the service ran, by hour (service-log.ts).
  CREATE TABLE IF NOT EXISTS delivery_hours (
    hour_ms INTEGER PRIMARY KEY,
    deliveries INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    longest_wait_ms INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS request_hours (
    hour_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    requests INTEGER NOT NULL,
    server_errors INTEGER NOT NULL,
    latencies TEXT NOT NULL,
    PRIMARY KEY (hour_ms, kind)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS cron_runs (
    started_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    took_ms INTEGER NOT NULL,
    ok INTEGER NOT NULL,
    message TEXT,
    PRIMARY KEY (started_ms, name)
  ) WITHOUT ROWID;
  `,
];
