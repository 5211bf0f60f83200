/**
 * Begin and end of a customer whose object has many rows of one kind, compared with one row of it: on a plan with every feature
 * that a begin looks at, without credit, and at the rolling limit.
 *
 * The rows are written into the objects' files while the service is down. The first begin of an object counts what it has once, and
 * is not measured.
 */
import { readDerivedCallId } from '../../src/objects/derived-call-id.ts';
import type { Api } from '../support/api.ts';
import { KINDS } from '../support/rows-of-kinds.ts';
import { databaseWith } from './history.ts';
import { Connection } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import { LATENCY_COLUMNS, measureLatencies, type Timed } from './rounds.ts';
import { createTenantKey, openState, operatorOf, placeBundle, runServer, settled } from './service.ts';
import type { Options, Promised, Row, Table } from './suite.ts';

const PLAN = {
  name: 'Everything',
  limitType: 'BLOCK',
  limits: { standardCalls: 0, premiumCalls: 1_000_000 },
  payg: { enabled: true, markupPercent: 10, holds: 'EXPECTED' },
  rollingCalls: { limit: 100_000, windowSeconds: 43_200 },
  reserveOutputTokens: 1_000,
  customMeters: { CUSTOM1: { label: 'Units', included: 1_000_000 } },
};
const AT_THE_LIMIT = { ...PLAN, name: 'Limited', rollingCalls: { limit: 1, windowSeconds: 86_400 } };
/** A million copied calls began within six days, before they are removed; the window has at most 80,000 of them. */
const STEP_MS = 500;
/** Parts of the largest number of rows. */
const SIZES = [0, 1 / 1_000, 1 / 10, 1];
const SHORT_SIZES = [0, 1];
const CUSTOMERS_AT_ONCE = 8;
/** The copied calls are smaller than real ones, so that a million of them are written in seconds. */
const SMALL_CALL = {
  record: `'{"outcome":{"endedAtMs":1,"price":{"status":"FINAL","costNanoUsd":"5000000"}}}'`,
  begin_answer: 'NULL',
  end_answer: 'NULL',
};
const DENIED_KINDS = ['completed calls', 'denied calls', 'open calls'];

interface Subject {
  kind: string;
  rows: number;
  customerId: string;
  objectId: string;
}

/** What becomes of a begin. */
type Admission = 'admitted' | 'denied' | 'at the rolling limit';

export async function measureRows(options: Options, promised: Omit<Promised, 'of'>): Promise<Table> {
  const { scope, historyCalls, short, progress } = options;
  const counts = (short ? SHORT_SIZES : SIZES).map((part) => Math.max(1, Math.ceil(part * historyCalls)));
  const stateDir = await openState(scope);
  await placeBundle(stateDir);
  const first = await runServer(scope, stateDir);
  const tenant = await createTenantKey(first.url, PLAN);
  const params = { org: tenant.organizationId, planId: 'limited' };
  await operatorOf(first.url).send('putPlan', { params, body: AT_THE_LIMIT });
  const all = (['admitted', 'denied', 'at the rolling limit'] as const).flatMap((admission) =>
    Object.keys(KINDS)
      .filter((kind) => admission === 'admitted' || DENIED_KINDS.includes(kind))
      .flatMap((kind) => counts.map((rows) => ({ admission, kind, rows, customerId: `${admission} ${kind} ${rows}` }))),
  );
  const subjects: (Subject & { admission: Admission })[] = [];
  for (let next = 0; next < all.length; next += CUSTOMERS_AT_ONCE) {
    progress(`customer ${next} of ${all.length}`);
    const made = all.slice(next, next + CUSTOMERS_AT_ONCE).map(async (subject) => {
      const objectId = await makeRows(first.url, tenant, subject);
      return { ...subject, objectId };
    });
    subjects.push(...(await Promise.all(made)));
  }
  const customers = subjects.map(({ customerId }) => customerId);
  await settled(first.url, tenant.organizationId, customers);
  await first.stop();
  for (const [index, subject] of subjects.entries()) {
    progress(`writing ${index + 1} of ${subjects.length}: ${subject.rows} ${subject.kind}`);
    await writeRows(stateDir, subject);
  }
  const { url } = await runServer(scope, stateDir);
  using connection = new Connection();
  const rows: Row[] = [];
  const groups = groupBy(subjects, ({ admission, kind }) => `${admission} ${kind}`);
  for (const [index, own] of groups.entries()) {
    progress(`measuring ${index + 1} of ${groups.length}: ${own[0]?.admission}, ${own[0]?.kind}`);
    const timed = own.flatMap((subject): Timed[] => {
      const { admission, kind, customerId } = subject;
      const load = new MeteredLoad(url, tenant, [customerId]);
      const name = (what: string, { rows: count } = subject) => `${what}, ${admission}, ${count} ${kind}`;
      const compared = (what: string) =>
        subject === own[0] || own[0] === undefined ? {} : { floor: name(what, own[0]), promised };
      let callId = '';
      const begin = async () => {
        callId = await (admission === 'admitted'
          ? load.beginOnce(connection, { keyed: true })
          : load.beginOnce(connection, { keyed: true }).catch(limited));
      };
      const end: Timed[] =
        admission === 'admitted'
          ? [{ name: name('end'), once: () => load.endOnce(connection, callId), ...compared('end') }]
          : [];
      return [{ name: name('begin'), once: begin, ...compared('begin') }, ...end];
    });
    rows.push(...(await measureLatencies(timed, { ...options, progress: () => undefined })));
  }
  return { title: 'rows of each kind, one connection', columns: LATENCY_COLUMNS, rows };
}

