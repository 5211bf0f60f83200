/**
 * The commands of calls that applications make: begin, void, end, read. Those of calls that the service makes itself
 * are in `service-calls.ts`.
 */

import type { BeginCallData } from '../../../src/contract/calls.ts';
import { presentFigures, sumsSentence } from '../../../src/contract/denial.ts';
import {
  accept,
  answerText,
  closedByLimit,
  closedOnCredit,
  HELD_RETRY_SECONDS,
  type Refused,
  refuse,
  tooManyAnswers,
} from '../../../src/contract/errors.ts';
import { closedFeature } from '../../../src/contract/key-limits.ts';
import { type Left, ROLLING_LIMIT } from '../../../src/contract/limit-headers.ts';
import type { AnswerTo, RefusalTo } from '../../../src/contract/operations.ts';
import { type Account, fillContact } from '../../../src/domain/account.ts';
import { answersBeyond } from '../../../src/domain/allowance-bound.ts';
import { beginCall, type CallDecision, extendSteps, outputTokensByTier } from '../../../src/domain/begin-call.ts';
import { atLeastCount, type CallBound, withKnownPrompts } from '../../../src/domain/bound.ts';
import { type Call, canEnd, refuseCall } from '../../../src/domain/call.ts';
import { type RecordedDenial, withOpenWork } from '../../../src/domain/denial.ts';
import { expectedCharge } from '../../../src/domain/expected-hold.ts';
import type { BoundAndStep } from '../../../src/domain/hold.ts';
import { usualCharge } from '../../../src/domain/hold.ts';
import type { CallId, OrganizationId } from '../../../src/domain/ids.ts';
import { addBegun, type BegunCalls, readWindow } from '../../../src/domain/rolling-window.ts';
import type { Tier } from '../../../src/domain/tiers.ts';
import { firstDenial } from '../../../src/events/customer-events.ts';
import type {
  Admission,
  BeginCommand,
  EndCommand,
  ExtendedHold,
  ExtendHoldCommand,
  RefusedBegin,
} from '../../../src/objects/customer-commands.ts';
import { keyCallId, readDerivedCallId, requestCallId } from '../../../src/objects/derived-call-id.ts';
import { DENIALS_MAX, DENIALS_WINDOW_SECONDS } from '../denials.ts';
import {
  type BeginFacts,
  presentBegin,
  presentEnd,
  presentLeft,
  presentRolling,
  type RollingState,
} from '../present.ts';
import { ANSWER_RETENTION_MS } from '../retention.ts';
import type { DerivedKey } from '../tables/keys.ts';
import { isSamePayload } from '../tables/past-calls.ts';
import {
  type Context,
  catchUp,
  claimFirst,
  claimsStripe,
  keyConflict,
  keyUsedUp,
  noDefaultPlan,
  openOrLoad,
  replay,
  storageFull,
} from './context.ts';
import { type Ended, recordEnd } from './ending.ts';

/** A derived key replays a begin only for this long. */
const DERIVED_REPLAY_MS = 60_000;
const KEY_HINT = 'send an Idempotency-Key for each logical call, so that retries are certain to be free';
/** Why the end of a call with a derived key may be the second one. */
const SHARED_KEY_HINT = `begins without an idempotency key and with the same payload are one call while it is in progress and younger than ${DERIVED_REPLAY_MS / 1000} seconds, and it ends once: send an Idempotency-Key of its own with each begin`;

/** The call that a begin made or found. */
export interface BeginOutcome {
  ok: true;
  call: Call;
  replayed: boolean;
  admission: Admission;
  /** The whole answer; of a new begin with its text, as it is stored. */
  answer: Extract<AnswerTo<'beginCall'>, { ok: true }>;
}

export function begin(context: Context, command: BeginCommand): AnswerTo<'beginCall'> {
  return context.store.transaction(context.nowMs, () => {
    const past =
      command.key.source === 'explicit' ? replayPast(context, command.key.callId, command.fingerprint) : null;
    if (past) return past;
    const outcome = beginOrReplay(context, command);
    if (outcome.ok) return outcome.answer;
    // The gateway alone refuses what is held, with `beginServiceCall`.
    return outcome as Refused<RefusalTo<'beginCall'>>;
  });
}

