/**
 * class ObjectSchema: brings the tables of an object up to date, by migrations that are numbered from 1.
 *
 * The SQL of all new migrations runs at once when the object opens, so it may create tables and add columns, and
 * rewrites no rows. Rows are rewritten by the alarm, a bounded number at a time; until then tables have rows of both
 * forms, and readers accept both. An object of a newer release is refused, and nothing is written.
 */
import { SECOND_MS } from '../src/platform/time.ts';
import { assertKnown } from './newer-state.ts';

/** SQL that a new version of the schema needs, and how the rows that exist are rewritten. */
export type Migration = string | { sql: string; rewrite: RewriteRows };

/** The last rewritten row, as the migration itself names it; `null` before the first. */
type RewritePlace = string | number | null;

/**
 * Rewrites at most `rowsMax` rows after a place, in one transaction. Returns the place of the last one; `null` if no row
 * is left.
 */
type RewriteRows = (sql: SqlStorage, after: RewritePlace, rowsMax: number) => RewritePlace;

/** Rows of one transaction: commands wait for it. */
const ROWS_PER_TRANSACTION = 100;
/** Rows that one alarm rewrites at most, and for how long it goes on. */
export const ROWS_PER_ALARM = 1_000;
const REWRITE_MS_MAX = 100;
/** The wait for the alarm that rewrites the next rows. */
export const REWRITE_PAUSE_MS = SECOND_MS / 4;

export class ObjectSchema {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #className: string;
  readonly #migrations: readonly Migration[];
  /** The migrations whose rows are not rewritten yet, the oldest first. */
  #unfinished: number[] = [];

  /** `className` is for the log. */
  constructor(storage: DurableObjectStorage, className: string, migrations: readonly Migration[]) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#className = className;
    this.#migrations = migrations;
  }

  /** Whether the object has tables. The runtime's own do not count. */
  exists(): boolean {
    return this.#sql.exec(`SELECT 1 FROM sqlite_master WHERE name NOT GLOB '_cf_*' LIMIT 1`).toArray().length > 0;
  }

  /** Creates the tables, or brings them up to date. Tables without a version are older than migration 1, or from it. */
  migrate(): void {
    const version = this.#version();
    assertKnown(`tables of ${this.#className}`, version, this.#migrations.length);
    if (version < this.#migrations.length) this.#storage.transactionSync(() => this.#runSince(version));
    this.#unfinished = this.#readUnfinished();
  }

  /** Whether rows are to be rewritten: an alarm is to be set. */
  get hasUnfinished(): boolean {
    return this.#unfinished.length > 0;
  }

  /** Rewrites rows within the bounds of one alarm. Commands run between its transactions. */
  async rewriteRows(): Promise<void> {
    const untilMs = Date.now() + REWRITE_MS_MAX;
    for (let rows = 0; rows < ROWS_PER_ALARM && this.hasUnfinished; rows += ROWS_PER_TRANSACTION) {
      this.#storage.transactionSync(() => this.#rewriteNext());
      // The clock stands still until then.
      await scheduler.wait(0);
      if (Date.now() >= untilMs) return;
    }
  }

  #version(): number {
    if (!this.#hasTable('schema_version')) return 0;
    return this.#sql.exec<{ version: number }>('SELECT version FROM schema_version').one().version;
  }

  #runSince(version: number): void {
    const hasRows = this.exists();
    if (!this.#hasTable('schema_version')) this.#createVersion();
    for (const [index, migration] of this.#migrations.entries()) {
      if (index < version) continue;
      this.#sql.exec(typeof migration === 'string' ? migration : migration.sql);
      if (hasRows && typeof migration !== 'string') this.#addUnfinished(index + 1);
    }
    this.#sql.exec('UPDATE schema_version SET version = ?', this.#migrations.length);
  }

  #createVersion(): void {
    this.#sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
    this.#sql.exec('INSERT INTO schema_version (version) VALUES (0)');
  }

  #addUnfinished(migration: number): void {
    // The place of the last rewritten row is a number or a text.
    this.#sql.exec('CREATE TABLE IF NOT EXISTS schema_rewrites (migration INTEGER PRIMARY KEY, after)');
    this.#sql.exec('INSERT INTO schema_rewrites (migration) VALUES (?)', migration);
  }

  #readUnfinished(): number[] {
    if (this.#migrations.every((migration) => typeof migration === 'string')) return [];
    if (!this.#hasTable('schema_rewrites')) return [];
    const rows = this.#sql.exec<{ migration: number }>('SELECT migration FROM schema_rewrites ORDER BY migration');
    return rows.toArray().map(({ migration }) => migration);
  }

  #rewriteNext(): void {
    const number = this.#unfinished[0] ?? 0;
    const migration = this.#migrations[number - 1];
    if (migration === undefined || typeof migration === 'string')
      throw new Error(`migration ${number} rewrites no rows`);
    const place = this.#sql.exec<{ after: string | number | null }>(
      'SELECT after FROM schema_rewrites WHERE migration = ?',
      number,
    );
    const after = migration.rewrite(this.#sql, place.one().after, ROWS_PER_TRANSACTION);
    if (after === null) {
      this.#sql.exec('DELETE FROM schema_rewrites WHERE migration = ?', number);
      this.#unfinished = this.#unfinished.slice(1);
    } else this.#sql.exec('UPDATE schema_rewrites SET after = ? WHERE migration = ?', after, number);
  }

  #hasTable(name: string): boolean {
    return this.#sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', name).toArray().length > 0;
  }
}
