/**
 * What a customer's object does when its alarm fires: housekeeping, charges, and the hand-over to a projector of what these
 * changed and what the timer did not come to. Each part leaves behind when it is due next; an error that nobody foresaw
 * sets the alarm again, so the work is never dropped.
 */

import type { Env } from '../../src/env.ts';
import { log } from '../../src/platform/log.ts';
import { takeDue } from './commands/awaited-figures.ts';
import type { Context } from './commands/context.ts';
import { debit, type Reporter, reportDue } from './commands/settlement.ts';
import { housekeep } from './commands/subscription.ts';
import { handOver } from './hand-over.ts';
import { reportCharge } from './stripe.ts';
import type { AwaitedFigures } from './tables/awaited-figures.ts';

/** After an alarm that failed in a way nobody foresaw. */
const RETRY_MS = 30_000;

/** Returns for which figures vendors are to be asked now. */
export async function doAlarmWork(
  context: Context,
  env: Env,
  storage: DurableObjectStorage,
): Promise<AwaitedFigures[]> {
  const { store, objectId } = context;
  try {
    store.alarmFired(context.nowMs);
    const report = reporterOf(env);
    const awaited = doWhatIsDue(context);
    await handOver({ store, env, objectId, now: Date.now });
    if (report) await reportDue(store, report, Date.now);
    await store.rewriteRows();
    // The alarm has probably opened the object.
    store.rest(Date.now());
    return awaited;
  } catch (error) {
    log('error', 'alarm_failed', { objectId }, error);
    await storage.setAlarm(Date.now() + RETRY_MS);
    return [];
  }
}

/** One transaction, so that the next alarm is set once, to what is due then. */
export function doWhatIsDue(context: Context): AwaitedFigures[] {
  const { store, reports, nowMs } = context;
  return store.transaction(nowMs, () => {
    housekeep(context);
    debit(store, reports, nowMs);
    return takeDue(context);
  });
}

/** Whether a billing provider is configured. */
export function reportsCharges({ STRIPE_SECRET_KEY: secretKey }: Env): boolean {
  return Boolean(secretKey);
}

function reporterOf({
  STRIPE_SECRET_KEY: secretKey,
  STRIPE_API_BASE: apiBase,
  STRIPE_METER_EVENT_NAME: eventName,
}: Env): Reporter | null {
  if (!secretKey) return null;
  return (charge) => reportCharge({ secretKey, eventName, ...(apiBase && { apiBase }) }, charge);
}
