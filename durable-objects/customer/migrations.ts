/**
 * The schema of a customer's object, as a list of steps. Append only: existing objects have run the steps before.
 *
 * Money columns are INTEGER and are only ever written and read as decimal strings through CAST. A sum of money is two
 * columns, whole dollars and the rest in nano-USD, so that it does not leave 64 bits.
 */
import type { Migration } from '../schema.ts';

export const MIGRATIONS: readonly Migration[] = [
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

  -- Vendors' answers to calls that the service made itself, in parts: an answer may be longer than one value can be.
  CREATE TABLE call_answers (call_id TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (call_id, part)) WITHOUT ROWID;

  -- The newest call of each derived key and payload. Generations count the calls of a derived key.
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

  -- Idempotency keys of operations other than begin. An end's key points to its call; the others store their answer.
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

  -- Usage by UTC hour of the end of calls, and units of the custom meters by UTC hour.
  CREATE TABLE usage_hours (
    hour_ms INTEGER PRIMARY KEY,
    completed_calls INTEGER NOT NULL DEFAULT 0,
    failed_calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    completed_cost_usd INTEGER NOT NULL DEFAULT 0,
    completed_cost_rest_nano_usd INTEGER NOT NULL DEFAULT 0,
    failed_cost_usd INTEGER NOT NULL DEFAULT 0,
    failed_cost_rest_nano_usd INTEGER NOT NULL DEFAULT 0,
    -- Ended calls whose price is not known.
    unpriced_calls INTEGER NOT NULL DEFAULT 0,
    custom1 INTEGER NOT NULL DEFAULT 0,
    custom2 INTEGER NOT NULL DEFAULT 0,
    agentic_api INTEGER NOT NULL DEFAULT 0
  );

  -- Denied calls by UTC hour: those that D1 gets in full, all in the row without a feature, and those that it gets as a count.
  CREATE TABLE denied_hours (
    row_id INTEGER PRIMARY KEY,
    hour_ms INTEGER NOT NULL,
    feature TEXT NOT NULL,
    full_calls INTEGER NOT NULL DEFAULT 0,
    counted_calls INTEGER NOT NULL DEFAULT 0,
    UNIQUE (hour_ms, feature)
  );

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

  -- Charges that are not settled yet: the balance pays first, then the billing provider is told, where one is configured.
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

  -- Changes that no projector has yet, as a log: changes are appended, read from the beginning and deleted from there, so
  -- none is looked up by its key.
  CREATE TABLE outbox (place INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, queued_at_ms INTEGER NOT NULL);

  -- How handing them over goes.
  CREATE TABLE delivery (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    failures INTEGER NOT NULL,
    due_at_ms INTEGER,
    last_error TEXT,
    -- The database of the organization, once it is known.
    history_database TEXT
  );
  INSERT INTO delivery (id, failures) VALUES (1, 0);
  `,
  `
  -- The terms of every credit, as JSON (src/domain/wallet.ts): what it paid may be given back to it.
  CREATE TABLE credits (credit_id TEXT PRIMARY KEY, terms TEXT NOT NULL) WITHOUT ROWID;
  INSERT INTO credits (credit_id, terms)
    SELECT credit.value ->> 'creditId', credit.value FROM account, json_each(account.value, '$.wallet.credits') credit;

  -- What a custom meter came to in a usage period that is over, as JSON (src/domain/reverse-meter.ts).
  CREATE TABLE slot_periods (
    period INTEGER NOT NULL,
    slot TEXT NOT NULL,
    closed_at_ms INTEGER NOT NULL,
    totals TEXT NOT NULL,
    PRIMARY KEY (period, slot)
  ) WITHOUT ROWID;
  CREATE INDEX slot_periods_age ON slot_periods (closed_at_ms);

  -- The calls and meter events that were corrected, and since which revision.
  CREATE TABLE corrections (subject_id TEXT PRIMARY KEY, revision INTEGER NOT NULL, at_ms INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX corrections_age ON corrections (at_ms);

  -- Of a charge that corrects what was recorded: when that was, and the charge that it corrects, where there is one.
  ALTER TABLE charges ADD COLUMN subject_at_ms INTEGER;
  ALTER TABLE charges ADD COLUMN corrects TEXT;
  `,
  `
  -- Of the calls of an hour: those whose usage is provisional, and their part of the cost.
  ALTER TABLE usage_hours ADD COLUMN provisional_calls INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN provisional_cost_usd INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN provisional_cost_rest_nano_usd INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What batches under way hold, as JSON (src/domain/batch-hold.ts). One that has expired holds nothing; what it held stays
  -- known until the batch is over.
  CREATE TABLE batch_holds (
    request_name TEXT PRIMARY KEY,
    begun_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    hold TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX batch_holds_expiry ON batch_holds (expires_at_ms);
  `,
  `
  -- What the organization is told of, as JSON (src/events/customer-events.ts), until D1 has it.
  CREATE TABLE events (event_id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, record TEXT NOT NULL);
  CREATE INDEX events_age ON events (at_ms);
  `,
  `
  -- What the usage hours from from_ms on cost that are no longer kept: a usage period may be longer than they are.
  CREATE TABLE dropped_cost (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    from_ms INTEGER NOT NULL,
    cost_usd INTEGER NOT NULL,
    cost_rest_nano_usd INTEGER NOT NULL
  );
  `,
  `
  -- Responses that vendors keep, and whose figures are awaited: what the vendor is asked for, as JSON
  -- (src/gateway/late-figures.ts), and how often it was asked.
  CREATE TABLE awaited_figures (
    call_id TEXT PRIMARY KEY,
    since_ms INTEGER NOT NULL,
    due_at_ms INTEGER NOT NULL,
    polls INTEGER NOT NULL,
    awaited TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX awaited_figures_due ON awaited_figures (due_at_ms);
  `,
  `
  -- What the last answers of a model came to of their bounds, as JSON (src/domain/expected-hold.ts).
  CREATE TABLE bound_shares (model TEXT PRIMARY KEY, ended_at_ms INTEGER NOT NULL, shares TEXT NOT NULL) WITHOUT ROWID;
  `,
  `
  -- What vendors counted for prompts of ended calls, as JSON (tables/counted-prompts.ts): a ring of places, each with the
  -- number of its call.
  CREATE TABLE counted_prompts (
    place INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    plan_version_id TEXT NOT NULL,
    prompts TEXT NOT NULL
  );
  `,
  `
  -- What D1 was sent to count of a call before its last change, as JSON (src/history/projection-rows.ts).
  ALTER TABLE calls ADD COLUMN replaced TEXT;
  `,
  `
  -- Of a charge that the billing provider is told of: whether it was queued under a key of the provider, the amount of the
  -- event that was sent under its id, whether the provider may have that event, and why the charge is listed as failed.
  ALTER TABLE charges ADD COLUMN keyed INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE charges ADD COLUMN event_nano_usd TEXT;
  ALTER TABLE charges ADD COLUMN may_be_there INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE charges ADD COLUMN failure_reason TEXT;
  UPDATE charges SET keyed = 1 WHERE debited_at_ms IS NOT NULL;
  UPDATE charges SET event_nano_usd = amount_nano_usd, may_be_there = 1 WHERE attempts > 0;
  CREATE INDEX charges_reported ON charges (subject_id) WHERE stripe_customer_id IS NOT NULL;
  `,
  `
  -- Calls that failed and were free, by UTC hour: those that D1 gets in full, and those that it gets as a count, of which some
  -- have no price.
  CREATE TABLE failed_hours (
    hour_ms INTEGER PRIMARY KEY,
    full_calls INTEGER NOT NULL,
    counted_calls INTEGER NOT NULL,
    counted_unpriced INTEGER NOT NULL,
    revision INTEGER NOT NULL
  );
  `,
  `
  -- Texts that answers are packed by (packed-text.ts), with the call whose id a text has.
  CREATE TABLE forms (
    form_id INTEGER PRIMARY KEY AUTOINCREMENT,
    call_id TEXT NOT NULL,
    made_at_ms INTEGER NOT NULL,
    text TEXT NOT NULL
  );

  -- The vendors' answers that call_answers has or had: where each ends, if they stand one after the other.
  CREATE TABLE kept_answers (end_byte INTEGER PRIMARY KEY, call_id TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL);

  -- Calls of which only retries ask here, as D1 has them: what their retries need (tables/past-calls.ts).
  CREATE TABLE past_calls (
    place INTEGER PRIMARY KEY,
    call_id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    finished_at_ms INTEGER NOT NULL,
    facts TEXT NOT NULL,
    begin_fingerprint TEXT NOT NULL,
    begin_answer TEXT,
    end_fingerprint TEXT,
    end_answer TEXT
  );

  -- How far two walks over finished calls have come: the one that makes past calls of them, and the one that drops answers.
  CREATE TABLE walks (walk TEXT PRIMARY KEY, finished_at_ms INTEGER NOT NULL, row_id INTEGER NOT NULL) WITHOUT ROWID;

  -- The share of its storage of which the organization was told last, in percent.
  CREATE TABLE storage_told (id INTEGER PRIMARY KEY CHECK (id = 1), percent INTEGER NOT NULL);
  `,
  `
  -- What a begin needs to know of the calls before it, as JSON (tables/begin-figures.ts); NULL until it is counted.
  ALTER TABLE account ADD COLUMN begin_figures TEXT;

  -- The place in the outbox of a call's last change.
  ALTER TABLE calls ADD COLUMN change_place INTEGER;
  UPDATE calls SET change_place = waiting.place
    FROM (SELECT id, MAX(place) AS place FROM outbox WHERE kind = 'call' GROUP BY id) waiting WHERE call_id = waiting.id;

  -- A charge is in one of these.
  DROP INDEX charges_due;
  CREATE INDEX charges_to_debit ON charges (due_at_ms) WHERE debited_at_ms IS NULL;
  CREATE INDEX charges_to_report ON charges (due_at_ms) WHERE debited_at_ms IS NOT NULL;
  CREATE INDEX charges_failed ON charges (at_ms) WHERE failure_reason IS NOT NULL;

  DROP INDEX batch_holds_expiry;
  CREATE INDEX batch_holds_expiry ON batch_holds (expires_at_ms, begun_at_ms);
  `,
  `
  -- The changes that no projector has yet, as JSON (tables/outbox.ts); outbox has those that came after the list was full.
  ALTER TABLE account ADD COLUMN pending TEXT;
  `,
  `
  -- Idempotency keys of operations other than begin, by the UTC day in which they were used (tables/keys.ts).
  ${['keys_of_day_0', 'keys_of_day_1', 'keys_of_day_2']
    .map(
      (table) => `CREATE TABLE ${table} (
      day INTEGER NOT NULL,
      operation TEXT NOT NULL,
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      call_id TEXT,
      answer TEXT,
      PRIMARY KEY (day, operation, key)
    ) WITHOUT ROWID;`,
    )
    .join('\n')}
  `,
  `
  -- What was used in the hour under way, as JSON (tables/usage-hours.ts), until it is added to usage_hours.
  ALTER TABLE account ADD COLUMN current_hour TEXT;
  `,
  `
  -- When a call ended that keeps its place in the order of begins; finished_at_ms is of the others (tables/calls.ts).
  ALTER TABLE calls ADD COLUMN ended_at_ms INTEGER;
  DROP INDEX calls_started;

  -- How far two walks along that order have come: the one that makes past calls, and the one that drops calls.
  DROP TABLE walks;
  CREATE TABLE call_walks (walk TEXT PRIMARY KEY, row_id INTEGER NOT NULL) WITHOUT ROWID;
  `,
];
