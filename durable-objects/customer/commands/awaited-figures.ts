/**
 * Figures that come after the end of a call: a vendor that keeps the response is asked for them, with a pause that grows, for
 * a day at most. They replace the estimate with which the call was ended.
 *
 * The next poll is stored before the vendor is asked, so that it comes whatever is lost on the way. A call that was
 * reversed or amended meanwhile stays as it is.
 */

import type { Call } from '../../../src/domain/call.ts';
import { lacksFigures } from '../../../src/domain/correct-call.ts';
import type { LateFigures } from '../../../src/objects/customer-commands.ts';
import { log } from '../../../src/platform/log.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/platform/time.ts';
import type { AwaitedFigures } from '../tables/awaited-figures.ts';
import { findCall } from './calls.ts';
import type { Context } from './context.ts';
import { recordEnd } from './ending.ts';

/** Calls of one customer whose figures are awaited; further ones keep their estimate. */
export const AWAITED_MAX = 1_000;
/** Vendors that one alarm asks at a time; the next one asks others. */
export const POLLS_MAX = 5;
const PAUSE_MS = 10_000;
/** OpenAI keeps some responses for no longer than ten minutes (developers.openai.com/api/docs/guides/background). */
const PAUSE_MS_MAX = 5 * MINUTE_MS;
/** Nobody is asked any more after that. */
export const AWAITED_MS_MAX = DAY_MS;

/** Has the vendor asked for the figures of a call that has just ended without them. */
export function awaitFigures({ store, nowMs }: Context, call: Call, text: string): void {
  const { callId } = call;
  if (!lacksFigures(call)) return;
  if (store.countAwaited() >= AWAITED_MAX) {
    log('warn', 'figures_not_awaited', { callId });
    return;
  }
  store.saveAwaited({ callId, sinceMs: nowMs, dueAtMs: nowMs + PAUSE_MS, polls: 0, text });
}

/** Those for which vendors are to be asked now. What was awaited for too long is given up. */
export function takeDue({ store, nowMs }: Context): AwaitedFigures[] {
  return store.awaitedDue(nowMs, POLLS_MAX).flatMap((awaited) => {
    const untilMs = awaited.sinceMs + AWAITED_MS_MAX;
    if (nowMs >= untilMs) {
      store.dropAwaited(awaited.callId);
      return [];
    }
    const polls = awaited.polls + 1;
    const taken = { ...awaited, polls, dueAtMs: Math.min(untilMs, nowMs + pauseMs(polls)) };
    store.saveAwaited(taken);
    return taken;
  });
}

/** Records what the vendor said. */
export function takeFigures(
  context: Context,
  { callId, polls }: AwaitedFigures,
  figures: LateFigures | 'pending' | 'none',
): void {
  const { store, nowMs } = context;
  if (figures === 'pending') return;
  store.transaction(nowMs, () => {
    // The customer may have been erased while the vendor answered, or a later poll be on its way.
    if (store.awaitedFigures(callId)?.polls !== polls) return;
    store.dropAwaited(callId);
    if (figures === 'none') return;
    const found = findCall(context, { ...figures, callId });
    if (found?.stored && lacksFigures(found.stored.call)) recordEnd(context, found.account, found.stored.call, figures);
  });
}

function pauseMs(polls: number): number {
  return Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** polls);
}
