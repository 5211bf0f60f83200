/**
 * The service, counting Cloudflare's billed units: requests of the Worker and of objects, alarms, timers that keep an
 * object awake, rows read and written by objects and D1, and reads of KV. It is only bundled and run locally; no
 * deployment has this entry point.
 *
 * `POST /counts` returns the counts since the last such request. `POST /replay/COUNT` sends ended calls of so many
 * customers to D1 once more, as new calls in one transaction. Objects and the Worker share one isolate here.
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
import type { Counts, Transaction } from './counts.ts';

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
let transactions: Transaction[] = [];
/** Their rows are counted when they have been read, at the latest when somebody asks. */
let cursors: [string, string, SqlStorageCursor<Record<string, SqlStorageValue>>][] = [];

function add(name: string, count: number): void {
  figures[name] = (figures[name] ?? 0) + count;
}

function takeCounts(): Counts {
  for (const [owner, query, { rowsRead, rowsWritten }] of cursors) {
    add(`${owner} rows read`, rowsRead);
    addWritten(owner, rowsWritten, tableName(query));
  }
  const counts = { figures, transactions };
  figures = {};
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

function countedState<State extends DurableObjectState>(ctx: State, owner: string): State {
  const { storage } = ctx;
  const sql = changed(storage.sql, {
    exec: (query: string, ...values: unknown[]) => {
      const cursor = storage.sql.exec(query, ...values);
      cursors.push([owner, query, cursor]);
      figures[`${owner} bytes`] = Math.max(figures[`${owner} bytes`] ?? 0, storage.sql.databaseSize);
      return cursor;
    },
  });
  const setAlarm = (...args: Parameters<DurableObjectStorage['setAlarm']>) => {
    addWritten(owner, 1, 'alarm');
    add(`${owner} alarms set`, 1);
    return storage.setAlarm(...args);
  };
  const value = changed(storage, { sql, setAlarm });
  Object.defineProperty(ctx, 'storage', { value });
  return ctx;
}

const originals = new WeakMap<object, D1PreparedStatement>();

/** The table that a statement writes. */
function tableName(query: string): string {
  const statement = query.slice(Math.max(0, query.search(/\b(?:INSERT|CREATE)\b/i)));
  return /\b(?:INTO|UPDATE|FROM|TABLE)\s+["`]?(?:IF NOT EXISTS )?(\w+)/i.exec(statement)?.[1] ?? '';
}

function addWritten(owner: string, rows: number, table: string): void {
  if (rows === 0) return;
  add(`${owner} rows written`, rows);
  add(`${owner} rows written: ${table}`, rows);
}

function countRows(meta: D1Meta, query: string): void {
  add('D1 rows read', meta.rows_read);
  addWritten('D1', meta.rows_written, tableName(query));
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
  const namespace = (name: 'CUSTOMERS' | 'PROJECTORS' | 'CALL_DIRECTORY', owner: string) =>
    countedNamespace(env[name] as unknown as DurableObjectNamespace, owner);
  const counted = {
    ...env,
    DB: countedDatabase(env.DB),
    KV: countedKv(env.KV),
    CUSTOMERS: namespace('CUSTOMERS', 'customer'),
    PROJECTORS: namespace('PROJECTORS', 'projector'),
    CALL_DIRECTORY: namespace('CALL_DIRECTORY', 'directory'),
  } as unknown as Env;
  environments.set(env, counted);
  return counted;
}

async function countedAlarm(owner: string, alarm: () => Promise<void>): Promise<void> {
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
    return countedAlarm('customer', () => super.alarm());
  }
}

export class Projector extends ServiceProjector {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countedState(ctx, 'projector'), countedEnv(env));
  }

  override async take(handOver: HandOver) {
    const page = JSON.parse(handOver.page) as ProjectionPage;
    const call = page.changes.find(({ kind, values }) => kind === 'call' && values.includes('"COMPLETED"'));
    if (call && pages.size < PAGES_MAX) pages.set(page.customerId, { ...page, changes: [call] });
    const taken = await super.take(handOver);
    if (taken.isBusy) add('projector busy', 1);
    return taken;
  }

  override alarm(): Promise<void> {
    return countedAlarm('projector', () => super.alarm());
  }
}

export class CallDirectory extends ServiceCallDirectory {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countedState(ctx, 'directory'), countedEnv(env));
  }

  override alarm(): Promise<void> {
    return countedAlarm('directory', () => super.alarm());
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
  ...service,
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const [, route, count] = new URL(request.url).pathname.split('/');
    if (route === 'counts') return Response.json(takeCounts());
    if (route === 'replay') {
      await replay(env, Number(count));
      return new Response(null, { status: 204 });
    }
    add('Worker requests', 1);
    return service.fetch(request as never, countedEnv(env), context) as unknown as Promise<Response>;
  },
};
