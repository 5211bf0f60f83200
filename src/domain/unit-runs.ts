/**
 * The units of a custom meter beyond included and purchased ones, in the order of their increments: runs that the
 * balance paid as overage, and runs that nothing paid.
 *
 * An allowance that becomes free again goes to the earliest of them, so a reversal has to know their order.
 */
import type { SlotUsage } from './account.ts';

type Source = 'overage' | 'unfunded';

export interface Run {
  source: Source;
  units: bigint;
}

/** The figures of these units in a meter's totals. */
export type RunTotals = Pick<SlotUsage, 'overage' | 'unfunded' | 'turns'>;

/** The most runs that are kept apart. Beyond it, the oldest count as if overage had come first. */
const RUNS_MAX = 20;

export function listRuns({ overage, unfunded = '0', turns = [overage, unfunded] }: RunTotals): Run[] {
  return turns.map((units, turn) => ({ source: turnSource(turn), units: BigInt(units) }));
}

/** The runs of an increment: overage would come before unpaid units, but an increment never has both. */
export function runsOfFunding({ overage, unfunded }: Record<Source, number>): Run[] {
  return listRuns({ overage: String(overage), unfunded: String(unfunded) });
}

export function totalsOfRuns(runs: readonly Run[]): Required<Omit<RunTotals, 'turns'>> & Pick<RunTotals, 'turns'> {
  let turns: bigint[] = [0n];
  for (const { source, units } of runs) {
    if (units === 0n) continue;
    const last = turns.length - 1;
    if (turnSource(last) === source) turns[last] = (turns[last] ?? 0n) + units;
    else turns.push(units);
  }
  while (turns.length > RUNS_MAX) {
    const [overage = 0n, unfunded = 0n, nextOverage = 0n, nextUnfunded = 0n, ...others] = turns;
    turns = [overage + nextOverage, unfunded + nextUnfunded, ...others];
  }
  return {
    overage: unitsBy(runs, 'overage').toString(),
    unfunded: unitsBy(runs, 'unfunded').toString(),
    ...(turns.length > 2 && { turns: turns.map(String) }),
  };
}

export function unitsBy(runs: readonly Run[], source: Source): bigint {
  return runs.reduce((sum, run) => (run.source === source ? sum + run.units : sum), 0n);
}

export function unitsIn(runs: readonly Run[]): bigint {
  return runs.reduce((sum, { units }) => sum + units, 0n);
}

/** The first `count` units, as far as they exist, and the units after them. */
export function splitRuns(runs: readonly Run[], count: bigint): [Run[], Run[]] {
  const [first, after]: [Run[], Run[]] = [[], []];
  let left = count;
  for (const { source, units } of runs) {
    const taken = units < left ? units : left;
    left -= taken;
    first.push({ source, units: taken });
    after.push({ source, units: units - taken });
  }
  return [first, after];
}

const turnSource = (turn: number): Source => (turn % 2 === 0 ? 'overage' : 'unfunded');
