/**
 * The schema of a customer's object, as a list of steps. Append only: objects in the field have run the ones before.
 *
 * Money columns are INTEGER and are only ever written and read as decimal strings through CAST. Sums of money are two
 * columns.
 */
export const MIGRATIONS: readonly string[] = [
  `
  -- One row: the account as JSON (src/domain/account.ts).
  CREATE TABLE account (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL);

  -- One row per call: its facts as JSON (src/domain/call.ts), and the answers that retries of its begin and end get.
  CREATE TABLE calls (
    call_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    deadline_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    record TEXT NOT NULL,
    begin_fingerprint TEXT NOT NULL,
    begin_answer TEXT,
    end_fingerprint TEXT,
    end_answer TEXT
  );
  CREATE INDEX calls_open ON calls (deadline_at_ms) WHERE status = 'IN_PROGRESS';
  CREATE INDEX calls_finished ON calls (finished_at_ms) WHERE finished_at_ms IS NOT NULL;
  CREATE INDEX calls_started ON calls (started_at_ms);

  -- The newest call of each derived key and payload. Generations count the calls of a derived key.
  CREATE TABLE derived_keys (
    hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    generation INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (hash, fingerprint)
  );
  CREATE INDEX derived_keys_generation ON derived_keys (hash, generation);
  CREATE INDEX derived_keys_age ON derived_keys (at_ms);

  -- Idempotency keys of operations other than begin. An end's key points to its call; others keep their answer.
  CREATE TABLE idempotency_keys (
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    call_id TEXT,
    answer TEXT,
    expires_at_ms INTEGER NOT NULL,
    PRIMARY KEY (operation, key)
  );
  CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at_ms);

  -- Usage by UTC hour of the end of calls.
  CREATE TABLE usage_hours (
    hour_ms INTEGER PRIMARY KEY,
    completed_calls INTEGER NOT NULL DEFAULT 0,
    failed_calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    completed_cost_nano_usd INTEGER NOT NULL DEFAULT 0,
    failed_cost_nano_usd INTEGER NOT NULL DEFAULT 0
  );

  -- What D1 does not have yet, and how sending it goes.
  CREATE TABLE outbox (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    queued_at_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
  );
  CREATE INDEX outbox_order ON outbox (queued_at_ms);
  CREATE TABLE delivery (id INTEGER PRIMARY KEY CHECK (id = 1), failures INTEGER NOT NULL, due_at_ms INTEGER, last_error TEXT);
  INSERT INTO delivery (id, failures, due_at_ms, last_error) VALUES (1, 0, NULL, NULL);
  `,
  `
  -- Accounts from before there were wallets.
  UPDATE account SET value = json_set(value, '$.wallet',
    json('{"credits":[],"overdraft":"0","held":"0","unsettled":"0","entries":[]}')) WHERE value ->> '$.wallet' IS NULL;

  -- Increments of the custom meters, as JSON (src/domain/custom-meter.ts), until D1 has them and their charge is settled.
  CREATE TABLE meter_events (event_id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, record TEXT NOT NULL);
  CREATE INDEX meter_events_age ON meter_events (at_ms);

  -- Every change of a balance. Amounts are exact decimals as text: nano-USD, or units of a slot.
  CREATE TABLE ledger (
    entry_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    unit TEXT NOT NULL,
    balance TEXT NOT NULL,
    record TEXT NOT NULL
  );
  CREATE INDEX ledger_by_unit ON ledger (unit, entry_id);
  CREATE INDEX ledger_age ON ledger (at_ms);

  -- Charges on their way: to the balance first, then to the billing provider where one is configured.
  CREATE TABLE charges (
    charge_id TEXT PRIMARY KEY,
    -- 'call' or 'meter_event', and which one.
    kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    amount_nano_usd TEXT NOT NULL,
    stripe_customer_id TEXT,
    at_ms INTEGER NOT NULL,
    -- NULL until the balance has paid.
    debited_at_ms INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    first_attempt_at_ms INTEGER,
    due_at_ms INTEGER NOT NULL
  );
  CREATE INDEX charges_due ON charges (due_at_ms);

  -- Units of the custom meters by UTC hour.
  ALTER TABLE usage_hours ADD COLUMN custom1 INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN custom2 INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN agentic_api INTEGER NOT NULL DEFAULT 0;
  -- Ended calls whose price is not known.
  ALTER TABLE usage_hours ADD COLUMN unpriced_calls INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What came of calls that the service made itself, in parts: an answer may be longer than one value can be.
  CREATE TABLE call_answers (call_id TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (call_id, part)) WITHOUT ROWID;
  `,
  `
  -- The tables that every begin or end writes, without a tree of row ids beside that of their key.
  ALTER TABLE outbox RENAME TO outbox_by_rowid;
  DROP INDEX outbox_order;
  CREATE TABLE outbox (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    queued_at_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
  ) WITHOUT ROWID;
  CREATE INDEX outbox_order ON outbox (queued_at_ms);
  INSERT INTO outbox (kind, id, revision, queued_at_ms) SELECT kind, id, revision, queued_at_ms FROM outbox_by_rowid;
  DROP TABLE outbox_by_rowid;

  ALTER TABLE derived_keys RENAME TO derived_keys_by_rowid;
  DROP INDEX derived_keys_generation;
  DROP INDEX derived_keys_age;
  CREATE TABLE derived_keys (
    hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    generation INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (hash, fingerprint)
  ) WITHOUT ROWID;
  CREATE INDEX derived_keys_generation ON derived_keys (hash, generation);
  CREATE INDEX derived_keys_age ON derived_keys (at_ms);
  INSERT INTO derived_keys (hash, fingerprint, generation, call_id, at_ms)
    SELECT hash, fingerprint, generation, call_id, at_ms FROM derived_keys_by_rowid;
  DROP TABLE derived_keys_by_rowid;
  `,
  `
  -- What waits for D1 as a log: its end is written, its beginning is read and dropped, and no key has to be found.
  ALTER TABLE outbox RENAME TO outbox_by_key;
  DROP INDEX outbox_order;
  CREATE TABLE outbox (place INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, queued_at_ms INTEGER NOT NULL);
  INSERT INTO outbox (kind, id, queued_at_ms) SELECT kind, id, queued_at_ms FROM outbox_by_key ORDER BY queued_at_ms;
  DROP TABLE outbox_by_key;
  `,
  `
  -- Sums of cost in two, each of which stays within 64 bits: whole dollars, and what remains in nano-USD. A sum that had left
  -- 64 bits is a floating-point number: its dollars stand, the rest of it was never exact.
  ALTER TABLE usage_hours RENAME COLUMN completed_cost_nano_usd TO completed_cost_rest_nano_usd;
  ALTER TABLE usage_hours RENAME COLUMN failed_cost_nano_usd TO failed_cost_rest_nano_usd;
  ALTER TABLE usage_hours ADD COLUMN completed_cost_usd INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN failed_cost_usd INTEGER NOT NULL DEFAULT 0;
  UPDATE usage_hours SET
    completed_cost_usd = CAST(completed_cost_rest_nano_usd / 1000000000 AS INTEGER),
    completed_cost_rest_nano_usd =
      CASE typeof(completed_cost_rest_nano_usd) WHEN 'integer' THEN completed_cost_rest_nano_usd % 1000000000 ELSE 0 END,
    failed_cost_usd = CAST(failed_cost_rest_nano_usd / 1000000000 AS INTEGER),
    failed_cost_rest_nano_usd = CASE typeof(failed_cost_rest_nano_usd) WHEN 'integer' THEN failed_cost_rest_nano_usd % 1000000000 ELSE 0 END;
  `,
  `
  -- Changes that D1 refused for what is in them: they wait here for an operator, and the others go on.
  CREATE TABLE set_aside (
    place INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    UNIQUE (kind, id)
  );
  -- When the announcement of these is due; NULL where none is.
  ALTER TABLE delivery ADD COLUMN announce_at_ms INTEGER;
  `,
  `
  -- Denied calls by UTC hour: those that D1 gets in full, all in the row without a feature, and those that it gets as a count.
  CREATE TABLE denied_hours (
    row_id INTEGER PRIMARY KEY,
    hour_ms INTEGER NOT NULL,
    feature TEXT NOT NULL,
    full_calls INTEGER NOT NULL DEFAULT 0,
    counted_calls INTEGER NOT NULL DEFAULT 0,
    UNIQUE (hour_ms, feature)
  );
  `,
];
