/**
 * Ends a call that a vendor answered, so that its usage is recorded even if the customer's object is briefly
 * unavailable. Ending is idempotent: it is tried until it succeeds, or until the time for work after an answer is over.
 */
import type { CallId } from '../../domain/ids.ts';
import type { Caller } from '../../metering/caller.ts';
import { log } from '../../platform/log.ts';
import { type EndedServiceCall, endServiceCall, type Outcome } from './end.ts';

/**
 * Waits before each further attempt. Together with the attempts they stay within the 30 s that Workers grant for work
 * after an answer.
 */
const RETRY_MS = [250, 500, 1_000, 2_000, 4_000, 8_000];

/** Ends the call. `null` if the first attempt failed: further ones follow after the answer. */
export async function endWithRetries(
  caller: Caller,
  callId: CallId,
  outcome: Outcome,
): Promise<EndedServiceCall | null> {
  try {
    return await end(caller, callId, outcome);
  } catch (error) {
    log('warn', 'call_end_delayed', { callId }, error);
    caller.defer(retry(caller, callId, outcome));
    return null;
  }
}

async function retry(caller: Caller, callId: CallId, outcome: Outcome): Promise<void> {
  for (const waitMs of RETRY_MS) {
    await scheduler.wait(waitMs);
    try {
      await end(caller, callId, outcome);
      return;
    } catch (error) {
      log('warn', 'call_end_delayed', { callId }, error);
    }
  }
  log('error', 'call_end_lost', { callId, usage: outcome.usage, modelUsed: outcome.modelUsed });
}

async function end(caller: Caller, callId: CallId, outcome: Outcome): Promise<EndedServiceCall> {
  const ended = await endServiceCall(caller, callId, outcome);
  // The customer was erased, or its own backend ended the call, in the meantime: nothing is left to record.
  if (!ended.ok) log('warn', 'call_end_refused', { callId, code: ended.refusal.code });
  return ended;
}
