/**
 * The service, counting Cloudflare's billed units: requests of the Worker and of objects, alarms, timers that keep an
 * object awake, rows read and written by objects and D1, and reads of KV. It is only bundled and run locally; no
 * deployment has this entry point. It has no archive, so the retention deletes what is old at once.
 *
 * `POST /counts` returns the counts since the last such request. `POST /later/MS` sets the clock forward by so many
 * milliseconds and fires the alarms that are due by then. `POST /replay/COUNT` sends ended calls of so many customers to
 * D1 once more, as new calls in one transaction. Objects and the Worker share one isolate here.
 */
import type { Env } from '../../src/env.ts';
import { projectionStatements } from '../../src/history/projection.ts';
import service, {
  CallDirectory as ServiceCallDirectory,
  Customer as ServiceCustomer,
  Projector as ServiceProjector,
} from '../../src/index.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import type { HandOver } from '../../src/objects/projector-commands.ts';
import type { Counts, Transaction, Write } from './counts.ts';

export {
  CompressionJob,
  CustomerBatches,
  GatewayBatch,
  OrganizationWatch,
  PlanMigration,
  Repricing,
  WebhookEndpoint,
} from '../../src/index.ts';

/** Transactions of D1 that are told one by one. */
const TRANSACTIONS_MAX = 10_000;
/** A timer that is shorter only gives way to the event loop. */
const TIMER_MS_MIN = 100;

/** The most customers whose newest page with an ended call is kept, for replays. */
const PAGES_MAX = 1_000;
const pages = new Map<string, ProjectionPage>();

let figures: Record<string, number> = {};
let written: Counts['written'] = {};
let transactions: Transaction[] = [];
/** Their rows are counted when they have been read, at the latest when somebody asks. */
let cursors: [Owner, string, SqlStorageCursor<Record<string, SqlStorageValue>>][] = [];

const NAMESPACES = { customer: 'CUSTOMERS', projector: 'PROJECTORS', directory: 'CALL_DIRECTORY' } as const;
type Owner = keyof typeof NAMESPACES;

/** The alarms that are set, by the object's id. */
const alarms = new Map<string, { owner: Owner; atMs: number }>();
/** Alarms that fire at the same time. */
const ALARMS_AT_ONCE = 50;
/** An alarm that is due within this time is waited for. */
const SOON_MS = 5_000;
/** An alarm that sets the next one so often has no end. */
const ALARM_ROUNDS_MAX = 50;

/** How far the clock is ahead. */
let aheadMs = 0;
const trueNow = Date.now;
Date.now = () => trueNow() + aheadMs;

function add(name: string, count: number): void {
  figures[name] = (figures[name] ?? 0) + count;
}

function takeCounts(): Counts {
  for (const [owner, query, { rowsRead, rowsWritten }] of cursors) {
    add(`${owner} rows read`, rowsRead);
    addWritten(owner, rowsWritten, query);
  }
  const counts = { figures, written, transactions };
  figures = {};
  written = {};
  transactions = [];
  cursors = [];
  return counts;
}

