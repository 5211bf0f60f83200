/**
 * The commands of a customer's object: each loads, lets the domain decide, and applies, in one synchronous transaction.
 *
 * Every command first looks for a stored answer, then brings the account up to the present (a period that ended, calls
 * past their deadline), and only then does its own work. A refusal writes nothing of its own.
 */
import { type BeginCallData, DERIVED_PREFIX, type EndCallData } from '../../src/contract/calls.ts';
import type { ChangePlanData, CustomerUsageData, ProvisionCustomerData } from '../../src/contract/customers.ts';
import { type Accepted, type Answer, accept, refuse } from '../../src/contract/errors.ts';
import type { OperatorCustomer } from '../../src/contract/operator.ts';
import {
  type Account,
  changePlan,
  fillContact,
  isCanceled,
  openAccount,
  replenishDue,
  replenishNow,
  setCanceled,
  updateContact,
} from '../../src/domain/account.ts';
import { beginCall, type Call, canEnd, endCall, refuseCall, timeOutCall } from '../../src/domain/call.ts';
import { usdFromNano } from '../../src/domain/money.ts';
import type { PricingMode } from '../../src/domain/pricing.ts';
import { presentBegin, presentCustomer, presentEnd } from './present.ts';
import type {
  BeginCommand,
  ChangePlanCommand,
  EndCommand,
  ProvisionCommand,
  Provisioning,
  ReadUsageCommand,
  ReplenishCommand,
  SetCanceledCommand,
} from './protocol.ts';
import { CALL_RETENTION_MS, type CustomerStore } from './store.ts';
import type { StoredCall } from './tables/calls.ts';
import type { DerivedKey } from './tables/keys.ts';

/** What a command knows of its surroundings. */
export interface Context {
  store: CustomerStore;
  /** The object's own id, hexadecimal: derived call ids carry it. */
  objectId: string;
  deadlineSeconds: Record<PricingMode, number>;
  nowMs: number;
  newId: () => string;
}

/** A derived key replays only an earlier begin that is younger than this. */
const DERIVED_REPLAY_MS = 60_000;
/** Calls past their deadline that one command finishes at most; the alarm goes on with the rest. */
const TIMEOUTS_MAX = 200;
const RECENT_CALLS_MAX = 20;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function begin(context: Context, command: BeginCommand): Answer<BeginCallData> {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const earlier = earlierBegin(context, command);
    if (earlier.answer) return earlier.answer;
    const { callId, derived } = earlier;

    const opened = openOrLoad(context, command);
    if (!opened) return noDefaultPlan();
    const account = opened.newCustomer ? opened.account : fillContact(opened.account, command.contact);

    const rollingPlan = account.subscription.plan.plan.rollingCalls;
    const begunInWindow = rollingPlan ? store.callsBegunSince(nowMs - rollingPlan.windowSeconds * 1000) : null;
    if (rollingPlan && begunInWindow && begunInWindow.count >= rollingPlan.limit) {
      const freeAtMs = (begunInWindow.oldestMs ?? nowMs) + rollingPlan.windowSeconds * 1000;
      const retryAfterSeconds = Math.max(1, Math.ceil((freeAtMs - nowMs) / 1000));
      const message = `the plan allows ${rollingPlan.limit} calls in ${rollingPlan.windowSeconds} seconds`;
      return refuse('RATE_LIMITED', message, { retryAfterSeconds, members: { retryAfterSeconds } });
    }

    const deadlineAtMs = nowMs + context.deadlineSeconds[command.request.pricingMode] * 1000;
    const begun = beginCall(account, callId, command.request, deadlineAtMs, nowMs);
    const rolling =
      rollingPlan && begunInWindow
        ? {
            ...rollingPlan,
            used: begunInWindow.count + (begun.call.status === 'IN_PROGRESS' ? 1 : 0),
            oldestMs: begunInWindow.oldestMs ?? nowMs,
          }
        : null;
    const facts = { begun, newCustomer: opened.newCustomer, source: command.key.source, rolling };
    const hint =
      command.key.source === 'derived'
        ? 'send an Idempotency-Key for each logical call, so that retries are certain to be free'
        : undefined;
    const answer = accept('CALL_BEGIN_SUCCESS', presentBegin(facts, command), nowMs, hint);
    store.saveAccount(begun.account, nowMs);
    store.insertCall(begun.call, command.fingerprint, JSON.stringify(answer), nowMs);
    if (derived) store.saveDerivedKey(derived, nowMs);
    return answer;
  });
}

