/**
 * The end of a call that a vendor answered: what was used is recorded, even where the customer's object is away for a
 * moment. Ending is idempotent, so it is tried until it succeeds or the time is over that work may go on after an
 * answer.
 */
import { log } from '../platform/log.ts';
import type { Caller } from './caller.ts';
import { type Finished, finishCall, type Outcome } from './finish-call.ts';

/**
 * Waits before each further attempt. With the attempts themselves they stay within the 30 s that Workers grant for work
 * after an answer.
 */
const RETRY_MS = [250, 500, 1_000, 2_000, 4_000, 8_000];

/** Ends the call. `null` where that did not succeed at once: it is then tried again beyond the answer. */
export async function endSurely(caller: Caller, callId: string, outcome: Outcome): Promise<Finished | null> {
  try {
    return await finish(caller, callId, outcome);
  } catch (error) {
    log('warn', 'call_end_delayed', { callId }, error);
    caller.defer(finishLater(caller, callId, outcome));
    return null;
  }
}

async function finishLater(caller: Caller, callId: string, outcome: Outcome): Promise<void> {
  for (const waitMs of RETRY_MS) {
    await scheduler.wait(waitMs);
    try {
      await finish(caller, callId, outcome);
      return;
    } catch (error) {
      log('warn', 'call_end_delayed', { callId }, error);
    }
  }
  log('error', 'call_end_lost', { callId, usage: outcome.usage, modelUsed: outcome.modelUsed });
}

async function finish(caller: Caller, callId: string, outcome: Outcome): Promise<Finished> {
  const ended = await finishCall(caller, callId, outcome);
  // Erased, or ended by its own backend, in the meantime: there is nothing left to record.
  if (!ended.ok) log('warn', 'call_end_refused', { callId, code: ended.refusal.code });
  return ended;
}
