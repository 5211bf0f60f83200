/**
 * The commands of calls that the service makes itself: open, finish, and both at once for a call that ran already.
 *
 * Whoever opened a call finishes it, and nobody else retries that: a finish that is sent again, because its answer was
 * lost, is answered from the call, and no answer is stored for it.
 */
import type { Accepted } from '../../../src/contract/errors.ts';
import { canEnd } from '../../../src/domain/call.ts';
import type {
  BeginCommand,
  FinishCommand,
  FinishedCall,
  KeptAnswer,
  OpenCommand,
  OpenedCall,
  Told,
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
 * A begin whose caller goes on to make the call: with the state of the call, and what was kept of it. The command that
 * opened the call may be sent again, because its answer was lost: to whoever sent it, that is no replay.
 */
export function open(context: Context, command: OpenCommand): OpenedCall {
  const { store, nowMs } = context;
  const opened = (): OpenedCall => {
    const began = beginOrReplay(context, command);
    if (!began.ok) return began;
    const { call, admission } = began;
    const isOpener = call.openedBy !== undefined && call.openedBy === command.request.openedBy;
    const replayed = began.replayed && !isOpener;
    const answer = command.answered ? told(began.answer()) : null;
    const kept = replayed ? store.keptAnswer(call.callId) : null;
    return { ok: true, replayed, status: call.status, admission, answer, kept };
  };
  return store.transaction(nowMs, opened, 'LEAVE');
}

export function finish(context: Context, command: FinishCommand): FinishedCall {
  return context.store.transaction(context.nowMs, () => finishOrRepeat(context, command), 'LEAVE');
}

/** Both ends of a call that ran already: it is admitted whatever is left, because what it used was used. */
export function record(context: Context, begin: BeginCommand, toFinish: Omit<FinishCommand, 'callId'>): FinishedCall {
  return context.store.transaction(context.nowMs, () => {
    const began = beginOrReplay(context, begin, true);
    return began.ok ? finishOrRepeat(context, { ...toFinish, callId: began.call.callId }) : began;
  });
}

function finishOrRepeat(context: Context, command: FinishCommand): FinishedCall {
  const { store, nowMs } = context;
  const found = findCall(context, command);
  if (!found?.stored) return callNotFound();
  const { account, stored } = found;
  if (!canEnd(stored.call)) {
    const { outcome } = stored.call;
    const repeated = stored.endFingerprint === null && outcome !== null;
    return repeated ? tell(context, command, { account, call: stored.call, outcome }) : alreadyFinalized(stored.call);
  }
  const ended = recordEnd(context, account, stored.call, command);
  store.finishCall(ended.call, null, nowMs);
  if (command.keep !== undefined) {
    const kept: KeptAnswer = { endedAtMs: nowMs, end: answerOfEnd(context, ended).data, keep: command.keep };
    store.keepAnswer(command.callId, JSON.stringify(kept));
  }
  return tell(context, command, ended);
}

function tell(context: Context, { answered }: FinishCommand, ended: Ended): FinishedCall {
  const { price } = ended.outcome;
  return {
    ok: true,
    costNanoUsd: price.status === 'FINAL' ? price.costNanoUsd : null,
    answer: answered ? told(answerOfEnd(context, ended)) : null,
  };
}

const told = <Data>({ result, data }: Accepted<Data>): Told<Data> => ({ result, data });