/** `admit` admits a call that ran already, whatever is left: its usage has happened. The account is the one before. */
export function beginOrReplay(
  context: Context,
  command: BeginCommand,
  admit?: (account: Account, decision: CallDecision) => CallDecision,
): BeginOutcome | RefusedBegin {
  const { store, nowMs } = context;
  const ranAlready = admit !== undefined;
  const earlier = earlierBegin(context, command);
  if ('ok' in earlier) return earlier;
  const { callId, derived } = earlier;
  if (store.isFull(nowMs) && !ranAlready) return storageFull();

  const opened = openOrLoad(context, command);
  if (!opened) return noDefaultPlan();
  if (claimsStripe(opened.newCustomer, command)) return claimFirst();
  const account = opened.newCustomer ? opened.account : fillContact(opened.account, command.contact);
  const { plan, usagePlanVersionId } = account.subscription.plan;
  const beyond = answersBeyond(plan, command.bounds ?? []);
  if (beyond && !ranAlready) return tooManyAnswers(beyond);
  const rolling = rollingWindow(context, account);
  if (rolling && rolling.used >= rolling.limit && !ranAlready) return rateLimited(rolling, nowMs);

  const deadlineMs = context.deadlineSeconds[command.request.pricingMode] * 1000;
  const deadlineAtMs = nowMs + Math.min(deadlineMs, command.deadlineMs ?? deadlineMs);
  const promptTokens = store.promptTokens(command.prompts ?? [], usagePlanVersionId, nowMs);
  const bounds = withKnownPrompts(command.bounds ?? [], promptTokens);
  const { markupPercent } = plan.payg;
  const expected = {
    usualCharge: () => usualCharge(store.recentCosts(), markupPercent),
    expectedCharge: (model: string, most: BoundAndStep) => expectedCharge(store.boundShares(model), most),
  };
  const decide = (atMost: readonly CallBound[]) =>
    beginCall(account, callId, command.request, { ...expected, bounds: atMost }, { deadlineAtMs, nowMs });
  const decision = decide(bounds);
  if (decision.gap && !ranAlready) return { ok: false, refusal: closedOnCredit(decision.gap) };
  if (decision.searchGap && !ranAlready) return { ok: false, refusal: closedByLimit(decision.searchGap) };
  const decided = withOpen(context, admit ? admit(account, decision) : decision);
  const mayBeCounted = !command.counted && bounds.some(({ countable }) => countable);
  if (mayBeCounted && wantsCredit(decided.denial)) {
    // No vendor is asked whose count cannot help: to pass, or to be told that only holds of others are in the way.
    const atBest = decide(bounds.map(atLeastCount));
    if (atBest.denial?.code !== decided.denial?.code) return toBeCounted();
  }
  const isDenied = decided.call.status === 'NOT_ALLOWED';
  const isKnown = !isDenied && promptTokens.some((tokens) => tokens !== null);
  const call: Call = isKnown ? { ...decided.call, promptTokens } : decided.call;
  if (wantsCredit(decided.denial)) store.denials.creditRefusedAtMs = nowMs;
  if (decided.denial?.code === 'BALANCE_HELD' && command.refusesHeld) {
    store.denials.heldBack = decided.call;
    return balanceHeld(decided.denial);
  }
  const resumeAtMs = isDenied ? store.denials.resumeAtMs(nowMs) : null;
  if (resumeAtMs !== null) return deniedTooOften({ resumeAtMs, nowMs });
  const counted = rolling && !isDenied ? { ...rolling, ...readWindow(addBegun(rolling.begun, nowMs), nowMs) } : rolling;
  const source = command.key.source === 'explicit' || command.key.source === 'session' ? 'explicit' : 'derived';
  const facts: BeginFacts = { decided, newCustomer: opened.newCustomer, source, rolling: counted };
  const hint = source === 'derived' ? KEY_HINT : undefined;
  const accepted = accept('CALL_BEGIN_SUCCESS', presentBegin(facts, command), nowMs, hint);
  const text = answerText(accepted);
  const first = isDenied && decided.denial ? firstDenial(decided.account, decided.denial, call) : null;
  store.saveAccount(first?.account ?? decided.account, nowMs);
  if (first) store.recordEvent(first.event, nowMs);
  if (isDenied) store.insertDenied(call, command.fingerprint, text, nowMs);
  else store.insertCall(call, command.fingerprint, text, nowMs);
  if (derived) store.saveDerivedKey(derived, nowMs);
  const left = presentLeft(decided.account, call.suggestedTier, counted, nowMs);
  const admission = { ...admissionOf(accepted.data, call), left };
  return { ok: true, call, replayed: false, admission, answer: { ...accepted, text, left } };
}

