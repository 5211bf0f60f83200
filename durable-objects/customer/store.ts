/**
 * The storage of a customer's object: transactions, the account, what is due when, and the tables (tables/).
 *
 * No rule is decided here. A transaction is synchronous, so a command runs to its end or leaves nothing behind, and the
 * next alarm is set inside it. The schema is created by the first write, so that reading a customer who was never seen
 * writes nothing.
 */

import type { CustomerEvent } from '../../src/contract/event-data.ts';
import { type Account, periodNumber } from '../../src/domain/account.ts';
import type { BatchHold } from '../../src/domain/batch-hold.ts';
import { type Call, hasFailedFree } from '../../src/domain/call.ts';
import type { MeterEvent } from '../../src/domain/custom-meter.ts';
import type { OpenWork } from '../../src/domain/denial.ts';
import type { CallId, OrganizationId } from '../../src/domain/ids.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import { slotTotals } from '../../src/domain/reverse-meter.ts';
import type { BegunCalls } from '../../src/domain/rolling-window.ts';
import { EMPTY_WALLET, nextExpiryMs, sumBalance, type Wallet } from '../../src/domain/wallet.ts';
import { deriveEvents } from '../../src/events/customer-events.ts';
import { type CustomerFigures, countedBefore } from '../../src/history/projection-rows.ts';
import type { CountedPrompt, PromptBeginnings } from '../../src/objects/customer-commands.ts';
import type { ChangeKind } from '../../src/objects/projection-page.ts';
import type { DatabaseName } from '../../src/platform/database-name.ts';
import { newEventId } from '../../src/platform/event-id.ts';
import { SECOND_MS } from '../../src/platform/time.ts';
import { ObjectSchema, REWRITE_PAUSE_MS } from '../schema.ts';
import { type Due, nextAlarm } from './alarms.ts';
import { Denials } from './denials.ts';
import { ListedRow } from './listed-row.ts';
import { MIGRATIONS } from './migrations.ts';
import {
  ANSWER_RETENTION_MS,
  BATCH_HOLD_RETENTION_MS,
  CORRECTIONS_RETENTION_MS,
  METER_EVENT_RETENTION_MS,
  nextPruneMs,
  prune,
  WHOLE_MS,
} from './retention.ts';
import { SessionRequests } from './session-requests.ts';
import { StorageSize } from './storage-size.ts';
import type { AwaitedFigures } from './tables/awaited-figures.ts';
import { BeginFigures } from './tables/begin-figures.ts';
import type { CallBeforeChange, CallEnd, StoredCall } from './tables/calls.ts';
import type { OpenCharge } from './tables/charges.ts';
import type { CorrectionTable } from './tables/corrections.ts';
import { openTables, type Tables } from './tables/index.ts';
import type { KeptAnswerTable } from './tables/kept-answers.ts';
import type { DerivedKey, UsedKey } from './tables/keys.ts';
import type { LedgerTable } from './tables/ledger.ts';
import type { Delivery, OutboxPage } from './tables/outbox.ts';
import type { PastCall } from './tables/past-calls.ts';
import type { UsageHourTable } from './tables/usage-hours.ts';

/**
 * The alarm hands changes over that are so old: a call is open for so long, or the object was gone before its timer did it
 * (hand-over.ts). While it is set, an alarm is not moved, so that a customer with one call after the other sets one in this time.
 */
const OUTBOX_ALARM_MS = 30_000;

/** So many calls may be more than stay whole: earlier ones become past an hour later. */
const CALLS_PER_ROUND = 10_000;

/** What is due but for credits, whose expiry depends on what is held of them. */
type KnownDue = Omit<Due, 'expiryMs'>;

/** The erasure of the customer whose object this was before. */
export interface Erasure {
  organizationId: OrganizationId;
  atMs: number;
  /** D1 gets nothing of a new customer until then, because the erasure removes there whatever has the customer's id. */
  heldUntilMs: number;
}

