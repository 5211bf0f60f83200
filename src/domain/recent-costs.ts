/**
 * The costs of a customer's last calls that have a price. The usual charge is computed of them (hold.ts).
 */
import type { Call } from './call.ts';
import { countedOutcome } from './correct-call.ts';
import { USUAL_CALLS } from './hold.ts';

/** When a call ended, and its cost in decimal nano-USD. */
export type RecentCost = readonly [endedAtMs: number, costNanoUsd: string];

/** The cost that the call counts; `null` if it has not ended, was reversed or has no price. */
function countedCost(call: Call): RecentCost | null {
  const { status } = call;
  const outcome = status === 'COMPLETED' || status === 'FAILED' ? countedOutcome(call) : null;
  return outcome?.price.status === 'FINAL' ? [outcome.endedAtMs, outcome.price.costNanoUsd] : null;
}

/** The last costs with that of a call that has ended. */
export function addCost(costs: readonly RecentCost[], ended: Call): readonly RecentCost[] {
  const cost = countedCost(ended);
  return cost ? [...costs, cost].sort(([a], [b]) => a - b).slice(-USUAL_CALLS) : costs;
}

/** The last costs after a correction. */
export function correctCost(costs: readonly RecentCost[], before: Call, after: Call): readonly RecentCost[] {
  const was = countedCost(before);
  if (!was) return addCost(costs, after);
  const index = costs.findIndex(([endedAtMs, cost]) => endedAtMs === was[0] && cost === was[1]);
  return index === -1 ? costs : addCost(costs.toSpliced(index, 1), after);
}
