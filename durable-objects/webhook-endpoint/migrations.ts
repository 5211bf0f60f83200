/**
 * The schema of a webhook's object, as a list of migrations. Append only: existing objects have run the ones before.
 *
 * Objects from before the migrations had numbers have the tables of the first one, and no version.
 */
import type { Migration } from '../schema.ts';

export const MIGRATIONS: readonly Migration[] = [
  `
  -- One row: the webhook, the place in the events up to which it has read, and how its endpoint does.
  CREATE TABLE IF NOT EXISTS endpoint (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    organization_id TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    -- When the webhook was created whose events these are; NULL before its configuration was read.
    created_at_ms INTEGER,
    after_place INTEGER NOT NULL DEFAULT 0,
    -- Since when every request failed, and when the last one did; NULL where the last one did not.
    failing_since_ms INTEGER,
    last_failed_ms INTEGER,
    -- It was seen switched off.
    is_off INTEGER NOT NULL DEFAULT 0,
    -- What is to be done to a webhook that takes nothing any more, as JSON.
    switch_off TEXT
  );
  CREATE TABLE IF NOT EXISTS deliveries (
    delivery INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    -- The customer; empty for events of none.
    lane TEXT NOT NULL,
    type TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    -- JSON; NULL once the delivery has ended.
    data TEXT,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    first_attempt_ms INTEGER,
    last_attempt_ms INTEGER,
    -- Of the first of its lane alone.
    next_attempt_ms INTEGER,
    answer_status INTEGER,
    answer TEXT,
    ended_at_ms INTEGER
  );
  CREATE INDEX IF NOT EXISTS deliveries_by_lane ON deliveries (lane, event_id) WHERE status = 'PENDING';
  CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (next_attempt_ms) WHERE next_attempt_ms IS NOT NULL;
  CREATE INDEX IF NOT EXISTS deliveries_ended ON deliveries (ended_at_ms) WHERE ended_at_ms IS NOT NULL;
  -- Events that are to be sent again: those between two ids.
  CREATE TABLE IF NOT EXISTS replays (
    replay INTEGER PRIMARY KEY AUTOINCREMENT,
    after_id TEXT NOT NULL,
    before_id TEXT NOT NULL
  );
  `,
];
