/**
 * The commands of batches at a vendor: hold what a batch may come to, and end it. Its lines are recorded in
 * `service-calls.ts`.
 */
import { closedByLimit, closedOnCredit, type Refusal, refuse, tooManyAnswers } from '../../../src/contract/errors.ts';
import { updateContact } from '../../../src/domain/account.ts';
import { type AnswersBeyond, answersBeyond, limitsSearches } from '../../../src/domain/allowance-bound.ts';
import { decideBatch, holdBatch, releaseBatch } from '../../../src/domain/batch-hold.ts';
import { admitCall } from '../../../src/domain/begin-call.ts';
import type { Gap } from '../../../src/domain/bound.ts';
import { withOpenWork } from '../../../src/domain/denial.ts';
import { endUnread, type UnreadLines, unreadLines } from '../../../src/domain/unread-lines.ts';
import {
  BATCHES_MAX,
  type BatchAdmission,
  type ClosedLine,
  type EndBatchCommand,
  type HoldBatchCommand,
} from '../../../src/objects/batch-commands.ts';
import { beginOrReplay, wantsCredit } from './calls.ts';
import { type Context, catchUp, claimFirst, claimsStripe, noDefaultPlan, openOrLoad } from './context.ts';
import { saveEnd, withOutcome } from './ending.ts';

/** Holds what the lines of a batch may come to; or says why they may not run. Sent again, it holds them once. */
export function hold(context: Context, command: HoldBatchCommand): BatchAdmission {
  const { store, nowMs, deadlineSeconds } = context;
  return store.transaction(nowMs, () => {
    const opened = openOrLoad(context, command);
    if (!opened) return noDefaultPlan();
    if (claimsStripe(opened.newCustomer, command)) return claimFirst();
    const account = opened.newCustomer ? opened.account : updateContact(opened.account, command.contact);
    const { requestName, batch, closed, mostAnswers } = command;
    const { plan } = account.subscription.plan;
    const beyond = mostAnswers && answersBeyond(plan, [{ choices: mostAnswers }]);
    if (beyond) return { ok: false, refusal: lineAsksTooMuch(mostAnswers.line, beyond) };
    if (account !== store.account()) store.saveAccount(account, nowMs);
    const earlier = store.batchHold(requestName);
    if (!earlier && store.countBatchHolds() >= BATCHES_MAX) return tooManyBatches();
    const free = earlier ? releaseBatch(account, earlier) : account;
    const decided = decideBatch(free, batch, { expiresAtMs: nowMs + deadlineSeconds.batch * 1_000, nowMs });
    if (!decided.ok) {
      if (wantsCredit(decided.denial)) store.denials.creditRefusedAtMs = nowMs;
      return { ok: false, denial: withOpenWork(decided.denial, free.subscription, () => store.openWork()) };
    }
    const line = decided.onCredit.map((tier) => closed[tier]).find((first) => first !== undefined);
    if (line !== undefined) return { ok: false, refusal: lineClosed(line, closedOnCredit) };
    const { unboundedSearch } = command;
    if (unboundedSearch && limitsSearches(plan)) {
      return { ok: false, refusal: lineClosed(unboundedSearch, closedByLimit) };
    }
    store.saveAccount(holdBatch(free, decided.hold), nowMs);
    store.saveBatchHold(requestName, decided.hold, nowMs);
    return { ok: true };
  });
}

/** The vendor runs the file as it is, so the line has to be changed before. */
function lineClosed({ line, gap }: ClosedLine, refusalOf: (gap: Gap) => Refusal): Refusal {
  const { param, ...rest } = gap;
  return ofLine(line, refusalOf({ ...rest, ...(param !== undefined && { param: `body.${param}` }) }));
}

function lineAsksTooMuch(line: number, beyond: AnswersBeyond): Refusal {
  return ofLine(line, tooManyAnswers({ ...beyond, param: `body.${beyond.param}` }).refusal);
}

function ofLine(line: number, { message, ...refusal }: Refusal): Refusal {
  return { ...refusal, message: `line ${line} of the input file: ${message}` };
}

/** Gives back what the batch still holds, and records the lines among these that ran and cannot be read. */
export function end(context: Context, command: EndBatchCommand): void {
  const { store, nowMs } = context;
  store.transaction(nowMs, () => {
    const known = store.account();
    const { organizationId, requestName, unread } = command;
    if (!known || known.organizationId !== organizationId) return;
    const account = catchUp(context, known);
    const held = store.batchHold(requestName);
    if (!held) return;
    store.saveAccount(releaseBatch(account, held), nowMs);
    store.dropBatchHold(requestName);
    if (unread)
      for (const lines of unreadLines(held, unread.linesMax)) recordUnread(context, unread, requestName, lines);
  });
}

function recordUnread(
  context: Context,
  { begin, providerUsed, modelUsed }: NonNullable<EndBatchCommand['unread']>,
  requestName: string,
  lines: UnreadLines,
): void {
  const { store, newId, nowMs } = context;
  const { tier, payer } = lines;
  const requested = { [tier]: true };
  // The request's name makes the id of the call one of its own.
  const key = { source: 'request', requestId: `${requestName}-${tier}-${payer}` } as const;
  const begun = beginOrReplay(
    context,
    { ...begin, request: { ...begin.request, requested }, key },
    (account, decision) => {
      const { revision } = decision.account;
      const { credit: _credit, ifLost: _ifLost, ...call } = decision.call;
      return admitCall({ ...decision, account: { ...account, revision }, call: { ...call, reserved: {} } });
    },
  );
  const account = store.account();
  if (!begun.ok || begun.replayed || !account) return;
  const ended = withOutcome(endUnread(account, begun.call, lines, { providerUsed, modelUsed }, newId(), nowMs));
  saveEnd(context, ended);
  store.finishCall(ended.call, null, nowMs);
}

function tooManyBatches() {
  return refuse('RATE_LIMITED', `too many running batches of the customer (at most ${BATCHES_MAX})`);
}