/** Whether credit would have paid, if there were enough of it. */
export function wantsCredit(denial: { code: string } | null | undefined): boolean {
  return denial?.code === 'BALANCE_HELD' || denial?.code === 'CREDIT_REQUIRED';
}

/** The decision whose denial, if there is one, says what else is open. */
function withOpen({ store }: Context, decision: CallDecision): CallDecision {
  if (!decision.denial) return decision;
  const denial = withOpenWork(decision.denial, decision.account.subscription, () => store.openWork());
  return { ...decision, denial, call: { ...decision.call, denial } };
}

/** What this call needs is held for others: its request is to be repeated. */
function balanceHeld(denial: RecordedDenial) {
  const figures = presentFigures(denial);
  const message = `open calls and batches of the customer hold the balance that this call needs; it is free again when they end. ${sumsSentence(figures)}`;
  return refuse('BALANCE_HELD', message, { retryAfterSeconds: HELD_RETRY_SECONDS, denial: figures });
}

/** Nobody gets this refusal: the Worker has the prompt counted, and begins again. */
function toBeCounted(): RefusedBegin {
  const message = 'by its bytes the call costs more than the balance has; its vendor may count less';
  return { ...refuse('SERVICE_UNAVAILABLE', message), countFirst: true };
}

/** The state of the plan's rolling limit; `null` if the plan has none. */
function rollingWindow({ store, nowMs }: Context, account: Account): (RollingState & { begun: BegunCalls }) | null {
  const { rollingCalls } = account.subscription.plan.plan;
  if (!rollingCalls) return null;
  const begun = store.begunCalls(rollingCalls.windowSeconds, nowMs);
  return { ...rollingCalls, begun, ...readWindow(begun, nowMs) };
}

function rateLimited(window: RollingState, nowMs: number) {
  const { limit, windowSeconds } = window;
  const rolling = presentRolling(window, nowMs);
  const retryAfterSeconds = Math.max(1, rolling.resetSeconds);
  const message = `the plan's rolling limit is reached (calls in ${windowSeconds} seconds: ${limit}); retry in ${retryAfterSeconds} seconds`;
  const members = { reason: ROLLING_LIMIT, retryAfterSeconds };
  return refuse('RATE_LIMITED', message, { retryAfterSeconds, rolling, members });
}

/** Beyond the bound, a call that would be denied is refused, and nothing is recorded of it. */
function deniedTooOften({ resumeAtMs, nowMs }: { resumeAtMs: number; nowMs: number }) {
  const retryAfterSeconds = Math.max(1, Math.ceil((resumeAtMs - nowMs) / 1000));
  const message = `too many denied calls (${DENIALS_MAX} in ${DENIALS_WINDOW_SECONDS} seconds); retry in ${retryAfterSeconds} seconds`;
  return refuse('RATE_LIMITED', message, { retryAfterSeconds, members: { retryAfterSeconds } });
}

function erasedJustNow() {
  return refuse('SERVICE_UNAVAILABLE', 'the customer is being erased; retry', { retryAfterSeconds: 1 });
}

