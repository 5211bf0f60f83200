/**
 * The retention: deletes history that is older than its organization keeps, in slices that D1 can take.
 *
 * Calls, denied calls, increments and ledger entries expire by their own time. Usage expires by whole UTC days, in
 * every table that sums by hour, day or week. The newest running total before the kept days stays: a period is the
 * difference of two of them, so every sum over the kept days stays exact.
 *
 * If there is an archive, calls, increments and ledger entries are deleted only after it has the present state of their
 * day.
 */

import { and, eq, isNotNull } from 'drizzle-orm';
import { configDatabase, namedDatabase } from '../config/database.ts';
import { usageKeptSinceMs, withRetentionDefaults } from '../config/kept-part.ts';
import { RETENTION_DAYS_MAX, RETENTION_DEFAULTS, type Retention } from '../contract/operator.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { DAY_MS, HOUR_MS, WEEK_MS } from '../platform/time.ts';
import { forgetOldDays } from './archive/days.ts';
import { firstDelivery } from './projection.ts';
import { KEPT, type Kept, ROLL_UPS, rollUpKey } from './roll-ups.ts';
import { organizations } from './schema/index.ts';

/** Rows that one statement deletes. */
const DELETE_ROWS_MAX = 5_000;
/** The most statements of one run that delete, or find customers with expired usage. */
const STATEMENTS_MAX = 400;
const PAUSE_MS_MAX = 1_000;
/**
 * A call stays, expired or not, if D1 got a change of it within this time: a repeated delivery finds the rows that it
 * has written and counted.
 */
const WRITTEN_MS_MIN = HOUR_MS;
/** The most organizations with expired rows of a kind that one run handles. */
const ORGANIZATIONS_MAX = 100;
/** The most customers whose usage one statement deletes: each has at least one row. */
const CUSTOMERS_MAX = 5_000;
/** The most customers that one statement looks at to find those with usage to delete. */
const LOOKED_AT_MAX = 50_000;

interface Kind {
  table: string;
  days: keyof Retention;
  at: string;
  /** The columns that identify a row. */
  key: string;
  isArchived: boolean;
}

const KINDS: readonly Kind[] = [
  { table: 'calls', days: 'callRetentionDays', at: 'started_at_ms', key: 'rowid', isArchived: true },
  {
    table: 'denied_hours',
    days: 'callRetentionDays',
    at: 'hour_ms',
    key: 'organization_id, customer_id, hour_ms, feature',
    isArchived: false,
  },
  {
    table: 'failed_hours',
    days: 'callRetentionDays',
    at: 'hour_ms',
    key: 'organization_id, customer_id, hour_ms',
    isArchived: false,
  },
  { table: 'meter_events', days: 'meterEventRetentionDays', at: 'at_ms', key: 'rowid', isArchived: true },
  {
    table: 'credit_entries',
    days: 'ledgerRetentionDays',
    at: 'at_ms',
    key: 'organization_id, customer_id, entry_id',
    isArchived: true,
  },
];

/** An organization with expired rows, and the time before which they are expired. */
interface Expired {
  organizationId: OrganizationId;
  beforeMs: number;
}

/** Counts down over a run. */
interface Budget {
  statements: number;
}

/**
 * Deletes expired history of a database, up to a bound. Returns whether everything that is expired was deleted; the
 * next run continues.
 */
