/**
 * The commands of prompt compression: record what it saved on a call, and say whether the customer may be billed for
 * it.
 */

import { accept, refuse } from '../../../src/contract/errors.ts';
import { closedFeature } from '../../../src/contract/key-limits.ts';
import type { AnswerTo } from '../../../src/contract/operations.ts';
import type { Account } from '../../../src/domain/account.ts';
import { creditLeft } from '../../../src/domain/begin-call.ts';
import { CALL_RETENTION_MS, type Call, excessiveOfSession, recordCompression } from '../../../src/domain/call.ts';
import { type ExcessiveCount, SESSION_TOKENS_MAX } from '../../../src/domain/compression.ts';
import type { OrganizationId } from '../../../src/domain/ids.ts';
import type { CompressPromptCommand } from '../../../src/objects/customer-commands.ts';
import { type Context, catchUp, keyed } from './context.ts';
import { historyBehind, isHistoryBehind } from './corrections.ts';

export function compressPrompt(context: Context, command: CompressPromptCommand): AnswerTo<'compressPrompt'> {
  const { store, nowMs } = context;
  const { organizationId, callId, customerId, compression: counts } = command;
  const known = store.account();
  // Before any stored answer: a derived call id routes here without naming the organization.
  if (!known || known.organizationId !== organizationId) return noSuchCall();
  if (customerId !== null && known.customerId !== customerId) return noSuchCall();
  const bySession = customerId !== null;
  // Keys of sessions are apart from those of the backend.
  return keyed(context, bySession ? 'compress_prompt of a session' : 'compress_prompt', command, () => {
    const account = catchUp(context, known);
    const own = store.call(callId)?.call;
    const call = own ?? oldCall(known, command, nowMs);
    if (!call) return noSuchCall();
    if (isHistoryBehind(context, call)) return historyBehind();
    const closed = closedFeature(command.limits, call.feature);
    if (closed) return closed;
    const excessive = bySession ? excessiveOfSession(call, counts) : null;
    if (excessive) return tooMany(excessive);
    const recorded = recordCompression(account, call, counts, nowMs, bySession);
    store.saveAccount(recorded.account, nowMs);
    if (own) store.updateCall(recorded.call, nowMs);
    else store.correctCall(call, recorded.call, nowMs);
    const { originalTokens, compressedTokens, savedTokens, tokenSavingsRatio, techniques } = recorded.compression;
    const saved = { originalTokens, compressedTokens, savedTokens, tokenSavingsRatio, techniques };
    return accept(
      'PROMPT_COMPRESSION_RECORDED',
      { callId, updated: true as const, provider: counts.provider, ...saved },
      nowMs,
    );
  });
}

function tooMany({ field, max }: ExcessiveCount) {
  const path = `promptCompression.${field}`;
  const message = `must be at most ${max}: a session's counts are bounded by the call's input tokens, and by ${SESSION_TOKENS_MAX} before its end`;
  return refuse('BAD_REQUEST', `${path}: ${message}`, { members: { details: [{ path, message }] } });
}

/** D1's record of the customer's call, as long as a call gets savings after its end. */
function oldCall({ customerId }: Account, { old }: CompressPromptCommand, nowMs: number): Call | null {
  const isOpen = old?.customerId === customerId && (old.finishedAtMs ?? nowMs) > nowMs - CALL_RETENTION_MS;
  return isOpen ? old : null;
}

const noSuchCall = () => refuse('CALL_NOT_FOUND', 'no such call');

/** Whether the customer's plan is pay-as-you-go, and no balance is left. `false` for a customer who was never seen. */
export function isOutOfCredit(context: Context, organizationId: OrganizationId): boolean {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const known = store.account();
    if (!known || known.organizationId !== organizationId) return false;
    const account = catchUp(context, known);
    return account.subscription.plan.plan.payg.enabled && !creditLeft(account, 0n);
  });
}