/** The stored answer of the same begin, or the id of the call to begin. */
function earlierBegin(
  context: Context,
  { key, fingerprint }: BeginCommand,
): BeginOutcome | RefusedBegin | { callId: CallId; derived: DerivedKey | null } {
  const { store, objectId, nowMs } = context;
  if (key.source === 'derived') {
    const { newest, call: stored } = store.derivedCall(key.hash, fingerprint);
    const answer = stored && isLive(stored.call, nowMs) ? store.answer(stored.call.callId, 'begin', nowMs) : null;
    if (stored && answer !== null) return replayBegin(stored.call, answer);
    // Never below the present time, so that a generation stays unique after its row was removed.
    const generation = Math.max(newest + 1, nowMs);
    const callId = keyCallId(objectId, key.hash, generation);
    return { callId, derived: { hash: key.hash, fingerprint, generation, callId } };
  }
  if (key.source === 'session') return earlierOfSession(context, key.hash, fingerprint);
  const callId = key.source === 'request' ? requestCallId(objectId, key.requestId) : key.callId;
  const stored = store.call(callId);
  if (!stored) {
    // The begin of an application, which the service repeats with a payload of its own.
    if (store.pastCall(callId)) return keyConflict();
    // The erasure forgets claims of before it, whatever began under them.
    if (key.source === 'explicit' && key.claimedAtMs <= (store.erasure?.atMs ?? 0)) return erasedJustNow();
    const forgotten = key.source === 'explicit' && nowMs - key.claimedAtMs > ANSWER_RETENTION_MS;
    return forgotten ? keyUsedUp() : { callId, derived: null };
  }
  if (!isSamePayload(stored.beginFingerprint, fingerprint)) return keyConflict();
  const answer = store.answer(callId, 'begin', nowMs);
  return answer === null ? keyUsedUp() : replayBegin(stored.call, answer);
}

/** The answer of a begin whose call is past; `null` if it is not. */
function replayPast(
  { store, nowMs }: Context,
  callId: CallId,
  fingerprint: string,
): ReturnType<typeof keyConflict> | Extract<AnswerTo<'beginCall'>, { ok: true }> | null {
  const past = store.pastCall(callId);
  if (!past) return null;
  if (!isSamePayload(past.beginFingerprint, fingerprint)) return keyConflict();
  const answer = store.answer(callId, 'begin', nowMs);
  return answer === null ? keyUsedUp() : replay(answer);
}

/**
 * The begin under a session's key. Its call has an id of the reserved form, which no backend can send as a key; only
 * hashes of sessions' keys begin with `s`. The key is free again when the object has removed the call, and the next
 * call has another id.
 */
function earlierOfSession(
  { store, objectId, nowMs }: Context,
  keyHash: string,
  fingerprint: string,
): BeginOutcome | RefusedBegin | { callId: CallId; derived: DerivedKey } {
  const hash = `s${keyHash}`;
  const { newest, call: stored } = store.derivedCall(hash, fingerprint);
  if (stored) {
    const answer = store.answer(stored.call.callId, 'begin', nowMs);
    return answer === null ? keyUsedUp() : replayBegin(stored.call, answer);
  }
  if (newest > 0) return keyConflict();
  const callId = keyCallId(objectId, hash, nowMs);
  return { callId, derived: { hash, fingerprint, generation: nowMs, callId } };
}

function replayBegin(call: Call, text: string): BeginOutcome {
  const answer = replay<BeginCallData, 'CALL_BEGIN_SUCCESS'>(text);
  return { ok: true, call, replayed: true, admission: admissionOf(answer.data, call), answer };
}

function admissionOf({ callId, canceled, entitlementHints, denial }: BeginCallData, call: Call): Admission {
  const { allowed, allowance, credit, promptTokens } = call;
  const { steps } = credit ?? {};
  return {
    callId,
    canceled,
    allowed,
    entitlementHints,
    ...(denial && { denial }),
    outputTokens: outputTokensByTier(call),
    ...(promptTokens && { promptTokens }),
    ...(allowance?.searches !== undefined && { searches: allowance.searches }),
    ...(credit && { credit: { tiers: credit.tiers, ...(steps && { heldTokens: steps.heldTokens }) } }),
  };
}

/** Holds more of the balance for an open call whose output goes on: as much as is wanted, or as the balance allows. */
export function extendHold(context: Context, command: ExtendHoldCommand): ExtendedHold {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const found = findCall(context, command);
    const extended = found?.stored ? extendSteps(found.account, found.stored.call, command.outputTokens) : null;
    const { creditRefusedAtMs } = store.denials;
    if (!extended) return { heldTokens: 0, creditRefusedAtMs };
    if (extended.account !== found?.account) {
      store.saveAccount(extended.account, nowMs);
      store.holdMore(extended.call);
    }
    return { heldTokens: extended.heldTokens, creditRefusedAtMs };
  });
}

/** Whether a derived key still replays the call. */
function isLive({ status, startedAtMs, deadlineAtMs }: Call, nowMs: number): boolean {
  return status === 'IN_PROGRESS' && nowMs - startedAtMs < DERIVED_REPLAY_MS && nowMs < deadlineAtMs;
}

