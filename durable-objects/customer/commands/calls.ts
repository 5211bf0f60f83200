/**
 * The commands of a call's life: begin, void, end, read, and both ends at once for a call that ran already.
 */
import { type BeginCallData, DERIVED_PREFIX, type EndCallData } from '../../../src/contract/calls.ts';
import { type Answer, accept, answerText, refuse, sent } from '../../../src/contract/errors.ts';
import { type Account, fillContact } from '../../../src/domain/account.ts';
import { admitCall, beginCall, type Call, canEnd, endCall, refuseCall } from '../../../src/domain/call.ts';
import { type BeginFacts, presentBegin, presentEnd } from '../present.ts';
import type { BeginCommand, EndCommand, KeptAnswer, OpenedCall } from '../protocol.ts';
import { CALL_RETENTION_MS } from '../store.ts';
import type { DerivedKey } from '../tables/keys.ts';
import { type Context, catchUp, keyConflict, keyUsedUp, noDefaultPlan, openOrLoad, replay } from './context.ts';
import { queueCharge } from './settlement.ts';

/** A derived key replays only an earlier begin that is younger than this. */
const DERIVED_REPLAY_MS = 60_000;
const KEY_HINT = 'send an Idempotency-Key for each logical call, so that retries are certain to be free';

export function begin(context: Context, command: BeginCommand): Answer<BeginCallData> {
  return context.store.transaction(context.nowMs, () => beginOrReplay(context, command).answer);
}

/**
 * A begin whose caller goes on to make the call itself: with the state of the call, and what was kept of it. The command
 * that opened the call may be sent again, because its answer was lost: to whoever sent it, that is no replay.
 */
export function open(context: Context, command: BeginCommand): OpenedCall {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const { answer: begin, call } = beginOrReplay(context, command);
    if (!begin.ok || !call) return { begin: sent(begin), status: null, kept: null };
    const isOpener = call.openedBy !== undefined && call.openedBy === command.request.openedBy;
    if (isOpener) return { begin: { ...sent(begin), replayed: false }, status: call.status, kept: null };
    return { begin: sent(begin), status: call.status, kept: begin.replayed ? store.keptAnswer(call.callId) : null };
  });
}

/** Both ends of a call that ran already: it is admitted whatever is left, because what it used was used. */
export function record(context: Context, command: BeginCommand, toEnd: Omit<EndCommand, 'callId'>): Answer<EndCallData> {
  return context.store.transaction(context.nowMs, () => {
    const { answer: begun } = beginOrReplay(context, command, true);
    return begun.ok ? endOrReplay(context, { ...toEnd, callId: begun.data.callId }) : begun;
  });
}

/** The answer of a begin, and the call that it made or found. */
interface Began {
  answer: Answer<BeginCallData>;
  call: Call | null;
}

function beginOrReplay(context: Context, command: BeginCommand, ranAlready = false): Began {
  const { store, nowMs } = context;
  const earlier = earlierBegin(context, command);
  if (earlier.answer) return earlier;
  const { callId, derived } = earlier;

  const opened = openOrLoad(context, command);
  if (!opened) return refused(noDefaultPlan());
  const account = opened.newCustomer ? opened.account : fillContact(opened.account, command.contact);
  const rolling = rollingWindow(context, account);
  if (rolling && rolling.used >= rolling.limit && !ranAlready) return refused(rateLimited(rolling, nowMs));

  const deadlineMs = context.deadlineSeconds[command.request.pricingMode] * 1000;
  const deadlineAtMs = nowMs + Math.min(deadlineMs, command.deadlineMs ?? deadlineMs);
  const decided = beginCall(account, callId, command.request, deadlineAtMs, nowMs);
  const begun = ranAlready ? admitCall(decided) : decided;
  const counted = rolling && { ...rolling, used: rolling.used + (begun.call.status === 'IN_PROGRESS' ? 1 : 0) };
  const source = command.key.source === 'explicit' ? 'explicit' : 'derived';
  const facts: BeginFacts = { begun, newCustomer: opened.newCustomer, source, rolling: counted };
  const answer = accept('CALL_BEGIN_SUCCESS', presentBegin(facts, command), nowMs, source === 'derived' ? KEY_HINT : undefined);
  store.saveAccount(begun.account, nowMs);
  const text = answerText(answer);
  store.insertCall(begun.call, command.fingerprint, text, nowMs);
  if (derived) store.saveDerivedKey(derived, nowMs);
  return { answer: { ...answer, text }, call: begun.call };
}

const refused = (answer: Answer<BeginCallData>): Began => ({ answer, call: null });

