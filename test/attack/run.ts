/**
 * Runs attacks one after another against one server, each with its own tenants.
 */
import { browserAttacks } from './browser.ts';
import type { Attack, Outcome } from './model.ts';
import { strangerAttacks } from './stranger.ts';
import { tenantAttacks } from './tenant.ts';
import { createWorld } from './world.ts';

export const ATTACKS: readonly Attack[] = [...strangerAttacks, ...browserAttacks, ...tenantAttacks];

export interface AttackOptions {
  attacks: readonly Attack[];
  short: boolean;
  /** Ends the run early. */
  signal: AbortSignal;
  onProgress: (line: string) => void;
}

export async function runAttacks({ attacks, short, signal, onProgress }: AttackOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  onProgress('bundling the Worker and starting the server ...');
  await using scope = new AsyncDisposableStack();
  const world = await createWorld(scope);
  for (const [index, attack] of attacks.entries()) {
    if (signal.aborted) break;
    onProgress(`${index + 1} of ${attacks.length}: ${attack.name}`);
    outcomes.push(await carryOut(attack, world, short));
  }
  return outcomes;
}

async function carryOut(
  { name, by, promise, run }: Attack,
  world: Parameters<Attack['run']>[0],
  short: boolean,
): Promise<Outcome> {
  try {
    const { figures, goals = {}, broken } = await run(world, (full, few) => (short ? few : full));
    return { name, by, promise, figures, goals, broken };
  } catch (error) {
    return {
      name,
      by,
      promise,
      figures: {},
      goals: {},
      broken: [`the attack did not run to its end: ${(error as Error).stack}`],
    };
  }
}