/** The stored answer of the same begin, or the id of the call to begin. */
function earlierBegin(
  { store, objectId, nowMs }: Context,
  { key, fingerprint }: BeginCommand,
): { answer: Answer<BeginCallData> } | { answer: null; callId: string; derived: DerivedKey | null } {
  if (key.source === 'derived') {
    const stored = store.derivedCall(key.hash, fingerprint);
    if (stored && isLiveReplay(stored, nowMs)) return { answer: replay(stored.beginAnswer) };
    // Never below the present, so that a generation stays unique after its row is gone.
    const generation = Math.max(store.derivedGeneration(key.hash) + 1, nowMs);
    const callId = `${DERIVED_PREFIX}${objectId}-${key.hash}-${generation.toString(36)}`;
    return { answer: null, callId, derived: { hash: key.hash, fingerprint, generation, callId } };
  }
  const stored = store.call(key.callId);
  if (!stored) {
    const forgotten = nowMs - key.claimedAtMs > CALL_RETENTION_MS;
    return forgotten ? { answer: keyUsedUp() } : { answer: null, callId: key.callId, derived: null };
  }
  if (stored.beginFingerprint !== fingerprint) return { answer: keyConflict() };
  return { answer: stored.beginAnswer === null ? keyUsedUp() : replay(stored.beginAnswer) };
}

function isLiveReplay({ call, beginAnswer }: StoredCall, nowMs: number): boolean {
  const live = call.status === 'IN_PROGRESS' && nowMs - call.startedAtMs < DERIVED_REPLAY_MS && nowMs < call.deadlineAtMs;
  return live && beginAnswer !== null;
}

/**
 * Takes back a begin whose call id turned out to be another customer's: the call is not allowed, what it held is free,
 * and its answer is never replayed.
 */
export function voidCall({ store, nowMs }: Context, organizationId: string, callId: string): void {
  store.transaction(nowMs, () => {
    const account = store.account();
    const stored = store.call(callId);
    if (!account || account.organizationId !== organizationId || stored?.call.status !== 'IN_PROGRESS') return;
    const voided = refuseCall(account, stored.call, nowMs);
    store.saveAccount(voided.account, nowMs);
    store.finishCall(voided.call, null, nowMs);
    store.dropAnswers(callId);
  });
}

export function end(context: Context, command: EndCommand): Answer<EndCallData> {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const known = store.account();
    if (!known || known.organizationId !== command.organizationId) return callNotFound();
    const account = catchUp(context, known);
    const stored = store.call(command.callId);
    const keyed = command.idempotencyKey === null ? null : store.idempotencyKey('end', command.idempotencyKey);
    if (keyed && keyed.callId !== command.callId) return keyConflict();
    if (!stored) return callNotFound();
    // A mode that is spelled out is the same payload as the same mode carried over from begin.
    const fingerprint = `${command.fingerprint}:${command.request.pricingMode ?? stored.call.pricingMode}`;
    if (keyed && keyed.fingerprint !== fingerprint) return keyConflict();
    if (!canEnd(stored.call)) {
      const same = stored.endFingerprint === fingerprint;
      if (same && stored.endAnswer !== null) return replay<EndCallData>(stored.endAnswer);
      return alreadyFinalized(stored.call);
    }

    const ended = endCall(account, stored.call, command.request, command.price, nowMs);
    const { outcome } = ended.call;
    if (!outcome) throw new Error('an ended call has an outcome');
    const costNanoUsd = outcome.price.status === 'FINAL' ? BigInt(outcome.price.costNanoUsd) : 0n;
    const failed = outcome.error !== null;
    store.usageHours.add(nowMs, {
      completedCalls: failed ? 0 : 1,
      failedCalls: failed ? 1 : 0,
      inputTokens: outcome.usage.inputTokens,
      outputTokens: outcome.usage.responseTokens,
      completedCostNanoUsd: failed ? 0n : costNanoUsd,
      failedCostNanoUsd: failed ? costNanoUsd : 0n,
    });
    const velocity = {
      hour: store.usageHours.completedBetween(nowMs - (nowMs % HOUR_MS), nowMs + HOUR_MS),
      day: store.usageHours.completedBetween(nowMs - (nowMs % DAY_MS), nowMs + DAY_MS),
    };
    const answer = accept('CALL_END_SUCCESS', presentEnd(ended.account, ended.call, outcome, velocity), nowMs);
    store.saveAccount(ended.account, nowMs);
    store.finishCall(ended.call, { fingerprint, answer: JSON.stringify(answer) }, nowMs);
    if (command.idempotencyKey !== null) {
      const used = { fingerprint, callId: command.callId, answer: null };
      store.saveIdempotencyKey('end', command.idempotencyKey, used, nowMs);
    }
    return answer;
  });
}