export async function deleteExpiredHistory(env: Env, name: DatabaseName, nowMs: number): Promise<boolean> {
  const db = namedDatabase(env, name).$client;
  const own = await configDatabase(env)
    .select({ organizationId: organizations.organizationId, retention: organizations.retention })
    .from(organizations)
    .where(and(eq(organizations.database, name), isNotNull(organizations.retention)));
  /** The cutoffs of organizations with a retention of their own, and the cutoff of all others. */
  const cutoffs = (cutoff: (retention: Retention) => number) => ({
    own: JSON.stringify(
      own.map(({ organizationId, retention }) => [organizationId, cutoff(withRetentionDefaults(retention))]),
    ),
    others: cutoff(RETENTION_DEFAULTS),
  });
  const budget: Budget = { statements: STATEMENTS_MAX };
  for (const kind of KINDS) {
    const { own: ownCutoffs, others } = cutoffs((retention) => nowMs - retention[kind.days] * DAY_MS);
    const isArchived = env.ARCHIVE && kind.isArchived ? isInArchive(kind) : 'TRUE';
    const mayGo = kind.table === 'calls' ? `${isArchived} AND ${wasWrittenBefore(nowMs - WRITTEN_MS_MIN)}` : isArchived;
    const expired = await findExpired(
      db,
      `${kind.table} WHERE organization_id = sizes.organization_id AND ${mayGo} AND ${kind.at}`,
      ownCutoffs,
      others,
    );
    for (const organization of expired) {
      if (kind.table === 'calls') await markDeleted(db, organization);
      await deleteRows(db, kind, organization, mayGo, budget);
    }
  }
  if (!env.ARCHIVE) await forgetOldDays(env, name, nowMs - RETENTION_DAYS_MAX * DAY_MS);
  const { own: ownCutoffs, others } = cutoffs((retention) => usageKeptSinceMs(retention, nowMs));
  const days = "organization_days WHERE organization_id = sizes.organization_id AND dimension = 'outcome' AND day_ms";
  for (const organization of await findExpired(db, days, ownCutoffs, others))
    await deleteUsage(db, organization, budget);
  return budget.statements > 0;
}

/** Organizations with a row before their cutoff, at the cost of one look into an index for each. */
async function findExpired(db: D1Database, rowAt: string, own: string, others: number): Promise<Expired[]> {
  const sql = `WITH own AS MATERIALIZED (SELECT value ->> 0 AS organization_id, value ->> 1 AS before_ms FROM json_each(?1)),
    sizes AS (SELECT organization_id, COALESCE(before_ms, ?2) AS before_ms FROM organization_sizes LEFT JOIN own USING (organization_id))
    SELECT organization_id AS organizationId, before_ms AS beforeMs FROM sizes
    WHERE EXISTS (SELECT 1 FROM ${rowAt} < sizes.before_ms) LIMIT ?3`;
  return (await db.prepare(sql).bind(own, others, ORGANIZATIONS_MAX).all<Expired>()).results;
}

/**
 * Whether the archive has the present state of a row's day. The condition is in the deleting statement, because a
 * change in between counts.
 */
function isInArchive({ table, at }: Kind): string {
  return `EXISTS (SELECT 1 FROM history_days WHERE history_days.organization_id = ${table}.organization_id
    AND day_ms = ${at} / ${DAY_MS} * ${DAY_MS} AND state = 'ARCHIVED')`;
}

/** Call this before calls are deleted: a later change of one of them takes its counts out of the sums. */
async function markDeleted(db: D1Database, { organizationId, beforeMs }: Expired): Promise<void> {
  const sql = `INSERT INTO deleted_calls (organization_id, before_ms) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET before_ms = MAX(before_ms, excluded.before_ms)`;
  await db.prepare(sql).bind(organizationId, beforeMs).run();
}

const wasWrittenBefore = (atMs: number) => `delivery < ${firstDelivery(atMs)}`;

async function deleteRows(
  db: D1Database,
  { table, at, key }: Kind,
  { organizationId, beforeMs }: Expired,
  mayGo: string,
  budget: Budget,
): Promise<void> {
  const sql = `DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${key} FROM ${table} WHERE organization_id = ? AND ${at} < ? AND ${mayGo} ORDER BY ${at} LIMIT ${DELETE_ROWS_MAX})`;
  await repeat(db.prepare(sql).bind(organizationId, beforeMs), budget);
}

/** Deletes the usage of an organization before a day: first its customers' usage, which is found through its days. */
async function deleteUsage(db: D1Database, { organizationId, beforeMs }: Expired, budget: Budget): Promise<void> {
  const ofCustomers = KEPT.filter(({ keys }) => keys.includes('customer_id'));
  for (const rollUp of ofCustomers) {
    const statement = db.prepare(deletion(rollUp, 'customer_id IN (SELECT value FROM json_each(?3))'));
    for (let after: string | null = ''; after !== null && budget.statements > 0; ) {
      const { found, next } = await findCustomers(db, rollUp, organizationId, beforeMs, after);
      budget.statements -= 1;
      if (found.length > 0) await repeat(statement.bind(organizationId, beforeMs, JSON.stringify(found)), budget);
      after = next;
    }
  }
  const isOfFeatures = ({ keys }: Kept) => keys.includes('feature') && !keys.includes('customer_id');
  for (const rollUp of ROLL_UPS.filter(isOfFeatures))
    await repeat(db.prepare(deletion(rollUp, `feature IN (${FEATURES})`)).bind(organizationId, beforeMs), budget);
  // The days are last, because they show the remaining work.
  for (const rollUp of ROLL_UPS.filter(({ keys }) => keys.includes('dimension')))
    await repeat(db.prepare(deletion(rollUp, `dimension IN (${DIMENSIONS})`)).bind(organizationId, beforeMs), budget);
}

