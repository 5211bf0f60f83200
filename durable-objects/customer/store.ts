/**
 * The storage of a customer's object: transactions, the account, what is due when, and the tables (tables/).
 *
 * Rows in, rows out: no rule is decided here. A transaction is synchronous, so a command runs to its end or leaves
 * nothing behind, and the next wake-up is set inside it. The schema comes into being with the first write, so that
 * reading a customer who was never seen leaves no trace.
 */

import type { Account } from '../../src/domain/account.ts';
import type { Call } from '../../src/domain/call.ts';
import type { MeterEvent } from '../../src/domain/custom-meter.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import { balanceOf, EMPTY_WALLET, nextExpiryMs, type Wallet } from '../../src/domain/wallet.ts';
import { DAY_MS, HOUR_MS } from '../../src/platform/time.ts';
import { type Due, nextAlarm } from './alarms.ts';
import { Denials } from './denials.ts';
import { MIGRATIONS } from './migrations.ts';
import { type CallEnd, CallTable, type StoredCall } from './tables/calls.ts';
import { ChargeTable, type OpenCharge } from './tables/charges.ts';
import { DeniedHourTable } from './tables/denied-hours.ts';
import { type DerivedKey, KeyTable, type UsedKey } from './tables/keys.ts';
import { LedgerTable, type StoredEntry } from './tables/ledger.ts';
import { MeterEventTable } from './tables/meter-events.ts';
import { type Delivery, type OutboxPage, type OutboxRow, OutboxTable, type PlacedRow } from './tables/outbox.ts';
import { SetAsideTable } from './tables/set-aside.ts';
import { UsageHourTable } from './tables/usage-hours.ts';
import { type UnwrittenCall, UnwrittenCalls } from './unwritten-calls.ts';

/** Answers are replayed for this long after a call has finished. */
export const ANSWER_RETENTION_MS = 48 * HOUR_MS;
/** A finished call stays in the object for this long; afterwards D1 answers. */
export const CALL_RETENTION_MS = 7 * DAY_MS;
/** A meter event is read by nobody once D1 has it and its charge is settled. */
const METER_EVENT_RETENTION_MS = HOUR_MS;
/** Older entries of the ledger are in D1 alone. */
const LEDGER_RETENTION_MS = 30 * DAY_MS;
const USAGE_HOURS_RETENTION_MS = 100 * DAY_MS;
/** Nothing is counted in an hour that is over. */
const DENIED_HOURS_RETENTION_MS = DAY_MS;
/** Rows wait this long for others before they are sent to D1 together. */
const OUTBOX_DELAY_MS = 500;
/** Of a busy customer, rows are sent at most this often: a round costs much more than another row in it. */
const OUTBOX_INTERVAL_MS = 2_000;
/** Rows of each table that one round of pruning removes at most, and how long it waits for the next round. */
const PRUNE_ROWS_MAX = 500;
const PRUNE_ROUND_MS = 1_000;
/** How far D1 may lag behind while calls, meter events and entries that it has are pruned. */
const PRUNE_LAG_MS_MAX = 60_000;
/** Pruning comes round at most this often when nothing is left over. */
const PRUNE_INTERVAL_MS = HOUR_MS;