export function provision(context: Context, command: ProvisionCommand): Answer<ProvisionCustomerData> {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const key = command.idempotencyKey;
    const keyed = key === null ? null : store.idempotencyKey('provision', key);
    if (keyed) return keyed.fingerprint === command.fingerprint ? replay<ProvisionCustomerData>(keyed.answer) : keyConflict();
    const opened = openOrLoad(context, command);
    if (!opened) return noDefaultPlan();
    const account = opened.newCustomer ? opened.account : updateContact(opened.account, command.contact);
    const data = { ...presentCustomer(account, command.models), newCustomer: opened.newCustomer };
    const answer = accept('CUSTOMER_READY', data, nowMs);
    if (account !== store.account()) store.saveAccount(account, nowMs);
    if (key !== null) {
      const used = { fingerprint: command.fingerprint, callId: null, answer: JSON.stringify(answer) };
      store.saveIdempotencyKey('provision', key, used, nowMs);
    }
    return answer;
  });
}

export function switchPlan(context: Context, command: ChangePlanCommand): Answer<ChangePlanData> {
  return changeSubscription(context, command, 'change_plan', 'PLAN_CHANGED', (account) =>
    changePlan(account, command.target, command.strategy, context.nowMs),
  );
}

export function replenish(context: Context, command: ReplenishCommand): Answer<ChangePlanData> {
  return changeSubscription(context, command, 'replenish', 'CUSTOMER_REPLENISHED', (account) => replenishNow(account, context.nowMs));
}

/** A keyed change of a live subscription. A canceled one, and one that never was, are not there to be changed. */
function changeSubscription(
  context: Context,
  command: ReplenishCommand,
  operation: string,
  code: string,
  change: (account: Account) => Account,
): Answer<ChangePlanData> {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const key = command.idempotencyKey;
    const keyed = key === null ? null : store.idempotencyKey(operation, key);
    if (keyed) return keyed.fingerprint === command.fingerprint ? replay<ChangePlanData>(keyed.answer) : keyConflict();
    const known = store.account();
    if (!known || known.organizationId !== command.organizationId || isCanceled(known)) {
      return refuse('SUBSCRIPTION_NOT_FOUND', 'the customer has no active subscription');
    }
    const account = catchUp(context, known);
    const changed = change(account);
    if (changed !== account) store.saveAccount(changed, nowMs);
    const answer = accept(code, { success: true as const, subscription: presentCustomer(changed, command.models).subscription }, nowMs);
    if (key !== null) {
      const used = { fingerprint: command.fingerprint, callId: null, answer: JSON.stringify(answer) };
      store.saveIdempotencyKey(operation, key, used, nowMs);
    }
    return answer;
  });
}

export function readUsage(context: Context, command: ReadUsageCommand): Answer<CustomerUsageData> {
  return withAccount(context, command, (account) => presentCustomer(account, command.models), 'CUSTOMER_READY');
}

/** The facts of a call, or `null` where this object has no such call of the organization. */
export function readCall(context: Context, organizationId: string, callId: string): Call | null {
  return context.store.transaction(context.nowMs, () => {
    const known = context.store.account();
    if (!known || known.organizationId !== organizationId) return null;
    catchUp(context, known);
    return context.store.call(callId)?.call ?? null;
  });
}

