/**
 * Health: whether every binding answers, how many begins wait, which catalog is in use and its problems, which changes wait for D1 or were
 * refused by it, how far the archive is behind, and which organizations take most of D1.
 */

import { beginQueue } from '../admission/begin-queue.ts';
import { currentCatalog } from '../config/catalog.ts';
import { databaseNames } from '../config/database.ts';
import type { Complete } from '../contract/complete.ts';
import { operations } from '../contract/operations.ts';
import type { Health } from '../contract/operator.ts';
import { asCallId, asOrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { readArchiveBacklog } from '../history/archive/days.ts';
import { closedBeforeMs } from '../history/archive/run.ts';
import { readDatabaseSizes, readSchemaVersion } from '../history/sizes.ts';
import type { ProjectorState } from '../objects/projector-commands.ts';
import { projectorState } from '../objects/projectors.ts';
import { errorText } from '../platform/log.ts';
import { DAY_MS, isoTimeOrNull, MINUTE_MS, utcDay } from '../platform/time.ts';
import { withTimeout } from '../platform/timeout.ts';
import { SERVICE_VERSION } from '../platform/version.ts';
import { presentSizes } from './databases.ts';
import { read } from './operation.ts';

/** A slower binding counts as not answering. */
const CHECK_TIMEOUT_MS = 3_000;

/** A day is late if it closed longer ago than this and is not in the archive. */
const LATE_MS = 2 * DAY_MS;

/** A begin that was refused in this time because too many waited makes the service degraded. */
const REFUSED_LATELY_MS = MINUTE_MS;

/** The state of projectors that do not answer; the checks report it. */
const UNKNOWN: Pick<ProjectorState, 'waiting' | 'setAside'> = {
  waiting: { changes: 0, lateChanges: 0, lateCustomers: 0, oldestMs: null },
  setAside: { rows: 0, oldestMs: null },
};

type Check = Health['checks'][number];

export const readHealth = read(operations.readHealth, ({ env, defer }) => checkHealth(env, defer));

/** For pages that show more than the health of the service. */
export async function checkHealth(env: Env, defer: (work: Promise<unknown>) => void): Promise<Complete<Health>> {
  const nowMs = Date.now();
  const [{ catalog, source, problem }, databases, kv, customers, projectors, directory, size, bucket, behind] =
    await Promise.all([
      currentCatalog(env, defer),
      Promise.all(databaseNames(env).map((name) => check(name, () => readSchemaVersion(env, name)))),
      check('KV', () => env.KV.get('health')),
      check('CUSTOMERS', () => env.CUSTOMERS.getByName('health').readCall(asOrganizationId(''), asCallId(''))),
      check('PROJECTORS', () => projectorState(env, databaseNames(env))),
      check('CALL_DIRECTORY', () => env.CALL_DIRECTORY.getByName('health').find(asCallId(''))),
      check('DB size', () => readDatabaseSizes(env, nowMs)),
      check('ARCHIVE', async () => env.ARCHIVE?.head('health')),
      check('archive backlog', () => readBehind(env, nowMs)),
    ]);
  const { waiting, setAside } = projectors.value ?? UNKNOWN;
  const { lateCustomers, lateChanges } = waiting;
  const d1 = size.value && presentSizes(size.value);
  const checks = [...databases, kv, customers, projectors, directory, ...(env.ARCHIVE ? [bucket] : [])].map(
    ({ report }) => report,
  );
  const { version, publishedAtMs, models } = catalog;
  const found: Omit<Complete<Health>, 'status' | 'problems'> = {
    checks,
    catalog: {
      version,
      source,
      ageDays: Math.max(0, Math.floor((nowMs - publishedAtMs) / DAY_MS)),
      models: models.length,
      prices: models.filter(({ pricing }) => pricing !== undefined).length,
      warnings: problem === null ? [] : [problem],
    },
    beginQueue: presentQueue(nowMs),
    backlog: {
      customers: lateCustomers,
      changes: lateChanges,
      oldestAt: isoTimeOrNull(lateCustomers === 0 ? null : waiting.oldestMs),
    },
    setAside: { rows: setAside.rows, oldestAt: isoTimeOrNull(setAside.oldestMs) },
    archive: behind.value,
    d1,
    versions: { service: SERVICE_VERSION, contract: 'v1', schema: databases[0]?.value ?? null },
  };
  const problems = listProblems(found, nowMs);
  return { status: problems.length === 0 ? 'ok' : 'degraded', problems, ...found };
}

function presentQueue(nowMs: number): Complete<Health['beginQueue']> {
  const { waiting, oldestMs, refusedAtMs } = beginQueue(nowMs);
  return { waiting, oldestMs, refusedAt: isoTimeOrNull(refusedAtMs) };
}

/** The reasons why the service is degraded, one sentence each. */
function listProblems(
  { checks, beginQueue: { refusedAt }, catalog, backlog, setAside, archive, d1 }: Omit<Health, 'status' | 'problems'>,
  nowMs: number,
): string[] {
  const count = (value: number, noun: string) => `${value} ${noun}${value === 1 ? '' : 's'}`;
  return [
    ...checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name} does not answer: ${message}`),
    ...(refusedAt !== null && Date.parse(refusedAt) > nowMs - REFUSED_LATELY_MS
      ? ['Begins of calls are refused, because more wait than can be served']
      : []),
    ...(backlog.customers > 0 ? [`Changes of ${count(backlog.customers, 'customer')} wait for D1`] : []),
    ...(setAside.rows > 0 ? [`D1 refused ${count(setAside.rows, 'change')}`] : []),
    ...(archive?.isLate
      ? [`The archive lacks ${count(archive.days, 'closed day')}, the oldest ${archive.oldestDay}`]
      : []),
    ...(d1?.databases ?? [])
      .filter(({ isNearlyFull }) => isNearlyFull)
      .map(({ name }) => `The database ${name} is nearly full`),
    ...catalog.warnings,
  ];
}

/** How far the archive is behind; `null` without one. */
async function readBehind(env: Env, nowMs: number): Promise<Health['archive']> {
  if (!env.ARCHIVE) return null;
  const closedMs = closedBeforeMs(env, nowMs);
  const { days, erasures, oldestDayMs } = await readArchiveBacklog(env, closedMs);
  return {
    days,
    oldestDay: oldestDayMs === null ? null : utcDay(oldestDayMs),
    erasures,
    isLate: oldestDayMs !== null && oldestDayMs < closedMs - LATE_MS,
  };
}

async function check<Value>(
  name: string,
  ask: () => PromiseLike<Value>,
): Promise<{ report: Complete<Check>; value: Value | null }> {
  const startedMs = Date.now();
  try {
    const value = await withTimeout(Promise.resolve(ask()), CHECK_TIMEOUT_MS, name);
    return { report: { name, ok: true, latencyMs: Date.now() - startedMs, message: undefined }, value };
  } catch (error) {
    return { report: { name, ok: false, latencyMs: Date.now() - startedMs, message: errorText(error) }, value: null };
  }
}