export class CustomerStore {
  readonly usageHours: UsageHourTable;
  readonly ledger: Pick<LedgerTable, 'entryOf' | 'missing' | 'newest' | 'recent' | 'usdSpentBetween'>;
  readonly corrections: CorrectionTable;
  /** What vendors answered to calls of the service, for retries of their requests. */
  readonly keptAnswers: Pick<KeptAnswerTable, 'keep' | 'find' | 'hasGivenWay'>;
  readonly denials = new Denials();
  readonly sessionRequests = new SessionRequests();
  readonly #storage: DurableObjectStorage;
  readonly #tables: Tables;
  readonly #schema: ObjectSchema;
  readonly #beginFigures: BeginFigures;
  readonly #size: StorageSize;
  #exists: boolean;
  /** As the transaction under way left it; dropped when that fails. */
  #account: Account | null | undefined;
  #inTransaction = false;
  /** The transaction under way changed what is stored of the account. */
  #accountChanged = false;
  #due: KnownDue | undefined;
  #alarmMs: number | null | undefined;
  /** When rows that are older than the schema are to be rewritten next, if there are any. */
  #rewriteMs = 0;
  /** How handing over goes, and the database of the organization; `undefined` until they are read. */
  #delivery: Delivery | undefined;
  #historyDatabase: DatabaseName | null | undefined;
  #listedRow: ListedRow | undefined;
  /** When the oldest change was recorded that is not in a page; `null` where there is none. */
  #newSinceMs: number | null = null;
  /** The transaction under way recorded changes, and whether one of them is to be handed over soon. */
  #hasNewChanges = false;
  #hasUrgentChanges = false;
  /** The transaction under way changed what meters have, of which lists show one. */
  #metersChanged = false;
  /** Calls that finished since the object opened. */
  #finishedCalls = 0;
  readonly #changed: () => void;
  /** When the newest event was recorded, and how many were before it in that millisecond. */
  #newestEvent = { atMs: 0, place: 0 };
  /** The customer's projector asked to be relieved when it took the last page. */
  isProjectorBusy = false;
  /** As long as the object is in memory: nothing stored tells of a customer who was erased. */
  erasure: Erasure | null = null;