/**
 * Undoes a begin whose call id turned out to be another customer's: the call becomes NOT_ALLOWED, what it held is
 * released, and its answer is never replayed.
 */
export function voidCall({ store, nowMs }: Context, organizationId: OrganizationId, callId: CallId): void {
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

export function end(context: Context, command: EndCommand): AnswerTo<'endCall'> {
  return context.store.transaction(context.nowMs, () => endOrReplay(context, command));
}

function endOrReplay(context: Context, command: EndCommand): AnswerTo<'endCall'> {
  const { store, nowMs } = context;
  const found = findCall(context, command);
  // Another organization learns nothing of this customer, not even which keys were used.
  if (!found) return callNotFound(context, command);
  const { account, stored } = found;
  const keyed = command.idempotencyKey === null ? null : store.idempotencyKey('end', command.idempotencyKey, nowMs);
  if (keyed && keyed.callId !== command.callId) return keyConflict();
  const past = stored ? null : store.pastCall(command.callId);
  const begun = stored?.call ?? past;
  if (!begun) return callNotFound(context, command);
  const closed = closedFeature(command.limits, begun.feature);
  if (closed) return closed;
  // A mode that is spelled out is the same payload as the same mode carried over from begin.
  const fingerprint = `${command.fingerprint}:${command.report.pricingMode ?? begun.pricingMode}`;
  if (keyed && keyed.fingerprint !== fingerprint) return keyConflict();
  if (!stored || !canEnd(stored.call)) {
    const isSame = isSamePayload((stored ?? past)?.endFingerprint ?? null, fingerprint);
    const answer = isSame ? store.answer(command.callId, 'end', nowMs) : null;
    return answer === null ? alreadyFinalized(begun) : replay(answer);
  }
  const ended = recordEnd(context, account, stored.call, command);
  const answer = answerOfEnd(context, ended);
  const text = answerText(answer);
  store.finishCall(ended.call, { fingerprint, answer: text }, nowMs);
  if (command.idempotencyKey !== null) {
    const used = { fingerprint, callId: command.callId, answer: null };
    store.saveIdempotencyKey('end', command.idempotencyKey, used, nowMs);
  }
  return { ...answer, text, left: leftOf(context, ended.account, ended.outcome.tier) };
}

/** What is left of the account now. */
export function leftOf(context: Context, account: Account, tier: Tier | 'none'): Left {
  return presentLeft(account, tier, rollingWindow(context, account), context.nowMs);
}

/** The account as of now, and the call where there is one; `null` where the organization has no account here. */
export function findCall(
  context: Context,
  { organizationId, callId }: { organizationId: OrganizationId; callId: CallId },
) {
  const known = context.store.account();
  if (!known || known.organizationId !== organizationId) return null;
  const account = catchUp(context, known);
  return { account, stored: context.store.call(callId) };
}

export function answerOfEnd({ store, nowMs }: Context, { account, call, outcome }: Ended) {
  return accept('CALL_END_SUCCESS', presentEnd(account, call, outcome, store.usageHours.velocity(nowMs)), nowMs);
}

/** The facts of a call, or `null` where this object has no such call of the organization. */
export function readCall(context: Context, organizationId: OrganizationId, callId: CallId): Call | null {
  return context.store.transaction(
    context.nowMs,
    () => findCall(context, { organizationId, callId })?.stored?.call ?? null,
  );
}

/** A call that the object does not have. The organization of a customer who was erased just now is told so. */
export function callNotFound(
  { store }: Pick<Context, 'store'>,
  { organizationId }: { organizationId: OrganizationId },
) {
  return store.erasure?.organizationId === organizationId
    ? refuse('CALL_NOT_FOUND', 'no such call: its customer was erased', { members: { reason: 'CUSTOMER_ERASED' } })
    : refuse('CALL_NOT_FOUND', 'no such call');
}

export function alreadyFinalized({ callId, status }: Pick<Call, 'callId' | 'status'>) {
  const mayBeShared = status !== 'NOT_ALLOWED' && readDerivedCallId(callId)?.isOfPayload === true;
  return refuse(
    'CALL_ALREADY_FINALIZED',
    `the call is ${status}: it ended with another payload, or was never allowed`,
    {
      members: { status, ...(mayBeShared && { hint: SHARED_KEY_HINT }) },
    },
  );
}