/** A begin that is refused because there were too many. */
function limited(error: Error): string {
  if (!error.message.includes('answered 429')) throw error;
  return '';
}

/** A customer with one row of each kind. Returns the id of its object. */
async function makeRows(
  url: string,
  { organizationId: org, key }: { organizationId: string; key: string },
  { customerId, admission }: { customerId: string; admission: Admission },
): Promise<string> {
  const api = operatorOf(url).with(key);
  const params = { org, customerId };
  const begin = async () =>
    (await api.send('beginCall', { body: { customerId, feature: crypto.randomUUID() } })).data.callId;
  const end = async (report: object) =>
    checked(await api.send('endCall', { body: { callId: await begin(), ...report } }));
  const denied = await begin();
  const grant = { kind: 'USD', amountUsd: '1000000' };
  const { creditId } = (await operatorOf(url).send('grantCredit', { params, body: grant })).data;
  const used = { modelUsed: 'gpt-4o', inputTokens: 1_200, responseTokens: 300 };
  await end(used);
  await end({ ...used, error: { code: 'E', message: 'broken' } });
  await end({ ...used, modelUsed: 'nobody knows it' });
  await begin();
  checked(await api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 1 } }));
  if (admission === 'denied') {
    const revocation = { params: { ...params, creditId }, body: { reason: 'bench' } };
    checked(await operatorOf(url).send('revokeCredit', revocation));
  }
  if (admission === 'at the rolling limit')
    checked(await api.send('changePlan', { params: { customerId }, body: { planId: 'limited' } }));
  const objectId = readDerivedCallId(denied)?.objectId;
  if (!objectId) throw new Error(`the call id ${denied} names no object`);
  return objectId;
}

function checked({ status, body }: Awaited<ReturnType<Api['send']>>): void {
  if (status !== 200) throw new Error(`a request was refused: ${JSON.stringify(body)}`);
}

/** The object has counted nothing of them: it counts when it is opened. */
async function writeRows(stateDir: string, { kind, rows, objectId }: Subject): Promise<void> {
  using db = await databaseWith(stateDir, 'account', objectId);
  db.exec('BEGIN');
  const query = (sql: string) => db.prepare(sql).all();
  const nowMs = Date.now();
  KINDS[kind]?.({ query, count: rows, nowMs, stepMs: STEP_MS, changed: SMALL_CALL });
  db.exec('UPDATE account SET begin_figures = NULL');
  db.exec("UPDATE calls SET status = 'IN_PROGRESS' WHERE status = 'LISTED'");
  // The calls stay as they are: the walk that makes past calls has passed them.
  db.exec("INSERT OR REPLACE INTO call_walks (walk, row_id) SELECT 'past', MAX(rowid) FROM calls");
  db.exec('COMMIT');
}

function groupBy<Item>(items: readonly Item[], name: (item: Item) => string): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(name(item), [...(groups.get(name(item)) ?? []), item]);
  return [...groups.values()];
}
