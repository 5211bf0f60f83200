/**
 * The schema of an organization's watch, as a list of migrations. Append only: existing objects have run the ones before.
 * They rewrite no rows: an alarm of the watch looks at the organization.
 *
 * Objects from before the migrations had numbers have the tables of the first one, and no version.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE IF NOT EXISTS organization (id INTEGER PRIMARY KEY CHECK (id = 1), organization_id TEXT NOT NULL);
  -- Events that D1 does not have, in the order in which they were found.
  CREATE TABLE IF NOT EXISTS waiting (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    customer_id TEXT,
    type TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    data TEXT NOT NULL
  );
  -- What was told. NULL matters for good.
  CREATE TABLE IF NOT EXISTS remembered (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    until_ms INTEGER,
    customer_id TEXT
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS customers (place INTEGER PRIMARY KEY AUTOINCREMENT, customer_id TEXT NOT NULL UNIQUE);
  `,
];