export class CustomerStore {
  readonly usageHours: UsageHourTable;
  /** To be read; what changes it is below. */
  readonly setAside: SetAsideTable;
  readonly denials = new Denials();
  readonly #storage: DurableObjectStorage;
  readonly #calls: CallTable;
  readonly #deniedHours: DeniedHourTable;
  readonly #keys: KeyTable;
  readonly #outbox: OutboxTable;
  readonly #meterEvents: MeterEventTable;
  readonly #ledger: LedgerTable;
  readonly #charges: ChargeTable;
  readonly #unwritten = new UnwrittenCalls();
  #exists: boolean;
  /** As committed, with what unwritten calls hold; dropped when a transaction fails. */
  #account: Account | null | undefined;
  #inTransaction = false;
  /** The transaction under way changed what is stored of the account. */
  #accountChanged = false;
  #due: Due | undefined;
  #alarmMs: number | null | undefined;
  /** When D1 last took rows, as far as this life of the object knows. */
  #deliveredAtMs = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#calls = new CallTable(storage.sql);
    this.#deniedHours = new DeniedHourTable(storage.sql);
    this.#keys = new KeyTable(storage.sql);
    this.#outbox = new OutboxTable(storage.sql);
    this.setAside = new SetAsideTable(storage.sql);
    this.#meterEvents = new MeterEventTable(storage.sql);
    this.#ledger = new LedgerTable(storage.sql);
    this.#charges = new ChargeTable(storage.sql);
    this.usageHours = new UsageHourTable(storage.sql);
    this.#exists = this.#hasSchema();
    if (this.#exists) storage.transactionSync(() => this.#migrate());
  }

  /** Reads the alarm that stands, once per life of the object. To be awaited before the first transaction. */
  async load(): Promise<void> {
    this.#alarmMs ??= await this.#storage.getAlarm();
  }

  /** To be called when the alarm fires: none stands any more. */
  alarmFired(): void {
    this.#alarmMs = null;
  }

  /**
   * Runs a command. What it wrote, its answer and the next alarm become durable together, or nothing does. Calls that
   * are not written yet are written first, unless the command can do without.
   */
  transaction<Result>(nowMs: number, command: () => Result, unwritten: 'WRITE' | 'LEAVE' = 'WRITE'): Result {
    return this.together(nowMs, () => {
      if (unwritten === 'WRITE') this.writeCalls(nowMs);
      return command();
    });
  }