export function cancelOrReactivate(context: Context, command: SetCanceledCommand): Answer<CustomerUsageData> {
  const code = command.canceled ? 'CUSTOMER_CANCELED' : 'CUSTOMER_REACTIVATED';
  return withAccount(
    context,
    command,
    (account) => {
      const changed = setCanceled(account, command.canceled, context.nowMs);
      if (changed !== account) context.store.saveAccount(changed, context.nowMs);
      return presentCustomer(changed, command.models);
    },
    code,
  );
}

export function inspect(context: Context, command: ReadUsageCommand): Answer<OperatorCustomer> {
  const { store } = context;
  const present = (account: Account): OperatorCustomer => {
    const { pending, oldestMs } = store.outboxState();
    const { failures, lastError } = store.delivery();
    return {
      ...presentCustomer(account, command.models),
      organizationId: account.organizationId,
      createdAt: iso(account.createdAtMs),
      openCalls: store.countOpenCalls(),
      recentCalls: store.recentCalls(RECENT_CALLS_MAX).map(presentRecent),
      outbox: { pending, oldestAt: oldestMs === null ? null : iso(oldestMs), failures, lastError },
    };
  };
  return withAccount(context, command, present, 'CUSTOMER_READ');
}

/** Work that is due without a request: a new period, calls past their deadline, rows past their retention. */
export function housekeep(context: Context): void {
  const { store, nowMs } = context;
  store.transaction(nowMs, () => {
    const account = store.account();
    if (!account) return;
    catchUp(context, account);
    store.prune(nowMs);
  });
}

function withAccount<Data>(
  context: Context,
  { organizationId }: ReadUsageCommand,
  present: (account: Account) => Data,
  code: string,
): Answer<Data> {
  return context.store.transaction(context.nowMs, () => {
    const known = context.store.account();
    if (!known || known.organizationId !== organizationId) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
    return accept(code, present(catchUp(context, known)), context.nowMs);
  });
}

/** The account as of now. What changed by the passing of time is stored. */
function catchUp({ store, nowMs }: Context, known: Account): Account {
  let account = replenishDue(known, nowMs);
  const overdue = store.callsPastDeadline(nowMs, TIMEOUTS_MAX);
  for (const call of overdue) {
    const timedOut = timeOutCall(account, call);
    account = timedOut.account;
    store.finishCall(timedOut.call, null, nowMs);
  }
  if (account !== known) store.saveAccount(account, nowMs);
  if (overdue.length > 0) store.refreshDeadline();
  return account;
}

function openOrLoad(context: Context, command: Provisioning): { account: Account; newCustomer: boolean } | null {
  const known = context.store.account();
  if (known) return { account: catchUp(context, known), newCustomer: false };
  if (!command.defaultPlan) return null;
  const { organizationId, customerId, contact, defaultPlan } = command;
  const account = openAccount({ organizationId, customerId, subscriptionId: context.newId(), plan: defaultPlan, contact }, context.nowMs);
  return { account, newCustomer: true };
}

function presentRecent(call: Call): OperatorCustomer['recentCalls'][number] {
  const price = call.outcome?.price;
  return {
    callId: call.callId,
    status: call.status,
    startTime: iso(call.startedAtMs),
    endTime: call.finishedAtMs === null ? null : iso(call.finishedAtMs),
    providerUsed: call.outcome?.providerUsed ?? null,
    modelUsed: call.outcome?.modelUsed ?? null,
    costUSD: price?.status === 'FINAL' ? usdFromNano(BigInt(price.costNanoUsd)) : null,
  };
}

function replay<Data>(answer: string | null): Accepted<Data> {
  if (answer === null) throw new Error('a replay needs a stored answer');
  return { ...(JSON.parse(answer) as Accepted<Data>), replayed: true };
}

const keyConflict = () => refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');
const keyUsedUp = () => refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key belongs to a call that finished more than 48 hours ago');
const callNotFound = () => refuse('CALL_NOT_FOUND', 'no such call');
const noDefaultPlan = () =>
  refuse('SUBSCRIPTION_NOT_FOUND', 'the customer has no subscription, and the organization has no default plan to start one with');

function alreadyFinalized({ status }: Call) {
  return refuse('CALL_ALREADY_FINALIZED', `the call is ${status} and was ended with another payload or never allowed`, {
    members: { status },
  });
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
