/**
 * A customer's object driven from inside, with a clock of the test's own: the real storage and the real commands.
 */

import { runInDurableObject } from 'cloudflare:test';
import { doWhatIsDue } from '../../durable-objects/customer/alarm-work.ts';
import * as batches from '../../durable-objects/customer/commands/batches.ts';
import * as calls from '../../durable-objects/customer/commands/calls.ts';
import { compressPrompt } from '../../durable-objects/customer/commands/compression.ts';
import type { Context } from '../../durable-objects/customer/commands/context.ts';
import * as corrections from '../../durable-objects/customer/commands/corrections.ts';
import { grant, revoke } from '../../durable-objects/customer/commands/credits.ts';
import { increment } from '../../durable-objects/customer/commands/meters.ts';
import * as serviceCalls from '../../durable-objects/customer/commands/service-calls.ts';
import { debit, type Reporter, reportDue } from '../../durable-objects/customer/commands/settlement.ts';
import * as subscription from '../../durable-objects/customer/commands/subscription.ts';
import { handOver } from '../../durable-objects/customer/hand-over.ts';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import { deliver } from '../../durable-objects/projector/deliver.ts';
import { ProjectorStore } from '../../durable-objects/projector/store.ts';
import { Plan } from '../../src/contract/plans.ts';
import type { ForecastMetric } from '../../src/contract/readings.ts';
import type { Account, ChangeStrategy, Contact } from '../../src/domain/account.ts';
import type { BatchToHold } from '../../src/domain/batch-hold.ts';
import type { Call } from '../../src/domain/call.ts';
import type { MeterEvent } from '../../src/domain/custom-meter.ts';
import { asCallId, asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import type { MeterSlot } from '../../src/domain/meters.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import type { CreditUnit } from '../../src/domain/wallet.ts';
import type { Env } from '../../src/env.ts';
import type { BatchLine, ClosedLines } from '../../src/objects/batch-commands.ts';
import type {
  BeginCommand,
  CallKey,
  EndCommand,
  EndServiceCallCommand,
  IncrementCommand,
} from '../../src/objects/customer-commands.ts';
import type { ChangeKind } from '../../src/objects/projection-page.ts';
import type { HandOver } from '../../src/objects/projector-commands.ts';
import { type HourColumn, parseHours, type SeriesHours } from '../../src/objects/series-hours.ts';
import { timeOrderedId } from '../../src/platform/time-ordered-id.ts';
import { COLUMNS, recordedSince } from '../../src/readings/forecast/read-forecast.ts';
import { NO_USAGE } from '../unit/fixtures.ts';
import { bindings, customerStub } from './worker.ts';

/** A call that belongs to no batch. */
const NO_BATCH: BatchLine = { requestName: '', tier: 'standard' };

const lineRequest = ({ tier }: BatchLine): BeginCommand['request'] => ({
  requested: { [tier]: true },
  pricingMode: 'batch',
});

/** The changes that a customer's object stores: the list in the account's row, and the table of what came after it was full. */
export const STORED_CHANGES = `SELECT listed.value ->> 0 AS place, listed.value ->> 1 AS kind, listed.value ->> 2 AS id
  FROM account, json_each(pending) listed
  UNION ALL SELECT place, kind, id FROM outbox`;

const CHANGES_AT_ONCE = 400;

/** Rows that were read or written, by statement. */
export type Rows = Record<string, number>;

export interface Clockwork {
  begin(
    callId: string,
    atMs: number,
    more?: Partial<BeginCommand['request']>,
    key?: CallKey,
    known?: Pick<BeginCommand, 'bounds' | 'refusesHeld'>,
  ): ReturnType<typeof calls.begin>;
  extendHold(callId: string, outputTokens: number, atMs: number): ReturnType<typeof calls.extendHold>;
  end(
    callId: string,
    atMs: number,
    more?: Partial<EndCommand['report']>,
    price?: ResolvedPrice,
    idempotencyKey?: string,
  ): ReturnType<typeof calls.end>;
  void(callId: string, atMs: number): void;
  /** Calls that the service makes itself. */
  beginServiceCall(
    requestId: string,
    atMs: number,
    more?: Partial<BeginCommand['request']>,
  ): ReturnType<typeof serviceCalls.beginServiceCall>;
  endServiceCall(
    callId: string,
    atMs: number,
    more?: Partial<EndCommand['report']>,
    known?: Partial<Pick<EndServiceCallCommand, 'response' | 'price' | 'estimate'>>,
  ): ReturnType<typeof serviceCalls.endServiceCall>;
  recordServiceCall(
    requestId: string,
    atMs: number,
    more?: Partial<EndCommand['report']>,
    of?: { line?: BatchLine; price?: ResolvedPrice; estimate?: EndServiceCallCommand['estimate'] },
  ): ReturnType<typeof serviceCalls.recordServiceCall>;
  /** Batches at a vendor. */
  holdBatch(
    requestName: string,
    batch: Partial<BatchToHold>,
    atMs: number,
    closed?: ClosedLines,
  ): ReturnType<typeof batches.hold>;
  endBatch(requestName: string, atMs: number, linesMax?: number): void;
  inOneTransaction<Results>(atMs: number, commands: () => Results): Results;
  /** The account and a call as the next command sees them. */
  account(): Account | null;
  seen(callId: string): Call | null;
  usage(atMs: number): ReturnType<typeof subscription.readUsage>;
  /** The recorded quantity of the usage period, as readings sum it. */
  recorded(atMs: number, metric: ForecastMetric): number;
  /** The recorded hours, as readings get them. */
  hours(atMs: number, columns: HourColumn[]): SeriesHours;
  increment(
    amount: number,
    atMs: number,
    more?: { slot?: MeterSlot; key?: string } & Pick<IncrementCommand['request'], 'tags' | 'metadata'>,
  ): ReturnType<typeof increment>;
  grant(
    unit: CreditUnit,
    amount: bigint,
    atMs: number,
    more?: { expiresAtMs?: number | null; key?: string },
  ): ReturnType<typeof grant>;
  revoke(creditId: string, atMs: number): ReturnType<typeof revoke>;
  /** Records savings of a prompt. */
  compress(callId: string, atMs: number, old?: Call | null): ReturnType<typeof compressPrompt>;
  /** Corrections of the object's own records, or of a call in the command. */
  reverseCall(callId: string, atMs: number, old?: Call | null): ReturnType<typeof corrections.reverseCall>;
  amendCall(
    callId: string,
    atMs: number,
    more?: Partial<EndCommand['report']>,
    price?: ResolvedPrice,
    old?: Call | null,
  ): ReturnType<typeof corrections.amendCall>;
  reverseMeterEvent(
    eventId: string,
    atMs: number,
    old?: MeterEvent | null,
  ): ReturnType<typeof corrections.reverseMeterEvent>;
  changePlan(
    plan: object,
    strategy: ChangeStrategy,
    atMs: number,
    more?: { version?: number; key?: string },
  ): ReturnType<typeof subscription.switchPlan>;
  replenish(atMs: number, more?: { key?: string }): ReturnType<typeof subscription.replenish>;
  setCanceled(canceled: boolean, atMs: number): ReturnType<typeof subscription.cancelOrReactivate>;
  inspect(atMs: number): ReturnType<typeof subscription.inspect>;
  /** Takes due charges from the balance, and reports them if there is a reporter. */
  settle(atMs: number, report?: Reporter | null): Promise<void>;
  call(callId: string, atMs: number): ReturnType<typeof calls.readCall>;
  housekeep(atMs: number): void;
  /** All that the alarm does but the hand-over, in a deployment without a billing provider. */
  wake(atMs: number): void;
  /**
   * Hands over waiting changes to a projector of the object's own, which then delivers them. Returns whether the object
   * has more.
   */
  deliver(db: D1Database, atMs: number): Promise<{ more: boolean }>;
  /** Sends changes that D1 refused again. Returns their number. */
  resendSetAside(atMs: number): number;
  /** When the object would wake next. */
  alarm(): Promise<number | null>;
  rows(table: string): number;
  /** Projectors take all changes. */
  handOverAll(atMs: number): void;
  /** The changes that are stored. */
  changes(): { place: number; kind: ChangeKind; id: string }[];
  /** The rows of the object's own tables. */
  query<Row extends Record<string, SqlStorageValue>>(sql: string): Row[];
  /** The rows that a command reads, by statement. */
  rowsRead(command: () => unknown): Rows;
  /** The rows that a command writes, by statement, with entries of indexes. */
  rowsWritten(command: () => unknown): Rows;
  /** The waiting changes in the object and at its projector. */
  outbox(): ReturnType<CustomerStore['outboxState']> & ReturnType<CustomerStore['delivery']>;
  /** From now on the storage says that so many bytes more are stored than are. */
  pretendStored(bytes: number): void;
  /** The same object after it was evicted: nothing in memory. */
  restart(): Promise<void>;
}

/** Runs `steps` in a customer's object, a fresh one unless it is named, with nothing in memory. New customers get the plan. */
export async function withObject(
  plan: object,
  steps: (object: Clockwork, names: { organizationId: string; customerId: string }) => Promise<void>,
  contact: Contact = {},
  names = { organizationId: crypto.randomUUID() as string, customerId: 'clockwork' },
): Promise<void> {
  const organizationId = asOrganizationId(names.organizationId);
  const customerId = asCustomerId(names.customerId);
  const defaultPlan = JSON.stringify({
    planId: 'test',
    usagePlanVersionId: 'test:v1',
    version: 1,
    plan: Plan.parse(plan),
  });
  const stub = customerStub(organizationId, customerId);
  await runInDurableObject(stub, async (_, state) => {
    let pretendedBytes = 0;
    const counted = countRows(withSize(state.storage, (bytes) => bytes + pretendedBytes));
    let store = new CustomerStore(counted.storage);
    await store.load();
    let projectorAlarmMs: number | null = null;
    // Its tables are beside the customer's; their version and its alarm are separate.
    const startProjector = (): ProjectorStore => {
      const { sql } = state.storage;
      const renamed = <Value>(value: Value) =>
        (typeof value === 'string' ? value.replaceAll('schema_version', 'projector_version') : value) as Value;
      const exec: SqlStorage['exec'] = (query, ...values) => sql.exec(renamed(query), ...values.map(renamed));
      const storage = {
        sql: { exec, databaseSize: sql.databaseSize },
        transactionSync: state.storage.transactionSync.bind(state.storage),
        getAlarm: async () => projectorAlarmMs,
        setAlarm: async (atMs: number) => {
          projectorAlarmMs = atMs;
        },
      } as unknown as DurableObjectStorage;
      return new ProjectorStore(storage);
    };
    let started: ProjectorStore | null = null;
    const projector = (): ProjectorStore => {
      started ??= startProjector();
      return started;
    };
    // An alarm that fired stands no more.
    const alarmFired = (atMs: number): void => {
      void state.storage.deleteAlarm();
      store.alarmFired(atMs);
    };
    const at = (nowMs: number): Context => ({
      store,
      objectId: state.id.toString(),
      deadlineSeconds: { standard: 3_600, batch: 172_800 },
      reports: contact.stripeCustomerId !== undefined,
      nowMs,
      newId: () => crypto.randomUUID(),
    });
    const toBegin = (requestId: string, more: Partial<BeginCommand['request']>): BeginCommand => ({
      organizationId,
      customerId,
      defaultPlan,
      contact,
      alerts: null,
      key: { source: 'request', requestId },
      fingerprint: '',
      request: { requested: {}, pricingMode: 'standard', openedBy: requestId, ...more },
      tierHints: {},
      callType: 'API',
    });
    const toEnd = (more: Partial<EndCommand['report']>): Omit<EndServiceCallCommand, 'callId'> => ({
      organizationId,
      price: { available: false, reason: 'MODEL_NOT_REPORTED' },
      report: { usage: NO_USAGE, ...more },
      wantsAnswer: true,
    });
    const object: Clockwork = {
      begin: (
        callId,
        atMs,
        more = {},
        key = { source: 'explicit', callId: asCallId(callId), claimedAtMs: atMs },
        known = {},
      ) =>
        calls.begin(at(atMs), {
          ...known,
          organizationId,
          customerId,
          defaultPlan,
          contact,
          alerts: null,
          key,
          fingerprint: JSON.stringify(more),
          request: { requested: {}, pricingMode: 'standard', ...more },
          tierHints: {},
          callType: 'standard',
        }),
      end: (
        callId,
        atMs,
        more = {},
        price = { available: false, reason: 'MODEL_NOT_REPORTED' },
        idempotencyKey = undefined,
      ) =>
        calls.end(at(atMs), {
          organizationId,
          callId: asCallId(callId),
          idempotencyKey: idempotencyKey ?? null,
          fingerprint: JSON.stringify(more),
          price,
          report: { usage: NO_USAGE, ...more },
        }),
      void: (callId, atMs) => calls.voidCall(at(atMs), organizationId, asCallId(callId)),
      beginServiceCall: (requestId, atMs, more = {}) =>
        serviceCalls.beginServiceCall(at(atMs), { ...toBegin(requestId, more), wantsAnswer: true }),
      extendHold: (callId, outputTokens, atMs) =>
        calls.extendHold(at(atMs), { organizationId, callId: asCallId(callId), outputTokens }),
      endServiceCall: (callId, atMs, more = {}, known = {}) =>
        serviceCalls.endServiceCall(at(atMs), { ...toEnd(more), ...known, callId: asCallId(callId) }),
      recordServiceCall: (requestId, atMs, more = {}, { line, price, estimate } = {}) =>
        serviceCalls.recordServiceCall(
          at(atMs),
          { ...toBegin(requestId, {}), defaultPlan: null, ...(line && { request: lineRequest(line) }) },
          { ...toEnd(more), ...(price && { price }), ...(estimate && { estimate }) },
          line ?? NO_BATCH,
        ),
      holdBatch: (requestName, batch, atMs, closed = {}) =>
        batches.hold(at(atMs), {
          organizationId,
          customerId,
          defaultPlan,
          contact,
          alerts: null,
          requestName,
          batch: { lines: {}, searches: 0, needs: [], ...batch },
          closed,
        }),
      endBatch: (requestName, atMs, linesMax) => {
        const begin = { ...toBegin('', { pricingMode: 'batch' }), defaultPlan: null };
        const unread = { begin, providerUsed: 'openai', modelUsed: 'gpt-5.2' };
        batches.end(at(atMs), {
          organizationId,
          requestName,
          unread: linesMax === undefined ? null : { ...unread, linesMax },
        });
      },
      inOneTransaction: (atMs, commands) => store.transaction(atMs, commands),
      account: () => store.account(),
      seen: (callId) => store.call(asCallId(callId))?.call ?? null,
      usage: (atMs) => subscription.readUsage(at(atMs), { organizationId }),
      recorded: (atMs, metric) => {
        const columns = COLUMNS[metric];
        const history = subscription.readHistory(at(atMs), { organizationId, columns, recentColumns: columns });
        if (!history) throw new Error('there is no such customer');
        const { lastReplenishedAtMs } = history.account.subscription;
        return recordedSince(parseHours(history.recentHoursJson), columns, lastReplenishedAtMs);
      },
      hours: (atMs, columns) => {
        const history = subscription.readHistory(at(atMs), { organizationId, columns, recentColumns: columns });
        if (!history) throw new Error('there is no such customer');
        return parseHours(history.hoursJson);
      },
      increment: (amount, atMs, { slot = 'CUSTOM1', key, ...more } = {}) =>
        increment(at(atMs), {
          organizationId,
          eventId: timeOrderedId(atMs),
          request: { slot, amount, ...more },
          idempotencyKey: key ?? null,
          fingerprint: `${slot} ${amount}`,
        }),
      grant: (unit, amount, atMs, { expiresAtMs = null, key } = {}) =>
        grant(at(atMs), {
          organizationId,
          unit,
          amount: amount.toString(),
          expiresAtMs,
          reference: null,
          idempotencyKey: key ?? null,
          fingerprint: `${unit} ${amount} ${expiresAtMs}`,
        }),
      revoke: (creditId, atMs) => revoke(at(atMs), { organizationId, creditId, reason: 'a test', old: null }),
      compress: (callId, atMs, old = null) =>
        compressPrompt(at(atMs), {
          organizationId,
          callId: asCallId(callId),
          customerId: null,
          compression: { provider: 'toon', originalTokens: 10, compressedTokens: 4, techniques: [] },
          old,
          limits: undefined,
          idempotencyKey: null,
          fingerprint: '',
        }),
      reverseCall: (callId, atMs, old = null) =>
        corrections.reverseCall(at(atMs), {
          organizationId,
          callId: asCallId(callId),
          reason: 'a test',
          by: 'test',
          old,
        }),
      amendCall: (callId, atMs, more = {}, price = { available: false, reason: 'MODEL_NOT_REPORTED' }, old = null) =>
        corrections.amendCall(at(atMs), {
          organizationId,
          callId: asCallId(callId),
          reason: 'a test',
          by: 'test',
          old,
          report: { usage: NO_USAGE, ...more },
          outcomes: Number.POSITIVE_INFINITY,
          price,
          idempotencyKey: null,
          fingerprint: JSON.stringify([more, price]),
        }),
      reverseMeterEvent: (eventId, atMs, old = null) =>
        corrections.reverseMeterEvent(at(atMs), { organizationId, eventId, reason: 'a test', by: 'test', old }),
      changePlan: (content, strategy, atMs, { version = 1, key } = {}) => {
        const parsed = Plan.parse(content);
        const target = { planId: parsed.name, usagePlanVersionId: `${parsed.name}:v${version}`, version, plan: parsed };
        const fingerprint = `${target.usagePlanVersionId} ${strategy}`;
        return subscription.switchPlan(at(atMs), {
          organizationId,
          target,
          isArchived: false,
          strategy,
          idempotencyKey: key ?? null,
          fingerprint,
        });
      },
      replenish: (atMs, { key } = {}) =>
        subscription.replenish(at(atMs), { organizationId, idempotencyKey: key ?? null, fingerprint: '' }),
      setCanceled: (canceled, atMs) => subscription.cancelOrReactivate(at(atMs), { organizationId, canceled }),
      inspect: (atMs) => subscription.inspect(at(atMs), { organizationId }),
      settle: async (atMs, report = null) => {
        debit(store, report !== null, atMs);
        if (report) await reportDue(store, report, () => atMs);
      },
      call: (callId, atMs) => calls.readCall(at(atMs), organizationId, asCallId(callId)),
      housekeep: (atMs) => {
        alarmFired(atMs);
        subscription.housekeep(at(atMs));
      },
      wake: (atMs) => {
        alarmFired(atMs);
        doWhatIsDue({ ...at(atMs), reports: false });
      },
      deliver: async (db, atMs) => {
        const now = () => atMs;
        const objectId = state.id.toString();
        const take = async (handedOver: HandOver) => projector().take(handedOver, atMs);
        const env = { DB: bindings.DB, PROJECTORS: { getByName: () => ({ take }) } } as unknown as Env;
        const { more } = await handOver({ store, env, objectId, now });
        // The next transaction forgets the handed-over changes.
        store.transaction(atMs, () => undefined);
        if (projector().delivery.failures === 0 || (projectorAlarmMs ?? 0) <= atMs) {
          projector().alarmFired();
          const ORGANIZATION_WATCHES = { getByName: () => ({ wake: async () => undefined }) };
          await deliver({ store: projector(), env: { DB: db, ORGANIZATION_WATCHES } as unknown as Env, objectId, now });
        }
        return { more };
      },
      resendSetAside: (atMs) => projector().resend(organizationId, atMs).rows,
      alarm: () => state.storage.getAlarm(),
      rows: (table) => state.storage.sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`).one().n,
      handOverAll: (atMs) => {
        for (let more = true; more; ) {
          const page = store.outboxPage(CHANGES_AT_ONCE);
          const account = store.account();
          if (account) store.listedRow.leaves(account);
          store.handedOver(page, atMs);
          // The next transaction forgets them.
          store.transaction(atMs, () => undefined);
          ({ more } = page);
        }
      },
      changes: () => state.storage.sql.exec<{ place: number; kind: ChangeKind; id: string }>(STORED_CHANGES).toArray(),
      query: <Row extends Record<string, SqlStorageValue>>(sql: string) => state.storage.sql.exec<Row>(sql).toArray(),
      rowsRead: counted.rowsRead,
      rowsWritten: counted.rowsWritten,
      outbox: () => {
        const [own, { waiting, failures, lastError }] = [store.outboxState(), projector().state({}, 0)];
        const { dueAtMs } = store.delivery();
        const pending = own.pending + waiting.changes;
        return {
          pending,
          oldestMs: [own.oldestMs, waiting.oldestMs].filter((atMs) => atMs !== null).sort()[0] ?? null,
          failures,
          lastError,
          dueAtMs: dueAtMs ?? (waiting.changes > 0 ? projectorAlarmMs : null),
        };
      },
      pretendStored: (bytes) => {
        pretendedBytes = bytes;
      },
      restart: async () => {
        store = new CustomerStore(counted.storage);
        await store.load();
        started = null;
      },
    };
    await steps(object, names);
  });
}

/** The storage, of which can be told what a command reads and writes. */
function countRows(
  storage: DurableObjectStorage,
): { storage: DurableObjectStorage } & Pick<Clockwork, 'rowsRead' | 'rowsWritten'> {
  let cursors: [sql: string, cursor: SqlStorageCursor<Record<string, SqlStorageValue>>][] | null = null;
  const exec: SqlStorage['exec'] = (sql, ...values) => {
    const cursor = storage.sql.exec(sql, ...values);
    cursors?.push([sql, cursor]);
    return cursor as never;
  };
  const methods = {
    sql: {
      exec,
      get databaseSize() {
        return storage.sql.databaseSize;
      },
    },
    transactionSync: storage.transactionSync.bind(storage),
    getAlarm: storage.getAlarm.bind(storage),
    setAlarm: storage.setAlarm.bind(storage),
    deleteAlarm: storage.deleteAlarm.bind(storage),
  };
  const count = (kind: 'rowsRead' | 'rowsWritten', command: () => unknown): Rows => {
    cursors = [];
    command();
    const rows: Rows = {};
    for (const [sql, cursor] of cursors) rows[sql] = (rows[sql] ?? 0) + cursor[kind];
    cursors = null;
    return rows;
  };
  return {
    storage: methods as unknown as DurableObjectStorage,
    rowsRead: (command) => count('rowsRead', command),
    rowsWritten: (command) => count('rowsWritten', command),
  };
}

/** The storage, which says another size of its database. */
function withSize(storage: DurableObjectStorage, sizeOf: (bytes: number) => number): DurableObjectStorage {
  const own = <Target extends object>(target: Target, replaced: Record<string, () => unknown>): Target =>
    new Proxy(target, {
      get: (_, name) => {
        const value: unknown = replaced[String(name)]?.() ?? Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const sql = own(storage.sql, { databaseSize: () => sizeOf(storage.sql.databaseSize) });
  return own(storage, { sql: () => sql });
}

/** The data of an accepted answer; throws on a refusal. */
export function accepted<Data>(answer: { ok: true; data: Data } | { ok: false; refusal: unknown }): Data {
  if (!answer.ok) throw new Error(`refused: ${JSON.stringify(answer.refusal)}`);
  return answer.data;
}