const FEATURES = "SELECT DISTINCT key FROM organization_days WHERE organization_id = ?1 AND dimension = 'feature'";
const DIMENSIONS = "'feature', 'provider', 'model', 'outcome'";

/**
 * Customers with expired rows of a roll-up, among the next ones by id, and the position to continue from; `null` at the
 * end. Each customer, and its first rows, is one step in the primary key.
 */
async function findCustomers(
  db: D1Database,
  rollUp: Kept,
  organizationId: OrganizationId,
  beforeMs: number,
  after: string,
): Promise<{ found: string[]; next: string | null }> {
  const { table } = rollUp;
  const nextId = (previous: string) =>
    `SELECT MIN(customer_id) FROM ${table} WHERE organization_id = ?1 AND customer_id > ${previous}`;
  const sql = `WITH RECURSIVE customers (n, id) AS (SELECT 1, (${nextId('?3')})
      UNION ALL SELECT n + 1, (${nextId('id')}) FROM customers WHERE id IS NOT NULL AND n < ${LOOKED_AT_MAX})
    SELECT n, id FROM customers WHERE id IS NOT NULL AND (n = ${LOOKED_AT_MAX} OR EXISTS (
      SELECT 1 FROM ${table} row WHERE row.organization_id = ?1 AND row.customer_id = id AND ${isExpired(rollUp)}))
    LIMIT ${CUSTOMERS_MAX}`;
  const { results, meta } = await db
    .prepare(sql)
    .bind(organizationId, beforeMs, after)
    .all<{ n: number; id: string }>();
  await pause(meta.duration);
  const last = results.at(-1);
  const isCut = results.length === CUSTOMERS_MAX || last?.n === LOOKED_AT_MAX;
  return { found: results.map(({ id }) => id), next: isCut && last ? last.id : null };
}

function deletion(rollUp: Kept, where: string): string {
  const key = rollUpKey(rollUp).join(', ');
  return `DELETE FROM ${rollUp.table} WHERE (${key}) IN (
    SELECT ${key} FROM ${rollUp.table} row WHERE organization_id = ?1 AND ${where} AND ${isExpired(rollUp)} LIMIT ${DELETE_ROWS_MAX})`;
}

/** Whether a row can be deleted: among running totals, the newest before the kept days stays. */
function isExpired(rollUp: Kept): string {
  const { table, keys, unit } = rollUp;
  if (unit === 'week') return `row.week_ms <= ?2 - ${WEEK_MS}`;
  if (unit === 'span') return `row.start_ms <= ?2 - row.weeks * ${WEEK_MS}`;
  if (unit !== 'until hour') return `row.${unit}_ms < ?2`;
  const same = keys.map((name) => `later.${name} = row.${name}`).join(' AND ');
  return `row.hour_ms < ?2 AND EXISTS (SELECT 1 FROM ${table} later WHERE ${same} AND later.hour_ms > row.hour_ms AND later.hour_ms < ?2)`;
}

/** Repeats a deletion until it finds fewer rows than its limit, or the run has deleted enough. */
async function repeat(statement: D1PreparedStatement, budget: Budget): Promise<void> {
  for (let changes = DELETE_ROWS_MAX; changes >= DELETE_ROWS_MAX && budget.statements > 0; budget.statements -= 1) {
    const { meta } = await statement.run();
    changes = meta.changes;
    await pause(meta.duration);
  }
}

/** Leaves D1, which does one thing at a time, to others for as long as a statement of the retention occupied it. */
async function pause(busyMs = 0): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.min(busyMs, PAUSE_MS_MAX)));
}