/** The state of the plan's rolling limit; `null` where the plan has none. */
function rollingWindow({ store, nowMs }: Context, account: Account): BeginFacts['rolling'] {
  const { rollingCalls } = account.subscription.plan.plan;
  if (!rollingCalls) return null;
  const { count, oldestMs } = store.callsBegunSince(nowMs - rollingCalls.windowSeconds * 1000);
  return { ...rollingCalls, used: count, oldestMs: oldestMs ?? nowMs };
}

function rateLimited({ limit, windowSeconds, oldestMs }: NonNullable<BeginFacts['rolling']>, nowMs: number) {
  const retryAfterSeconds = Math.max(1, Math.ceil((oldestMs + windowSeconds * 1000 - nowMs) / 1000));
  const message = `the plan allows ${limit} calls in ${windowSeconds} seconds`;
  return refuse('RATE_LIMITED', message, { retryAfterSeconds, members: { retryAfterSeconds } });
}

/** The stored answer of the same begin, or the id of the call to begin. */
function earlierBegin(
  { store, objectId, nowMs }: Context,
  { key, fingerprint }: BeginCommand,
): Began | { answer: null; callId: string; derived: DerivedKey | null } {
  if (key.source === 'derived') {
    const { newest, call: stored } = store.derivedCall(key.hash, fingerprint);
    const answer = stored && isLive(stored.call, nowMs) ? store.answer(stored.call.callId, 'begin') : null;
    if (stored && answer !== null) return { answer: replay(answer), call: stored.call };
    // Never below the present, so that a generation stays unique after its row is gone.
    const generation = Math.max(newest + 1, nowMs);
    const callId = `${DERIVED_PREFIX}${objectId}-${key.hash}-${generation.toString(36)}`;
    return { answer: null, callId, derived: { hash: key.hash, fingerprint, generation, callId } };
  }
  const callId = key.source === 'request' ? `${DERIVED_PREFIX}${objectId}-${key.requestId}` : key.callId;
  const stored = store.call(callId);
  if (!stored) {
    const forgotten = key.source === 'explicit' && nowMs - key.claimedAtMs > CALL_RETENTION_MS;
    return forgotten ? refused(keyUsedUp()) : { answer: null, callId, derived: null };
  }
  if (stored.beginFingerprint !== fingerprint) return refused(keyConflict());
  const answer = store.answer(callId, 'begin');
  return answer === null ? refused(keyUsedUp()) : { answer: replay(answer), call: stored.call };
}

/** Whether a derived key still replays the call. */
function isLive({ status, startedAtMs, deadlineAtMs }: Call, nowMs: number): boolean {
  return status === 'IN_PROGRESS' && nowMs - startedAtMs < DERIVED_REPLAY_MS && nowMs < deadlineAtMs;
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
  return context.store.transaction(context.nowMs, () => endOrReplay(context, command));
}

function endOrReplay(context: Context, command: EndCommand): Answer<EndCallData> {
  const { store, nowMs } = context;
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
    const answer = stored.endFingerprint === fingerprint ? store.answer(command.callId, 'end') : null;
    if (answer !== null) return replay<EndCallData>(answer);
    return alreadyFinalized(stored.call);
  }

  const ended = endCall(account, stored.call, command.request, command.price, context.newId(), nowMs);
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
    unpricedCalls: outcome.price.status === 'FINAL' ? 0 : 1,
  });
  const answer = accept('CALL_END_SUCCESS', presentEnd(ended.account, ended.call, outcome, store.usageHours.velocity(nowMs)), nowMs);
  store.saveAccount(ended.account, nowMs);
  const text = answerText(answer);
  store.finishCall(ended.call, { fingerprint, answer: text }, nowMs);
  if (command.keep !== undefined) {
    const kept: KeptAnswer = { endedAtMs: nowMs, end: answer.data, keep: command.keep };
    store.keepAnswer(command.callId, JSON.stringify(kept));
  }
  queueCharge(
    store,
    { kind: 'call', subjectId: command.callId, stripeCustomerId: outcome.stripeCustomerId, charge: outcome.charge },
    nowMs,
  );
  if (command.idempotencyKey !== null) {
    const used = { fingerprint, callId: command.callId, answer: null };
    store.saveIdempotencyKey('end', command.idempotencyKey, used, nowMs);
  }
  return { ...answer, text };
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

const callNotFound = () => refuse('CALL_NOT_FOUND', 'no such call');
function alreadyFinalized({ status }: Call) {
  return refuse('CALL_ALREADY_FINALIZED', `the call is ${status} and was ended with another payload or never allowed`, {
    members: { status },
  });
}