/** The object itself with other properties; its methods are called on the object. */
function changed<Target extends object>(target: Target, own: Partial<Record<string, unknown>>): Target {
  return new Proxy(target, {
    get(_, name) {
      if (typeof name === 'string' && Object.hasOwn(own, name)) return own[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function countedState<State extends DurableObjectState>(ctx: State, owner: Owner): State {
  const { storage } = ctx;
  const id = ctx.id.toString();
  const sql = changed(storage.sql, {
    exec: (query: string, ...values: unknown[]) => {
      const cursor = storage.sql.exec(query, ...values);
      cursors.push([owner, query, cursor]);
      figures[`${owner} bytes`] = Math.max(figures[`${owner} bytes`] ?? 0, storage.sql.databaseSize);
      return cursor;
    },
  });
  const alarm = {
    getAlarm: async () => alarms.get(id)?.atMs ?? null,
    setAlarm: (at: number | Date) => {
      const atMs = Number(at);
      alarms.set(id, { owner, atMs });
      addRows(owner, 1, 'alarm', 'alarms');
      return storage.setAlarm(atMs - aheadMs);
    },
    deleteAlarm: () => {
      alarms.delete(id);
      return storage.deleteAlarm();
    },
  };
  const value = changed(storage, { sql, ...alarm });
  Object.defineProperty(ctx, 'storage', { value });
  return ctx;
}

const originals = new WeakMap<object, D1PreparedStatement>();

/** How a statement writes, and its table. An upsert counts as an insert. */
const WRITES: readonly [Write, RegExp][] = [
  ['inserts', /\b(?:INSERT|REPLACE)\s+(?:OR \w+ )?INTO\s+["`]?(\w+)/i],
  ['updates', /\bUPDATE\s+(?:OR \w+ )?["`]?(\w+)/i],
  ['deletes', /\bDELETE FROM\s+["`]?(\w+)/i],
];

function addWritten(owner: string, rows: number, query: string): void {
  if (rows === 0) return;
  const found = WRITES.find(([, statement]) => statement.test(query));
  if (found) addRows(owner, rows, found[1].exec(query)?.[1] ?? '', found[0]);
  else addRows(owner, rows, 'schema', 'inserts');
}

function addRows(owner: string, rows: number, table: string, write: Write): void {
  add(`${owner} rows written`, rows);
  const name = `${owner}: ${table}`;
  const before = written[name] ?? { inserts: 0, updates: 0, deletes: 0, alarms: 0 };
  written[name] = { ...before, [write]: before[write] + rows };
}

function countRows(meta: D1Meta, query: string): void {
  add('D1 rows read', meta.rows_read);
  addWritten('D1', meta.rows_written, query);
}

const queries = new WeakMap<object, string>();

function countedStatement(statement: D1PreparedStatement, query: string): D1PreparedStatement {
  const counted = changed(statement, {
    bind: (...values: unknown[]) => countedStatement(statement.bind(...values), query),
    all: async () => {
      const result = await statement.all();
      countRows(result.meta, query);
      return result;
    },
    run: async () => {
      const result = await statement.run();
      countRows(result.meta, query);
      return result;
    },
    // Its answers do not state the rows that were read, so a query that changes nothing runs twice.
    raw: async (...args: []) => {
      if (/^\s*(select|with)/i.test(query)) countRows((await statement.all()).meta, query);
      return statement.raw(...args);
    },
    first: async (...args: []) => {
      if (/^\s*(select|with)/i.test(query)) countRows((await statement.all()).meta, query);
      return statement.first(...args);
    },
  });
  originals.set(counted, statement);
  queries.set(counted, query);
  return counted;
}

function countedDatabase(db: D1Database): D1Database {
  return changed(db, {
    prepare: (query: string) => countedStatement(db.prepare(query), query),
    batch: async (statements: D1PreparedStatement[]) => {
      const startMs = Date.now();
      const results = await db.batch(statements.map((statement) => originals.get(statement) ?? statement));
      const ms = Date.now() - startMs;
      for (const [index, { meta }] of results.entries())
        countRows(meta, queries.get(statements[index] as D1PreparedStatement) ?? '');
      const sum = (of: (meta: D1Meta) => number) => results.reduce((total, { meta }) => total + of(meta), 0);
      const rowsWritten = sum(({ rows_written }) => rows_written);
      // A batch that only reads configuration.
      if (rowsWritten === 0) return results;
      add('D1 transactions', 1);
      add('D1 statements', statements.length);
      if (transactions.length < TRANSACTIONS_MAX)
        transactions.push({ ms, rowsWritten, sizeBytes: results.at(-1)?.meta.size_after ?? 0 });
      return results;
    },
  });
}

/** Each call of a method of an object is a request to it. */
function countedNamespace(namespace: DurableObjectNamespace, owner: string): DurableObjectNamespace {
  const counted = (stub: DurableObjectStub): DurableObjectStub =>
    new Proxy(stub, {
      get(_, name) {
        const value: unknown = Reflect.get(stub, name, stub);
        if (typeof value !== 'function' || typeof name !== 'string') return value;
        return async (...args: unknown[]) => {
          add(`${owner} requests`, 1);
          const startMs = Date.now();
          try {
            return await Reflect.apply(value, stub, args);
          } finally {
            add(`${owner} request ms`, Date.now() - startMs);
          }
        };
      },
    });
  return changed(namespace, {
    get: (id: DurableObjectId) => counted(namespace.get(id)),
    getByName: (name: string) => counted(namespace.getByName(name)),
  });
}

function countedKv(kv: KVNamespace): KVNamespace {
  return changed(kv, {
    get: (...args: Parameters<KVNamespace['get']>) => {
      add('KV reads', 1);
      return kv.get(...args);
    },
  });
}

const environments = new WeakMap<Env, Env>();

function countedEnv(env: Env): Env {
  const known = environments.get(env);
  if (known) return known;
  const namespaces = Object.entries(NAMESPACES).map(([owner, name]) => [
    name,
    countedNamespace(env[name] as unknown as DurableObjectNamespace, owner),
  ]);
  const counted = {
    ...env,
    DB: countedDatabase(env.DB),
    KV: countedKv(env.KV),
    ARCHIVE: undefined,
    ...Object.fromEntries(namespaces),
  } as unknown as Env;
  environments.set(env, counted);
  return counted;
}

async function countedAlarm(owner: Owner, { id }: DurableObjectState, alarm: () => Promise<void>): Promise<void> {
  alarms.delete(id.toString());
  add(`${owner} alarms`, 1);
  const startMs = Date.now();
  try {
    await alarm();
  } finally {
    add(`${owner} alarm ms`, Date.now() - startMs);
  }
}

export class Customer extends ServiceCustomer {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countedState(ctx, 'customer'), countedEnv(env));
  }

  override alarm(): Promise<void> {
    return countedAlarm('customer', this.ctx, () => super.alarm());
  }

  async fireAlarm(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.alarm();
  }
}

export class Projector extends ServiceProjector {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countedState(ctx, 'projector'), countedEnv(env));
  }

  override async take(handOver: HandOver) {
    const page = JSON.parse(handOver.page) as ProjectionPage;
    add('hand-overs', 1);
    const call = page.changes.find(({ kind, values }) => kind === 'call' && values.includes('"COMPLETED"'));
    if (call && pages.size < PAGES_MAX) pages.set(page.customerId, { ...page, changes: [call] });
    const taken = await super.take(handOver);
    if (taken.isBusy) add('projector busy', 1);
    return taken;
  }

  override alarm(): Promise<void> {
    return countedAlarm('projector', this.ctx, () => super.alarm());
  }

  async fireAlarm(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.alarm();
  }
}

export class CallDirectory extends ServiceCallDirectory {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countedState(ctx, 'directory'), countedEnv(env));
  }

  override alarm(): Promise<void> {
    return countedAlarm('directory', this.ctx, () => super.alarm());
  }

  async fireAlarm(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.alarm();
  }
}

/** Throws if fewer customers have ended calls. */
async function replay(env: Env, customers: number): Promise<void> {
  if (pages.size < customers) throw new Error(`${pages.size} customers have ended calls, not ${customers}`);
  const again = [...pages.values()].slice(0, customers).map((page): ProjectionPage => {
    const id = page.changes[0]?.id ?? '';
    return JSON.parse(JSON.stringify(page).replaceAll(id, crypto.randomUUID()));
  });
  const { DB } = countedEnv(env);
  await DB.batch(projectionStatements(DB, again));
}

/** Sets the clock forward and fires what is due by then. Throws if that has no end. */
async function passTime(env: Env, ms: number): Promise<void> {
  aheadMs += ms;
  for (let round = 0; round < ALARM_ROUNDS_MAX; round += 1) {
    const due = [...alarms].filter(([, { atMs }]) => atMs <= Date.now() + SOON_MS);
    if (due.length === 0) return;
    aheadMs += SOON_MS;
    for (let first = 0; first < due.length; first += ALARMS_AT_ONCE)
      await Promise.all(due.slice(first, first + ALARMS_AT_ONCE).map(([id, { owner }]) => fireAlarm(env, owner, id)));
  }
  throw new Error(`alarms set each other more than ${ALARM_ROUNDS_MAX} times`);
}

function fireAlarm(env: Env, owner: Owner, id: string): Promise<void> {
  const namespace = env[NAMESPACES[owner]] as unknown as DurableObjectNamespace<Customer>;
  return namespace.get(namespace.idFromString(id)).fireAlarm();
}

/** An object does not sleep while a timer is set. Timers that were cleared before they fired are not counted. */
const startTimer = globalThis.setTimeout;
globalThis.setTimeout = ((work: () => void, delayMs = 0) =>
  startTimer(() => {
    if (delayMs >= TIMER_MS_MIN) {
      add('timers', 1);
      add('timer ms', delayMs);
    }
    work();
  }, delayMs)) as typeof setTimeout;

export default {
  scheduled(controller: ScheduledController, env: Env, context: ExecutionContext): Promise<void> {
    return service.scheduled(controller, countedEnv(env), context);
  },
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const [, route, count] = new URL(request.url).pathname.split('/');
    if (route === 'counts') return Response.json(takeCounts());
    if (route === 'later') {
      await passTime(env, Number(count));
      return new Response(null, { status: 204 });
    }
    if (route === 'replay') {
      await replay(env, Number(count));
      return new Response(null, { status: 204 });
    }
    add('Worker requests', 1);
    return service.fetch(request as never, countedEnv(env), context) as unknown as Promise<Response>;
  },
};
