/**
 * State that a newer release wrote, in an object that runs older code after a rollback. It is refused, and stays as it
 * is until the newer release runs again.
 */
import { log } from '../src/platform/log.ts';
import { MINUTE_MS } from '../src/platform/time.ts';
import { ServiceUnavailable } from '../src/platform/unavailable.ts';

/** The wait of an alarm that found such state. */
const RETRY_MS = 5 * MINUTE_MS;

/** Callers get 503: the newer release will answer. */
class NewerState extends ServiceUnavailable {}

/** Throws if the version of what is stored is not one that this release knows. */
export function assertKnown(stored: string, version: number, newestKnown: number): void {
  if (Number.isInteger(version) && version >= 0 && version <= newestKnown) return;
  log('error', 'state_is_newer', { stored, version, newestKnown });
  throw new NewerState('a newer release wrote what is stored; this one cannot read it');
}

/** Runs the work of an alarm. The runtime drops an alarm that fails too often, so this one is set again. */
export async function runAlarm({ storage }: DurableObjectState, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof NewerState)) throw error;
    await storage.setAlarm(Date.now() + RETRY_MS);
  }
}

/** Prepares an object. If its state is refused, the object stays, so that its alarm can be set again. */
export async function prepareObject(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof NewerState)) throw error;
  }
}