  /**
   * Runs several transactions as one, which is what they cost then. Where one of them throws, nothing of any is left.
   */
  together<Results>(nowMs: number, commands: () => Results): Results {
    if (this.#inTransaction) return commands();
    this.#inTransaction = true;
    try {
      const results = this.#storage.transactionSync(() => {
        const done = commands();
        if (this.#accountChanged) this.#storeAccount();
        this.usageHours.flush();
        if (this.#exists) this.#arm(nowMs);
        return done;
      });
      this.#unwritten.committed();
      this.denials.committed();
      return results;
    } catch (error) {
      this.#unwritten.rolledBack();
      this.denials.rolledBack();
      this.usageHours.rolledBack();
      this.#accountChanged = false;
      this.#account = undefined;
      this.#due = undefined;
      this.#alarmMs = undefined;
      this.#exists = this.#hasSchema();
      throw error;
    } finally {
      this.#inTransaction = false;
    }
  }

  account(): Account | null {
    if (!this.#exists) return null;
    if (this.#account === undefined) {
      const row = this.#storage.sql.exec<{ value: string }>('SELECT value FROM account WHERE id = 1').toArray()[0];
      this.#account = row ? this.#unwritten.fromStore(JSON.parse(row.value) as Account) : null;
    }
    return this.#account;
  }

  /**
   * Takes over the account, and its wallet's new entries into the ledger; creates the schema with the first one.
   * Returns what is to be stored.
   */
  saveAccount(changed: Account, nowMs: number): Account {
    if (!this.#exists) this.#create();
    const before = this.#account;
    const account = this.#post(changed, nowMs);
    this.#account = account;
    this.#accountChanged = true;
    const due = this.#dueNow();
    due.replenishMs = replenishmentOf(account);
    due.expiryMs = nextExpiryMs(account.wallet);
    // Another plan or period, or a subscription that is live again: what was denied may be allowed now.
    if (before?.subscription !== account.subscription) this.denials.reset();
    if (before?.subscription !== account.subscription || before.contact !== account.contact) {
      this.#enqueue('customer', account.customerId, nowMs);
    }
    return account;
  }

  #storeAccount(): void {
    this.#accountChanged = false;
    if (!this.#account) return;
    const sql = 'INSERT INTO account (id, value) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value';
    this.#storage.sql.exec(sql, JSON.stringify(this.#unwritten.toStore(this.#account)));
  }

  /** Moves the wallet's new entries into the ledger. Throws where the ledger and a balance would not agree. */
  #post(account: Account, nowMs: number): Account {
    const { wallet } = account;
    for (const entry of wallet.entries) {
      const entryId = this.#ledger.append(entry);
      this.#enqueue('credit_entry', String(entryId), nowMs);
    }
    if (wallet !== this.#account?.wallet) this.#assertLedger(wallet);
    return wallet.entries.length === 0 ? account : { ...account, wallet: { ...wallet, entries: [] } };
  }

  #assertLedger(wallet: Wallet): void {
    for (const unit of ['USD', 'CUSTOM1', 'CUSTOM2', 'AGENTIC_API'] as const) {
      const [ledger, balance] = [this.#ledger.balance(unit), balanceOf(wallet, unit)];
      if (ledger !== balance) throw new Error(`the ledger of ${unit} sums to ${ledger}, the balance is ${balance}`);
    }
  }

  call(callId: string): StoredCall | null {
    const unwritten = this.#unwritten.find(callId);
    if (unwritten) return { call: unwritten.call, beginFingerprint: unwritten.fingerprint, endFingerprint: null };
    return this.#exists ? this.#calls.find(callId) : null;
  }

  /** The stored answer of a call's begin or end. */
  answer(callId: string, of: 'begin' | 'end'): string | null {
    const unwritten = this.#unwritten.find(callId);
    if (unwritten) return of === 'begin' ? unwritten.answer() : null;
    return this.#calls.answer(callId, of);
  }

  /** Begins a call that nobody is told of before its end: until then, or until `writeCalls`, it stands in memory. */
  holdCall(account: Account, unwritten: UnwrittenCall): void {
    this.#unwritten.add(unwritten);
    // The revision counts what is written: one that D1 saw and that the object then forgot would come again for
    // something else.
    this.#account = { ...account, revision: this.#account?.revision ?? account.revision };
  }

  get hasUnwrittenCalls(): boolean {
    return this.#unwritten.size > 0;
  }

  /** Writes calls that stand in memory and began by then. */
  writeCalls(nowMs: number, begunByMs = nowMs): void {
    for (const { call, fingerprint, answer } of this.#unwritten.begunBy(begunByMs)) {
      // As it is with what the call holds, so before the call is taken.
      const account = this.account();
      if (!account) throw new Error('a call in memory has an account');
      this.#unwritten.take(call.callId);
      this.insertCall(call, fingerprint, answer(), nowMs);
      // What comes next of the call has a later revision than its begin.
      this.#account = { ...account, revision: Math.max(account.revision, call.revision) };
      this.#accountChanged = true;
    }
  }

  /** Stores a call that has begun. */
  insertCall(call: Call, fingerprint: string, answer: string, nowMs: number): void {
    this.#calls.insert(call, fingerprint, answer);
    const due = this.#dueNow();
    due.deadlineMs = Math.min(due.deadlineMs ?? NEVER_MS, call.deadlineAtMs);
    this.#enqueue('call', call.callId, nowMs);
  }

  /** Stores a call that was denied. */
  insertDenied(call: Call, fingerprint: string, answer: string, nowMs: number): void {
    this.denials.add(nowMs);
    const countedIn = this.#deniedHours.add(nowMs, call.feature ?? '');
    this.#calls.insert(countedIn === null ? call : { ...call, countedAlone: true }, fingerprint, answer);
    this.#dueNow().pruneMs ??= nowMs + ANSWER_RETENTION_MS;
    if (countedIn === null) this.#enqueue('call', call.callId, nowMs);
    else this.#enqueue('denied_hour', String(countedIn), nowMs);
  }

  /** Stores what became of a call's charge, or of its prompt. */
  updateCall(call: Call, nowMs: number): void {
    this.#calls.update(call);
    if (!call.countedAlone) this.#enqueue('call', call.callId, nowMs);
  }

  /** Stores a call that stopped being in progress, with the answer of its end where it has one. */
  finishCall(call: Call, end: CallEnd | null, nowMs: number): void {
    const unwritten = this.#unwritten.take(call.callId);
    if (unwritten) this.#calls.insert(call, unwritten.fingerprint, null, end);
    else this.#calls.finish(call, end);
    this.#dueNow().pruneMs ??= nowMs + ANSWER_RETENTION_MS;
    this.#enqueue('call', call.callId, nowMs);
  }

  keepAnswer(callId: string, text: string): void {
    this.#calls.keep(callId, text);
  }

  keptAnswer(callId: string): string | null {
    return this.#calls.kept(callId);
  }

  /** The call's retries get no stored answer any more. */
  dropAnswers(callId: string): void {
    this.#calls.dropAnswersOf(callId);
  }

  /** Open calls whose deadline has come, at most `rowsMax` of them. */
  callsPastDeadline(nowMs: number, rowsMax: number): Call[] {
    if ((this.#dueNow().deadlineMs ?? NEVER_MS) > nowMs) return [];
    const overdue = this.#calls.pastDeadline(nowMs, rowsMax);
    // The call whose deadline it was has ended before: an alarm for it would come again and again.
    if (overdue.length === 0) this.refreshDeadline();
    return overdue;
  }

  /** To be called when overdue calls have been finished: the next deadline is another one. */
  refreshDeadline(): void {
    this.#dueNow().deadlineMs = this.#calls.nextDeadlineMs();
  }

  callsBegunSince(sinceMs: number): { count: number; oldestMs: number | null } {
    return this.#exists ? this.#calls.begunSince(sinceMs) : { count: 0, oldestMs: null };
  }

  countOpenCalls(): number {
    return this.#calls.countOpen();
  }

  recentCalls(rowsMax: number): Call[] {
    return this.#calls.recent(rowsMax);
  }

  /** The newest call of the derived key with this payload, and the newest generation of that key. */
  derivedCall(hash: string, fingerprint: string): { call: StoredCall | null; newest: number } {
    if (!this.#exists) return { call: null, newest: 0 };
    const { callId, newest } = this.#keys.findDerived(hash, fingerprint);
    return { call: callId === null ? null : this.#calls.find(callId), newest };
  }

  saveDerivedKey(derived: DerivedKey, nowMs: number): void {
    this.#keys.saveDerived(derived, nowMs);
  }

  idempotencyKey(operation: string, key: string): UsedKey | null {
    return this.#exists ? this.#keys.find(operation, key) : null;
  }

  saveIdempotencyKey(operation: string, key: string, used: UsedKey, nowMs: number): void {
    this.#keys.save(operation, key, used, nowMs + ANSWER_RETENTION_MS);
    this.#dueNow().pruneMs ??= nowMs + ANSWER_RETENTION_MS;
  }

  meterEvent(eventId: string): MeterEvent | null {
    return this.#meterEvents.find(eventId);
  }

  saveMeterEvent(event: MeterEvent, nowMs: number): void {
    this.#meterEvents.save(event);
    this.#dueNow().pruneMs ??= nowMs + METER_EVENT_RETENTION_MS;
    this.#enqueue('meter_event', event.eventId, nowMs);
  }

  saveCharge(charge: OpenCharge): void {
    this.#charges.save(charge);
    this.#dueNow().settleMs = this.#charges.nextDueMs();
  }

  charge(chargeId: string): OpenCharge | null {
    return this.#charges.find(chargeId);
  }

  chargesDue(nowMs: number, rowsMax: number): OpenCharge[] {
    return this.#exists && (this.#dueNow().settleMs ?? NEVER_MS) <= nowMs ? this.#charges.due(nowMs, rowsMax) : [];
  }

  dropCharge(chargeId: string): void {
    this.#charges.drop(chargeId);
    this.#dueNow().settleMs = this.#charges.nextDueMs();
  }

  countCharges(): number {
    return this.#charges.count();
  }

  usdSpentBetween(fromMs: number, toMs: number): number {
    return this.#ledger.usdSpentBetween(fromMs, toMs);
  }

  recentEntries(rowsMax: number): StoredEntry[] {
    return this.#ledger.recent(rowsMax);
  }

  outboxPage(changesMax: number): OutboxPage {
    return this.#exists ? this.#outbox.page(changesMax) : { rows: [], place: 0 };
  }

  get hasOutbox(): boolean {
    return !this.#outbox.isEmpty();
  }

  outboxState(): { pending: number; oldestMs: number | null } {
    return this.#outbox.state();
  }

  /** D1 has taken the oldest changes, and with them what was set aside of the same rows. */
  outboxSent({ rows, place }: OutboxPage, nowMs: number): void {
    this.#outbox.drop(place);
    this.#deliveredAtMs = nowMs;
    if (this.setAside.drop(rows)) this.announceAt(nowMs);
  }

  /**
   * Sets the oldest change aside, because D1 refused it for what is in it. Returns whether the row was not set aside
   * before.
   */
  outboxRefused(row: PlacedRow, reason: string, nowMs: number): boolean {
    const isNew = this.setAside.add(row, reason, nowMs);
    this.#outbox.drop(row.place);
    this.announceAt(nowMs);
    return isNew;
  }

  /** Queues what is set aside again. Returns how many rows that are. */
  resendSetAside(nowMs: number): number {
    const rows = this.#exists ? this.setAside.queueAgain(nowMs) : 0;
    if (rows === 0) return 0;
    this.announceAt(nowMs);
    this.#wakeForOutbox(nowMs);
    return rows;
  }

  /** Whether the operator is to be told of what is set aside. */
  isAnnouncementDue(nowMs: number): boolean {
    return this.#exists && (this.#dueNow().announceMs ?? NEVER_MS) <= nowMs;
  }

  /** Sets when the operator is to be told next; `null` where there is nothing to tell any more. */
  announceAt(atMs: number | null): void {
    this.#outbox.saveAnnounceAt(atMs);
    this.#dueNow().announceMs = atMs;
  }

  delivery(): Delivery {
    return this.#exists ? this.#outbox.delivery() : { failures: 0, dueAtMs: null, lastError: null };
  }

  saveDelivery(delivery: Delivery): void {
    this.#outbox.saveDelivery(delivery);
    this.#dueNow().outboxMs = delivery.dueAtMs;
  }

  /** Removes what is past its retention, a bounded number of rows. Calls that D1 does not have yet stay. */
  prune(nowMs: number): void {
    if ((this.#dueNow().pruneMs ?? NEVER_MS) > nowMs) return;
    // What D1 lacks has to stay. While it lags, nothing that it may lack goes: the more waits, the longer it takes to
    // see what that is.
    const isCurrent = (this.#outbox.oldestMs() ?? nowMs) >= nowMs - PRUNE_LAG_MS_MAX;
    const written = [
      this.#calls.dropAnswers(nowMs - ANSWER_RETENTION_MS, PRUNE_ROWS_MAX),
      isCurrent ? this.#calls.drop(nowMs - CALL_RETENTION_MS, PRUNE_ROWS_MAX) : 0,
      isCurrent ? this.#meterEvents.drop(nowMs - METER_EVENT_RETENTION_MS, PRUNE_ROWS_MAX) : 0,
      isCurrent ? this.#ledger.drop(nowMs - LEDGER_RETENTION_MS, PRUNE_ROWS_MAX) : 0,
      this.#keys.drop(nowMs, PRUNE_ROWS_MAX),
      this.#keys.dropDerived(nowMs - CALL_RETENTION_MS, PRUNE_ROWS_MAX),
      this.usageHours.drop(nowMs - USAGE_HOURS_RETENTION_MS, PRUNE_ROWS_MAX),
      isCurrent ? this.#deniedHours.drop(nowMs - DENIED_HOURS_RETENTION_MS, PRUNE_ROWS_MAX) : 0,
    ];
    const more = written.some((rows) => rows >= PRUNE_ROWS_MAX);
    const nextMs = this.#nextPruneMs();
    this.#dueNow().pruneMs = more ? nowMs + PRUNE_ROUND_MS : nextMs && Math.max(nextMs, nowMs + PRUNE_INTERVAL_MS);
  }

  #nextPruneMs(): number | null {
    const { anyMs, withAnswerMs } = this.#calls.oldestFinished();
    const after = (oldestMs: number | null, retentionMs: number) => (oldestMs === null ? null : oldestMs + retentionMs);
    const times = [
      after(withAnswerMs, ANSWER_RETENTION_MS),
      after(anyMs, CALL_RETENTION_MS),
      after(this.#meterEvents.oldestMs(), METER_EVENT_RETENTION_MS),
      after(this.#ledger.oldestMs(), LEDGER_RETENTION_MS),
      this.#keys.nextExpiryMs(),
      after(this.usageHours.oldestMs(), USAGE_HOURS_RETENTION_MS),
      after(this.#deniedHours.oldestMs(), DENIED_HOURS_RETENTION_MS),
    ].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  #enqueue(kind: OutboxRow['kind'], id: string, nowMs: number): void {
    this.#outbox.add(kind, id, nowMs);
    this.#wakeForOutbox(nowMs);
  }

  #wakeForOutbox(nowMs: number): void {
    if (this.#dueNow().outboxMs !== null) return;
    const waitMs = Math.max(
      OUTBOX_DELAY_MS,
      Math.min(OUTBOX_INTERVAL_MS, this.#deliveredAtMs + OUTBOX_INTERVAL_MS - nowMs),
    );
    this.saveDelivery({ failures: 0, dueAtMs: nowMs + waitMs, lastError: null });
  }

  #dueNow(): Due {
    this.#due ??= {
      outboxMs: this.#outbox.delivery().dueAtMs,
      deadlineMs: this.#calls.nextDeadlineMs(),
      replenishMs: replenishmentOf(this.account()),
      expiryMs: nextExpiryMs(this.account()?.wallet ?? EMPTY_WALLET),
      settleMs: this.#charges.nextDueMs(),
      pruneMs: this.#nextPruneMs(),
      announceMs: this.#outbox.announceAtMs(),
    };
    return this.#due;
  }

  /** Sets the alarm where it is not yet what is due. It is part of the transaction. */
  #arm(nowMs: number): void {
    const alarmMs = nextAlarm(this.#dueNow(), nowMs);
    if (alarmMs === this.#alarmMs) return;
    // An alarm that fires early finds nothing due and sets the right one: cheaper than moving it with each command.
    if (this.#alarmMs != null && this.#alarmMs > nowMs && alarmMs !== null && this.#alarmMs < alarmMs) return;
    if (alarmMs === null) void this.#storage.deleteAlarm();
    else void this.#storage.setAlarm(alarmMs);
    this.#alarmMs = alarmMs;
  }

  #hasSchema(): boolean {
    return this.#storage.sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'schema_version'`).toArray().length > 0;
  }

  #create(): void {
    this.#storage.sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
    this.#storage.sql.exec('INSERT INTO schema_version (version) VALUES (0)');
    this.#exists = true;
    this.#migrate();
  }

  #migrate(): void {
    const { version } = this.#storage.sql.exec<{ version: number }>('SELECT version FROM schema_version').one();
    for (const migration of MIGRATIONS.slice(version)) this.#storage.sql.exec(migration);
    if (version < MIGRATIONS.length) this.#storage.sql.exec('UPDATE schema_version SET version = ?', MIGRATIONS.length);
  }
}

function replenishmentOf(account: Account | null): number | null {
  const atMs = account?.subscription.nextReplenishAtMs ?? NEVER_MS;
  return atMs < NEVER_MS ? atMs : null;
}
