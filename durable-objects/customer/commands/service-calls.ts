/**
 * The commands of calls that the service makes itself: begin, end, and both at once for a call that ran already.
 *
 * Only the request that began a service call ends it. An end that is sent again, because its answer was lost, is
 * answered from the call, so no answer of an end is stored for it.
 */

import { type Accepted, type CallFigures, type Refusal, type Result, refuse } from '../../../src/contract/errors.ts';
import { type AdmittedLine, admitLine, afterLine, giveBackLine } from '../../../src/domain/batch-hold.ts';
import { type Call, canEnd } from '../../../src/domain/call.ts';
import type { CallId } from '../../../src/domain/ids.ts';
import type { BatchLine } from '../../../src/objects/batch-commands.ts';
import type {
  AnswerBody,
  BeginCommand,
  BeginServiceCallCommand,
  EndServiceCallCommand,
  RefusedBegin,
  ServiceCallBegin,
  ServiceCallEnd,
  StoredServiceCall,
} from '../../../src/objects/customer-commands.ts';
import { SECOND_MS } from '../../../src/platform/time.ts';
import { SESSION_REQUESTS_MAX } from '../session-requests.ts';
import { awaitFigures } from './awaited-figures.ts';
import { alreadyFinalized, answerOfEnd, beginOrReplay, callNotFound, findCall, leftOf } from './calls.ts';
import type { Context } from './context.ts';
import { type Ended, recordEnd } from './ending.ts';

/**
 * Begins a call that the service goes on to make. Sent again by the same request, because its answer was lost, it is no
 * replay; a retry of the request is one, and gets what was stored of the call.
 */
export function beginServiceCall(context: Context, command: BeginServiceCallCommand): ServiceCallBegin {
  const { store, nowMs } = context;
  const { session } = command;
  return store.transaction(nowMs, () => {
    const counted = session === undefined ? null : countSessionRequest(context, session);
    if (counted?.ok === false) return counted;
    const outcome = beginOrReplay(context, command);
    if (!outcome.ok) {
      const comesAgain = outcome.countFirst || outcome.claimFirst;
      if (session !== undefined && comesAgain) store.sessionRequests.takeBack(session, nowMs);
      return outcome;
    }
    const { call } = outcome;
    if (session !== undefined && !outcome.replayed) store.sessionRequests.begun(session, call.callId, nowMs);
    const isSameRequest = call.openedBy !== undefined && call.openedBy === command.request.openedBy;
    const replayed = outcome.replayed && !isSameRequest;
    const answer = command.wantsAnswer ? bodyOf(outcome.answer) : null;
    const stored = replayed ? store.keptAnswers.find(call.callId) : null;
    const gaveWay = replayed && store.keptAnswers.hasGivenWay(call.callId) ? figuresOf(call) : null;
    const account =
      outcome.replayed && isSameRequest ? findCall(context, { ...command, callId: call.callId })?.account : null;
    const left = account ? { left: leftOf(context, account, call.suggestedTier) } : {};
    return {
      ok: true,
      replayed,
      status: call.status,
      admission: { ...outcome.admission, ...left },
      answer,
      stored,
      gaveWay,
    };
  });
}

/** What is recorded of a call, for a retry that no longer gets its answer. */
function figuresOf({ callId, status, outcome }: Call): CallFigures {
  const { usage, price, modelUsed = null } = outcome ?? {};
  return {
    callId,
    status,
    modelUsed,
    inputTokens: usage?.inputTokens ?? 0,
    responseTokens: usage?.responseTokens ?? 0,
    costUsdNano: price?.status === 'FINAL' ? price.costNanoUsd : null,
  };
}

