/**
 * The commands of calls that the service makes itself: begin, end, and both at once for a call that ran already.
 *
 * Only the request that began a service call ends it. An end that is sent again, because its answer was lost, is
 * answered from the call, so no answer of an end is stored for it.
 */
import type { Accepted } from '../../../src/contract/errors.ts';
import { canEnd } from '../../../src/domain/call.ts';
import type {
  AnswerBody,
  BeginCommand,
  BeginServiceCallCommand,
  EndServiceCallCommand,
  ServiceCallBegin,
  ServiceCallEnd,
  StoredServiceCall,
} from '../../../src/objects/customer-commands.ts';
import {
  alreadyFinalized,
  answerOfEnd,
  beginOrReplay,
  callNotFound,
  type Ended,
  findCall,
  recordEnd,
} from './calls.ts';
import type { Context } from './context.ts';

/**
 * Begins a call that the service goes on to make. Sent again by the same request, because its answer was lost, it is no
 * replay; a retry of the request is one, and gets what was stored of the call.
 */
export function beginServiceCall(context: Context, command: BeginServiceCallCommand): ServiceCallBegin {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const outcome = beginOrReplay(context, command);
    if (!outcome.ok) return outcome;
    const { call, admission } = outcome;
    const isSameRequest = call.openedBy !== undefined && call.openedBy === command.request.openedBy;
    const replayed = outcome.replayed && !isSameRequest;
    const answer = command.wantsAnswer ? bodyOf(outcome.answer) : null;
    const stored = replayed ? store.storedResponse(call.callId) : null;
    return { ok: true, replayed, status: call.status, admission, answer, stored };
  });
}

export function endServiceCall(context: Context, command: EndServiceCallCommand): ServiceCallEnd {
  return context.store.transaction(context.nowMs, () => endOrRepeat(context, command));
}

/** Begins and ends a call that ran already: it is admitted whatever is left, because what it used was used. */
export function recordServiceCall(
  context: Context,
  begin: BeginCommand,
  end: Omit<EndServiceCallCommand, 'callId'>,
): ServiceCallEnd {
  return context.store.transaction(context.nowMs, () => {
    const outcome = beginOrReplay(context, begin, true);
    return outcome.ok ? endOrRepeat(context, { ...end, callId: outcome.call.callId }) : outcome;
  });
}

function endOrRepeat(context: Context, command: EndServiceCallCommand): ServiceCallEnd {
  const { store, nowMs } = context;
  const found = findCall(context, command);
  if (!found?.stored) return callNotFound();
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
  if (command.response !== undefined) {
    const { data } = answerOfEnd(context, ended);
    const toStore: StoredServiceCall = { endedAtMs: nowMs, end: data, response: command.response };
    store.storeResponse(command.callId, JSON.stringify(toStore));
  }
  return present(context, command, ended);
}

function present(context: Context, { wantsAnswer }: EndServiceCallCommand, ended: Ended): ServiceCallEnd {
  const { price } = ended.outcome;
  return {
    ok: true,
    costNanoUsd: price.status === 'FINAL' ? price.costNanoUsd : null,
    answer: wantsAnswer ? bodyOf(answerOfEnd(context, ended)) : null,
  };
}

const bodyOf = <Data>({ result, data }: Accepted<Data>): AnswerBody<Data> => ({ result, data });
