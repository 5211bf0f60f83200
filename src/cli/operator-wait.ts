/**
 * Waits for a migration and reports its progress on standard error.
 *
 * Ctrl+C stops waiting, not the migration; so does an unreachable server. In both cases the output says how to check
 * again.
 */
import { setTimeout } from 'node:timers/promises';
import { callOperation, type Data } from './operator-client.ts';
import type { Target } from './operator-target.ts';

const POLL_MS = 1_000;

/** The user stopped waiting. */
export class Interrupted extends Error {}

export async function waitForMigration(
  target: Target,
  { org = '' }: Record<string, string>,
  { jobId }: Data<'migratePlan'>,
  tell: (line: string) => void,
): Promise<Data<'readMigration'>> {
  const lookAgain = `the migration goes on: migrations show ${org} ${jobId}`;
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  process.once('SIGINT', interrupt);
  let shown = '';
  try {
    for (;;) {
      const { data } = await callOperation(target, 'readMigration', { params: { org, jobId } });
      if (data.status === 'COMPLETED') return data;
      const line = progressLine(data);
      if (line !== shown) tell(line);
      shown = line;
      await setTimeout(POLL_MS, undefined, { signal: interruption.signal });
    }
  } catch (error) {
    if (interruption.signal.aborted) throw new Interrupted(`no longer waiting; ${lookAgain}`);
    throw new Error(`${(error as Error).message}\n${lookAgain}`, { cause: error });
  } finally {
    process.off('SIGINT', interrupt);
  }
}

function progressLine({ migrated, total, failures, lastError }: Data<'readMigration'>): string {
  return `moved ${migrated} of ${total}${failures > 0 ? `, ${failures} failed attempts (${lastError})` : ''}`;
}