/** Counts a request of a browser's session that is free or has failed, or may fail still. */
export function countSessionRequest(
  { store, nowMs }: Pick<Context, 'store' | 'nowMs'>,
  session: string,
): Result<object, Refusal<'RATE_LIMITED'>> {
  const resumeAtMs = store.sessionRequests.count(session, nowMs);
  if (resumeAtMs === null) return { ok: true };
  const retryAfterSeconds = Math.max(1, Math.ceil((resumeAtMs - nowMs) / SECOND_MS));
  const message = `too many free, failed or open requests of the session (${SESSION_REQUESTS_MAX} in a minute); retry in ${retryAfterSeconds} seconds`;
  return refuse('RATE_LIMITED', message, { retryAfterSeconds, members: { retryAfterSeconds } });
}

export function endServiceCall(context: Context, command: EndServiceCallCommand): ServiceCallEnd {
  return context.store.transaction(context.nowMs, () => endOrRepeat(context, command));
}

/**
 * Begins and ends the call of a batch's line: it is admitted whatever is left, because what it used was used. It takes over
 * what the batch holds for it.
 */
export function recordServiceCall(
  context: Context,
  begin: BeginCommand,
  end: Omit<EndServiceCallCommand, 'callId'>,
  { requestName, tier }: BatchLine,
): ServiceCallEnd | RefusedBegin {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    let line: AdmittedLine | null = null;
    const outcome = beginOrReplay(context, begin, (account, decision) => {
      line = admitLine(account, decision, store.batchHold(requestName), tier);
      return line.decision;
    });
    if (!outcome.ok) return outcome;
    const { callId } = outcome.call;
    const ended = endOrRepeat(context, { ...end, callId });
    if (line) giveBack(context, { requestName, tier }, callId, line);
    return ended;
  });
}

/** The batch holds what its other lines need, now that the line is recorded. */
function giveBack(
  { store, nowMs }: Context,
  { requestName, tier }: BatchLine,
  callId: CallId,
  { share }: AdmittedLine,
): void {
  const [held, account, outcome] = [store.batchHold(requestName), store.account(), store.call(callId)?.call.outcome];
  if (!held || !account || !outcome) return;
  const others = afterLine(held, tier, outcome);
  store.saveAccount(giveBackLine(account, share, held, others), nowMs);
  store.saveBatchHold(requestName, others, nowMs);
}

function endOrRepeat(context: Context, command: EndServiceCallCommand): ServiceCallEnd {
  const { store, nowMs } = context;
  const found = findCall(context, command);
  if (!found?.stored) return callNotFound(context, command);
  const { account, stored } = found;
  if (!canEnd(stored.call)) {
    const { outcome } = stored.call;
    const endedHere = stored.endFingerprint === null && outcome !== null;
    return endedHere
      ? present(context, command, { account, call: stored.call, outcome })
      : alreadyFinalized(stored.call);
  }
  const ended = recordEnd(context, account, stored.call, command);
  store.finishCall(ended.call, null, nowMs);
  store.sessionRequests.ended(command.callId, ended.outcome.error === null);
  if (command.awaited !== undefined) awaitFigures(context, ended.call, command.awaited);
  const { usagePlanVersionId } = ended.call;
  if (command.counted?.length) store.rememberCounted(command.counted, usagePlanVersionId, nowMs);
  if (command.response !== undefined) {
    const { data } = answerOfEnd(context, ended);
    const toStore: StoredServiceCall = { endedAtMs: nowMs, end: data, response: command.response };
    store.keptAnswers.keep(command.callId, JSON.stringify(toStore));
  }
  return present(context, command, ended);
}

function present(context: Context, { wantsAnswer }: EndServiceCallCommand, ended: Ended): ServiceCallEnd {
  const { price } = ended.outcome;
  return {
    ok: true,
    costNanoUsd: price.status === 'FINAL' ? price.costNanoUsd : null,
    answer: wantsAnswer ? bodyOf(answerOfEnd(context, ended)) : null,
    left: leftOf(context, ended.account, ended.outcome.tier),
  };
}

const bodyOf = <Data>({ result, data }: Accepted<Data>): AnswerBody<Data> => ({ result, data });