  /** `changed` is called after a transaction whose changes are to be handed over soon. */
  constructor(storage: DurableObjectStorage, changed: () => void = () => undefined) {
    this.#storage = storage;
    this.#changed = changed;
    this.#tables = openTables(storage.sql);
    this.#beginFigures = new BeginFigures(storage.sql, this.#tables.calls);
    this.#size = new StorageSize(storage.sql);
    this.usageHours = this.#tables.usageHours;
    this.ledger = this.#tables.ledger;
    this.corrections = this.#tables.corrections;
    this.keptAnswers = this.#tables.keptAnswers;
    this.#schema = new ObjectSchema(storage, 'Customer', MIGRATIONS);
    this.#exists = this.#schema.exists();
    if (this.#exists) this.#schema.migrate();
  }

  /** Reads the alarm that is set, once after the object starts. To be awaited before the first transaction. */
  async load(): Promise<void> {
    this.#alarmMs ??= await this.#storage.getAlarm();
    if (this.#schema.hasUnfinished) this.#arm(Date.now());
  }

  /** Rewrites a bounded number of rows that are older than the schema. */
  async rewriteRows(): Promise<void> {
    if (!this.#schema.hasUnfinished) return;
    await this.#schema.rewriteRows();
    if (!this.#schema.hasUnfinished) this.#due = undefined;
  }

  /** To be called when the alarm fires: none is set any more. A hand-over that was due follows; the next alarm stands behind it. */
  alarmFired(nowMs: number): void {
    this.#alarmMs = null;
    if (!this.#exists) return;
    const due = this.#dueNow();
    if (due.outboxMs !== null && due.outboxMs <= nowMs) due.outboxMs = nowMs + OUTBOX_ALARM_MS;
    this.#rewriteMs = nowMs + REWRITE_PAUSE_MS;
    if (due.rewriteMs !== null) due.rewriteMs = this.#rewriteMs;
  }

  /**
   * Runs a command. What it wrote, its answer and the next alarm become durable together, or nothing does. A
   * transaction within another one is a part of it.
   */
  transaction<Result>(nowMs: number, command: () => Result): Result {
    if (this.#inTransaction) return command();
    this.#inTransaction = true;
    const { outbox } = this.#tables;
    try {
      const result = this.#storage.transactionSync(() => {
        const done = command();
        this.#tellOfSize(nowMs);
        // Whatever else is handed over brings the customer with it.
        if (this.#metersChanged && !this.#hasNewChanges && this.#account)
          this.#enqueue('customer', this.#account.customerId, nowMs);
        if (this.#exists) {
          outbox.forgetHandedOver(this.#listedRow?.owedSinceMs != null);
          if (this.#accountChanged || this.#beginFigures.hasChanged || this.usageHours.hasChanged || outbox.hasChanged)
            this.#storeAccount();
          this.#arm(nowMs);
        }
        return done;
      });
      // The change that the outbox keeps for a row that is owed is not handed over again.
      if (this.#listedRow?.owedSinceMs == null) outbox.committed();
      this.denials.committed();
      if (this.#hasUrgentChanges) this.#changed();
      return result;
    } catch (error) {
      this.#beginFigures.rolledBack();
      outbox.rolledBack();
      this.denials.rolledBack();
      this.usageHours.rolledBack();
      this.#tables.countedPrompts.rolledBack();
      this.#tables.forms.rolledBack();
      this.#size.rolledBack();
      this.#accountChanged = false;
      this.#account = undefined;
      this.#due = undefined;
      this.#delivery = undefined;
      this.#alarmMs = undefined;
      this.#exists = this.#schema.exists();
      throw error;
    } finally {
      this.#inTransaction = false;
      this.#hasNewChanges = false;
      this.#hasUrgentChanges = false;
      this.#metersChanged = false;
    }
  }

  /** Whether the object has no room for new work. */
  isFull(nowMs: number): boolean {
    return this.#exists && this.#size.isFull(nowMs);
  }

  #tellOfSize(nowMs: number): void {
    const account = this.account();
    const event = account && this.#size.news(account.customerId, nowMs);
    if (event) this.recordEvent(event, nowMs);
  }

  account(): Account | null {
    if (!this.#exists) return null;
    if (this.#account === undefined) {
      const row = this.#storage.sql.exec<{ value: string }>('SELECT value FROM account WHERE id = 1').toArray()[0];
      this.#account = row ? (JSON.parse(row.value) as Account) : null;
    }
    return this.#account;
  }

  /**
   * Takes over the account, its wallet's new entries into the ledger, and what its organization is told of; creates the
   * schema with the first one. Returns what is to be stored.
   */
  saveAccount(changed: Account, nowMs: number): Account {
    const before = this.account();
    if (!this.#exists) this.#schema.migrate();
    this.#exists = true;
    this.#openListedRow();
    if (before) this.#closePeriod(before, changed, nowMs);
    const account = this.#post(changed, nowMs);
    this.#account = account;
    this.#accountChanged = true;
    const due = this.#dueNow();
    due.replenishMs = replenishmentOf(account);
    // Another plan or period, or a reactivated subscription: what was denied may be allowed now.
    if (before?.subscription !== account.subscription) this.denials.reset();
    if (before?.meters !== account.meters) this.#metersChanged = true;
    if (before?.subscription !== account.subscription || before.contact !== account.contact) {
      this.#enqueue('customer', account.customerId, nowMs);
    }
    for (const event of deriveEvents(before, account)) this.recordEvent(event, nowMs);
    return account;
  }

  /** Records what the organization is told of. Its id stays the same however often it is handed over. */
  recordEvent(event: CustomerEvent, nowMs: number): void {
    const { atMs, place } = this.#newestEvent;
    this.#newestEvent = { atMs: nowMs, place: atMs === nowMs ? place + 1 : 0 };
    const eventId = newEventId(nowMs, this.#newestEvent.place);
    this.#tables.events.add(eventId, { ...event, atMs: nowMs });
    this.#enqueue('event', eventId, nowMs);
  }

  #storeAccount(): void {
    this.#accountChanged = false;
    const account = this.account();
    if (!account) return;
    const sql = `INSERT INTO account (id, value, begin_figures, pending, current_hour) VALUES (1, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
      SET value = excluded.value, begin_figures = COALESCE(excluded.begin_figures, begin_figures),
        pending = COALESCE(excluded.pending, pending), current_hour = COALESCE(excluded.current_hour, current_hour)`;
    const texts = [this.#beginFigures.takeText(), this.#tables.outbox.takeText(), this.usageHours.takeText()];
    this.#storage.sql.exec(sql, JSON.stringify(account), ...texts);
  }

  /** Moves the wallet's new entries into the ledger. Throws where the ledger and a balance would not agree. */
  #post(account: Account, nowMs: number): Account {
    const { wallet } = account;
    for (const entry of wallet.entries) {
      const entryId = this.#tables.ledger.append(entry);
      this.#enqueue('credit_entry', String(entryId), nowMs);
    }
    if (wallet !== this.#account?.wallet) this.#assertLedger(wallet);
    return wallet.entries.length === 0 ? account : { ...account, wallet: { ...wallet, entries: [] } };
  }

  /** Keeps what the custom meters came to, if the period is over, and the usage of the next one apart. */
  #closePeriod(before: Account, after: Account, nowMs: number): void {
    if (periodNumber(before) === periodNumber(after)) return;
    this.usageHours.divide(after.subscription.lastReplenishedAtMs);
    for (const [slot, totals] of slotTotals(before)) {
      this.corrections.saveTotals(periodNumber(before), slot, totals, nowMs);
      this.#dueNow().pruneMs ??= nowMs + CORRECTIONS_RETENTION_MS;
    }
  }

  #assertLedger(wallet: Wallet): void {
    for (const unit of ['USD', 'CUSTOM1', 'CUSTOM2', 'AGENTIC_API'] as const) {
      const [ledger, balance] = [this.#tables.ledger.balance(unit), sumBalance(wallet, unit)];
      if (ledger !== balance) throw new Error(`the ledger of ${unit} sums to ${ledger}, the balance is ${balance}`);
    }
  }

  call(callId: CallId): StoredCall | null {
    return this.#exists ? this.#tables.calls.find(callId) : null;
  }

  pastCall(callId: CallId): PastCall | null {
    return this.#exists ? this.#tables.pastCalls.find(callId) : null;
  }

  /** The stored answer of a call's begin or end. */
  answer(callId: CallId, of: 'begin' | 'end', nowMs: number): string | null {
    const { calls, pastCalls } = this.#tables;
    const stored = calls.answer(callId, of, nowMs - ANSWER_RETENTION_MS) ?? pastCalls.answer(callId, of);
    return stored === null ? null : this.#tables.forms.unpack(stored, callId);
  }

  /**
   * Stores a call that has begun. D1 learns of it with its end, or by the alarm if it is open for longer; of one that the service
   * makes when it ends, if too many of them failed.
   */
  insertCall(begun: Call, fingerprint: string, answer: string, nowMs: number): void {
    const isUntold = begun.openedBy !== undefined && this.#tables.failedHours.isFull(nowMs);
    const call: Call = isUntold ? { ...begun, untold: true } : begun;
    const { rollingCalls } = this.account()?.subscription.plan.plan ?? {};
    const isListed = this.#beginFigures.callBegins(call, rollingCalls?.windowSeconds);
    const place = isUntold ? null : this.#record('call', call.callId, nowMs, true);
    this.#tables.calls.insert(call, fingerprint, this.#tables.forms.pack(answer, call.callId, nowMs), place, isListed);
    const due = this.#dueNow();
    due.deadlineMs = Math.min(due.deadlineMs ?? NEVER_MS, call.deadlineAtMs);
  }

  /** Stores a call that was denied. */
  insertDenied(call: Call, fingerprint: string, answer: string, nowMs: number): void {
    this.denials.add(nowMs);
    const countedIn = this.#tables.deniedHours.add(nowMs, call.feature ?? '');
    const packed = this.#tables.forms.pack(answer, call.callId, nowMs);
    this.#pruneBy(nowMs + ANSWER_RETENTION_MS);
    if (countedIn === null) {
      this.#tables.calls.insert(call, fingerprint, packed, this.#enqueue('call', call.callId, nowMs));
    } else {
      this.#tables.calls.insert({ ...call, countedAlone: true }, fingerprint, packed, null);
      this.#enqueue('denied_hour', String(countedIn), nowMs);
    }
  }

  /** Stores what became of a call's charge, or of its prompt. */
  updateCall({ untold: _, ...call }: Call, nowMs: number): void {
    const replaced = this.#replacedBy(this.#beforeChange(call));
    const place = call.countedAlone ? null : this.#enqueue('call', call.callId, nowMs);
    this.#tables.calls.update(call, { replaced, place });
  }

  /** Stores what an open call holds. D1 learns what it came to. */
  holdMore(call: Call): void {
    this.#tables.calls.update(call, { replaced: null, place: null });
  }

  /** Stores a call that stopped being in progress, with the answer of its end where it has one. */
  finishCall({ untold, ...finished }: Call, end: CallEnd | null, nowMs: number): void {
    const isFree = finished.openedBy !== undefined && hasFailedFree(finished);
    const { failedHours, forms } = this.#tables;
    const isCounted = isFree && untold === true && failedHours.isFull(nowMs);
    const call: Call = isCounted ? { ...finished, countedAlone: true } : finished;
    const before = this.#beforeChange(call);
    if (before) this.#beginFigures.callEnds(call, before.status);
    this.#pruneBy(nowMs + ANSWER_RETENTION_MS);
    this.#finishedCalls += 1;
    if (this.#finishedCalls % CALLS_PER_ROUND === 0) this.#pruneBy(nowMs + WHOLE_MS);
    if (isFree && !isCounted) failedHours.addFull(nowMs);
    if (isCounted) this.#enqueue('failed_hour', failedHours.count(...countedOf(call, nowMs), 1), nowMs);
    const replaced = this.#replacedBy(before);
    const place = isCounted ? null : this.#enqueue('call', call.callId, nowMs);
    const stored = end && { ...end, answer: forms.pack(end.answer, call.callId, nowMs) };
    this.#tables.calls.finish(call, stored, { replaced, place });
  }

  /** Stores a call that was corrected, also one that was removed, and keeps it as long as one that has just finished. */
  correctCall(before: Call, { countedAlone, ...call }: Call, nowMs: number): void {
    const replaced = countedAlone ? null : this.#replacedBy(this.#beforeChange(call), before);
    this.#beginFigures.callIsCorrected(before, call);
    this.#tables.calls.correct(call, { replaced, place: this.#enqueue('call', call.callId, nowMs) }, nowMs);
    this.#tables.pastCalls.drop(call.callId);
    // From now on D1 has the call, and the count is without it.
    if (countedAlone)
      this.#enqueue('failed_hour', this.#tables.failedHours.count(...countedOf(before, nowMs), -1), nowMs);
    this.corrections.note(call.callId, call.revision, nowMs);
    this.#dueNow().pruneMs ??= nowMs + ANSWER_RETENTION_MS;
  }

  /** What is stored of a call. `waits`: no projector has its last change. */
  #beforeChange({ callId }: Call): (CallBeforeChange & { waits: boolean }) | null {
    const stored = this.#tables.calls.beforeChange(callId);
    return stored && { ...stored, waits: this.#tables.outbox.hasCall(callId, stored.changePlace) };
  }

  /**
   * What D1 was sent to count of the call so far. If a change of it waits to be handed over still, that is what this one
   * replaced. `removed` is the call as it was, if the object has removed it.
   */
  #replacedBy(stored: (CallBeforeChange & { waits: boolean }) | null, removed?: Call): string | null {
    if (stored?.waits) return stored.replaced;
    const isOpen = stored?.status === 'IN_PROGRESS';
    const before = stored ? (JSON.parse(stored.record) as Call) : removed;
    const organizationId = this.account()?.organizationId;
    return !before || isOpen || organizationId === undefined ? null : countedBefore(organizationId, before);
  }

  /** Retries of the call get no stored answer any more. */
  dropAnswers(callId: CallId): void {
    this.#tables.calls.dropAnswersOf([callId]);
  }

  /** Open calls whose deadline has come, at most `rowsMax` of them. */
  callsPastDeadline(nowMs: number, rowsMax: number): Call[] {
    if ((this.#dueNow().deadlineMs ?? NEVER_MS) > nowMs) return [];
    const overdue = this.#tables.calls.pastDeadline(nowMs, this.#beginFigures.pastDeadline(nowMs), rowsMax);
    // The call whose deadline it was has ended: without a new deadline the alarm would fire again and again.
    if (overdue.length === 0) this.refreshDeadline();
    return overdue;
  }

  /** To be called when overdue calls have been finished: another call's deadline is next. */
  refreshDeadline(): void {
    this.#dueNow().deadlineMs = this.#nextDeadlineMs();
  }

  #nextDeadlineMs(): number | null {
    const times = [this.#beginFigures.nextDeadlineMs(), this.#tables.calls.nextDeadlineMs()];
    const nextMs = Math.min(...times.map((time) => time ?? NEVER_MS));
    return nextMs === NEVER_MS ? null : nextMs;
  }

  batchHold(requestName: string): BatchHold | null {
    return this.#exists ? this.#tables.batchHolds.find(requestName) : null;
  }

  saveBatchHold(requestName: string, hold: BatchHold, nowMs: number): void {
    this.#tables.batchHolds.save(requestName, hold, nowMs);
    const due = this.#dueNow();
    due.batchExpiryMs = this.#tables.batchHolds.nextExpiryMs();
    if (hold.expiresAtMs === null) due.pruneMs ??= nowMs + BATCH_HOLD_RETENTION_MS;
  }

  dropBatchHold(requestName: string): void {
    this.#tables.batchHolds.remove(requestName);
    this.#dueNow().batchExpiryMs = this.#tables.batchHolds.nextExpiryMs();
  }

  /** Batches that hold something. */
  countBatchHolds(): number {
    return this.#exists ? this.#tables.batchHolds.countStanding() : 0;
  }

  /** What batches hold whose time has come, at most `rowsMax` of them. */
  batchHoldsPastExpiry(nowMs: number, rowsMax: number): { requestName: string; hold: BatchHold }[] {
    return (this.#dueNow().batchExpiryMs ?? NEVER_MS) > nowMs ? [] : this.#tables.batchHolds.pastExpiry(nowMs, rowsMax);
  }

  /** Keeps what the vendor counted for the prompts of a call under a plan version. */
  rememberCounted(prompts: readonly CountedPrompt[], planVersionId: string, nowMs: number): void {
    this.#tables.countedPrompts.add({ prompts, planVersionId, atMs: nowMs });
  }

  /** The most tokens that each prompt can have by what vendors counted before; `null` if nothing is known of it. */
  promptTokens(prompts: readonly (PromptBeginnings | null)[], planVersionId: string, nowMs: number): (number | null)[] {
    const isFollowed = this.#exists && prompts.some((beginnings) => beginnings !== null);
    return isFollowed ? this.#tables.countedPrompts.tokensOf(prompts, planVersionId, nowMs) : prompts.map(() => null);
  }

  /** Calls whose figures are awaited. */
  countAwaited(): number {
    return this.#tables.awaitedFigures.count();
  }

  awaitedFigures(callId: CallId): AwaitedFigures | null {
    return this.#exists ? this.#tables.awaitedFigures.find(callId) : null;
  }

  saveAwaited(awaited: AwaitedFigures): void {
    this.#tables.awaitedFigures.save(awaited);
    this.#dueNow().figuresMs = this.#tables.awaitedFigures.nextDueMs();
  }

  dropAwaited(callId: CallId): void {
    this.#tables.awaitedFigures.remove(callId);
    this.#dueNow().figuresMs = this.#tables.awaitedFigures.nextDueMs();
  }

  /** Calls for whose figures a vendor is to be asked, at most `rowsMax` of them. */
  awaitedDue(nowMs: number, rowsMax: number): AwaitedFigures[] {
    const isDue = this.#exists && (this.#dueNow().figuresMs ?? NEVER_MS) <= nowMs;
    return isDue ? this.#tables.awaitedFigures.due(nowMs, rowsMax) : [];
  }

  /** What lists show of the customer beside the account. */
  figures(): CustomerFigures {
    return {
      periodCostNanoUsd: this.usageHours.costSince(this.#periodMs()),
      lastCallAtMs: this.#tables.calls.newestStartMs(),
    };
  }

  /** The start of the usage period. */
  #periodMs(): number {
    return this.account()?.subscription.lastReplenishedAtMs ?? 0;
  }

  /** The window of the plan's rolling limit; 0 if it has none. */
  #rollingMs(): number {
    return (this.account()?.subscription.plan.plan.rollingCalls?.windowSeconds ?? 0) * SECOND_MS;
  }

  /** The calls that began in a window of this length until now. */
  begunCalls(windowSeconds: number, nowMs: number): BegunCalls {
    return this.#exists ? this.#beginFigures.begun(windowSeconds, nowMs) : { windowSeconds, parts: [] };
  }

  /** What may hold something of the customer's. */
  openWork(): OpenWork {
    return { calls: this.countOpenCalls(), batches: this.countBatchHolds() };
  }

  countOpenCalls(): number {
    return this.#exists ? this.#beginFigures.openCalls() : 0;
  }

  recentCalls(rowsMax: number): Call[] {
    return this.#tables.calls.recent(rowsMax);
  }

  /** Costs of the customer's last calls, in nano-USD. */
  recentCosts(): bigint[] {
    return this.#exists ? this.#beginFigures.recentCosts() : [];
  }

  /** What the customer's last answers of the model came to of their bounds, in millionths. */
  boundShares(model: string): number[] {
    return this.#exists ? this.#tables.boundShares.find(model) : [];
  }

  addBoundShare(model: string, share: number, nowMs: number): void {
    this.#tables.boundShares.add(model, share, nowMs);
  }

  /** The newest call of the derived key with this payload, and the newest generation of that key. */
  derivedCall(hash: string, fingerprint: string): { call: StoredCall | null; newest: number } {
    if (!this.#exists) return { call: null, newest: 0 };
    const { callId, newest } = this.#tables.keys.findDerived(hash, fingerprint);
    return { call: callId === null ? null : this.#tables.calls.find(callId), newest };
  }

  saveDerivedKey(derived: DerivedKey, nowMs: number): void {
    this.#tables.keys.saveDerived(derived, nowMs);
  }

  idempotencyKey(operation: string, key: string, nowMs: number): UsedKey | null {
    const used = this.#exists ? this.#tables.keys.find(operation, key, nowMs) : null;
    return used?.answer ? { ...used, answer: this.#tables.forms.unpack(used.answer, '') } : used;
  }

  saveIdempotencyKey(operation: string, key: string, used: UsedKey, nowMs: number): void {
    const { answer } = used;
    const stored = { ...used, answer: answer && this.#tables.forms.pack(answer, '', nowMs) };
    this.#tables.keys.save(operation, key, stored, nowMs);
    this.#dueNow().pruneMs ??= nowMs + ANSWER_RETENTION_MS;
  }

  meterEvent(eventId: string): MeterEvent | null {
    return this.#tables.meterEvents.find(eventId);
  }

  saveMeterEvent(event: MeterEvent, nowMs: number): void {
    this.#tables.meterEvents.save(event);
    this.#dueNow().pruneMs ??= nowMs + METER_EVENT_RETENTION_MS;
    this.#enqueue('meter_event', event.eventId, nowMs);
  }

  /** Stores an event that was reversed, which is kept as long as a new one. */
  correctMeterEvent(event: MeterEvent, nowMs: number): void {
    this.#tables.meterEvents.correct(event, nowMs);
    this.corrections.note(event.eventId, event.revision, nowMs);
    this.#dueNow().pruneMs ??= nowMs + METER_EVENT_RETENTION_MS;
    this.#enqueue('meter_event', event.eventId, nowMs);
  }

  saveCharge(charge: OpenCharge): void {
    this.#tables.charges.save(charge);
    this.#dueNow().settleMs = this.#tables.charges.nextDueMs();
  }

  charge(chargeId: string): OpenCharge | null {
    return this.#tables.charges.find(chargeId);
  }

  /** The charges of a call or an increment that the billing provider is told of, the oldest first. */
  reportedCharges(subject: Pick<OpenCharge, 'kind' | 'subjectId'>): OpenCharge[] {
    return this.#tables.charges.reportedOf(subject);
  }

  /** Charges that the billing provider does not take, the newest first. */
  failedCharges(rowsMax: number): OpenCharge[] {
    return this.#tables.charges.failed(rowsMax);
  }

  /** Charges that the balance has not paid. */
  chargesToDebit(rowsMax: number): OpenCharge[] {
    return this.#exists && this.#dueNow().settleMs !== null ? this.#tables.charges.toDebit(rowsMax) : [];
  }

  /** Charges to be reported that the balance has paid. */
  chargesToReport(nowMs: number, rowsMax: number): OpenCharge[] {
    return this.#exists && (this.#dueNow().settleMs ?? NEVER_MS) <= nowMs
      ? this.#tables.charges.toReport(nowMs, rowsMax)
      : [];
  }

  dropCharge(chargeId: string): void {
    this.#tables.charges.drop(chargeId);
    this.#dueNow().settleMs = this.#tables.charges.nextDueMs();
  }

  countCharges(): number {
    return this.#tables.charges.count();
  }

  /** The oldest changes that no projector has. */
  outboxPage(changesMax: number): OutboxPage {
    if (!this.#exists) return { rows: [], place: 0, sinceMs: null, more: false };
    const page = this.#tables.outbox.page(changesMax);
    if (!page.more) this.#newSinceMs = null;
    return page;
  }

  outboxState(): { pending: number; oldestMs: number | null } {
    return this.#tables.outbox.state();
  }

  /**
   * A projector has a page, and the row that lists show if that left with it. It is forgotten by an object that stops before
   * its next transaction: the page is handed over again then.
   */
  handedOver({ place, more }: OutboxPage, nowMs: number): void {
    this.#tables.outbox.handedOver(place);
    const row = this.listedRow;
    row.arrived(nowMs);
    const sinceMs = this.#newSinceMs ?? row.owedSinceMs;
    if (!more) this.#dueNow().outboxMs = sinceMs === null ? null : sinceMs + OUTBOX_ALARM_MS;
  }

  /** The row that lists show of the customer, who exists. */
  get listedRow(): ListedRow {
    return this.#openListedRow();
  }

  /** To be called before the first change, because what D1 has of the row is what it was then. */
  #openListedRow(): ListedRow {
    this.#listedRow ??= new ListedRow({ account: this.account(), waitingSinceMs: this.#tables.outbox.oldestMs() });
    return this.#listedRow;
  }

  /**
   * For an object that may be gone before its next transaction: forgets what was handed over, and moves the alarm to what
   * is due then, so that no alarm opens the object again for nothing.
   */
  rest(nowMs: number): void {
    if (!this.#tables.outbox.hasHandedOver || this.#newSinceMs !== null) return;
    // The deadline that is known may be that of a call that has ended.
    this.#due = undefined;
    this.transaction(nowMs, () => undefined);
    const alarmMs = this.#nextAlarm(nowMs);
    if (alarmMs !== this.#alarmMs) this.#setAlarm(alarmMs);
  }

  hasOpenCalls(): boolean {
    return this.#exists && this.#nextDeadlineMs() !== null;
  }

  delivery(): Delivery {
    if (!this.#exists) return { failures: 0, dueAtMs: null, lastError: null };
    this.#delivery ??= this.#tables.outbox.delivery();
    return this.#delivery;
  }

  /** The database of the organization; `null` until it is known. */
  historyDatabase(): DatabaseName | null {
    if (this.#historyDatabase === undefined) this.#historyDatabase = this.#tables.outbox.historyDatabase();
    return this.#historyDatabase;
  }

  saveHistoryDatabase(name: DatabaseName): void {
    this.#tables.outbox.saveHistoryDatabase(name);
    this.#historyDatabase = name;
  }

  saveDelivery(delivery: Delivery): void {
    this.#tables.outbox.saveDelivery(delivery);
    this.#delivery = delivery;
    this.#dueNow().outboxMs = this.#outboxDueMs();
  }

  /** Removes a bounded number of rows that are past their retention. */
  prune(nowMs: number): void {
    if ((this.#dueNow().pruneMs ?? NEVER_MS) <= nowMs)
      this.#dueNow().pruneMs = prune(this.#tables, { periodMs: this.#periodMs(), rollingMs: this.#rollingMs(), nowMs });
  }

  #pruneBy(atMs: number): void {
    const due = this.#dueNow();
    due.pruneMs = Math.min(due.pruneMs ?? NEVER_MS, atMs);
  }

  /** Records a change that is to be handed over soon. Returns its place in the outbox. */
  #enqueue(kind: ChangeKind, id: string, nowMs: number): number {
    this.#hasUrgentChanges = true;
    return this.#record(kind, id, nowMs, false);
  }

  /** Records a change. One that may wait goes with the next one that is handed over, or by the alarm. Returns its place. */
  #record(kind: ChangeKind, id: string, nowMs: number, mayWait: boolean): number {
    this.listedRow.changed(nowMs);
    const place = this.#tables.outbox.add(kind, id, nowMs, { mayWait });
    this.#dueNow().outboxMs ??= nowMs + OUTBOX_ALARM_MS;
    this.#newSinceMs ??= nowMs;
    this.#hasNewChanges = true;
    return place;
  }

  /** When the alarm is to hand changes over. */
  #outboxDueMs(): number | null {
    const oldestMs = this.#tables.outbox.oldestMs() ?? this.#listedRow?.owedSinceMs ?? null;
    return oldestMs === null ? null : (this.delivery().dueAtMs ?? oldestMs + OUTBOX_ALARM_MS);
  }

  #nextAlarm(nowMs: number): number | null {
    const expiryMs = nextExpiryMs(this.account()?.wallet ?? EMPTY_WALLET, nowMs);
    return nextAlarm({ ...this.#dueNow(), expiryMs }, nowMs);
  }

  #dueNow(): KnownDue {
    this.#due ??= {
      outboxMs: this.#outboxDueMs(),
      deadlineMs: this.#nextDeadlineMs(),
      batchExpiryMs: this.#tables.batchHolds.nextExpiryMs(),
      figuresMs: this.#tables.awaitedFigures.nextDueMs(),
      replenishMs: replenishmentOf(this.account()),
      settleMs: this.#tables.charges.nextDueMs(),
      pruneMs: nextPruneMs(this.#tables),
      rewriteMs: this.#schema.hasUnfinished ? this.#rewriteMs : null,
    };
    return this.#due;
  }

  /** Sets the alarm to what is due next, as a part of the transaction. */
  #arm(nowMs: number): void {
    const alarmMs = this.#nextAlarm(nowMs);
    if (alarmMs === this.#alarmMs) return;
    // An alarm that fires early finds nothing due and sets the right one. That costs less than moving it each time.
    if (this.#alarmMs != null && alarmMs !== null && this.#alarmMs < alarmMs) return;
    this.#setAlarm(alarmMs);
  }

  #setAlarm(alarmMs: number | null): void {
    if (alarmMs === null) void this.#storage.deleteAlarm();
    else void this.#storage.setAlarm(alarmMs);
    this.#alarmMs = alarmMs;
  }
}

function replenishmentOf(account: Account | null): number | null {
  const atMs = account?.subscription.nextReplenishAtMs ?? NEVER_MS;
  return atMs < NEVER_MS ? atMs : null;
}

/** In which hour a call counts, and whether it lacks a price. */
function countedOf({ finishedAtMs, outcome }: Call, nowMs: number): [atMs: number, isUnpriced: boolean] {
  return [finishedAtMs ?? nowMs, outcome?.price.status !== 'FINAL'];
}
