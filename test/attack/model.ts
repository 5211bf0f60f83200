/**
 * The model of an attack: who makes it, what it must not achieve, and its report.
 */
import type { World } from './world.ts';

export interface Attack {
  name: string;
  by: 'stranger' | 'browser' | 'tenant';
  /** The promise that holds despite the attack, in one sentence. */
  promise: string;
  run(world: World, size: Size): Promise<Findings>;
}

/** How much an attack sends: the full number, or a few requests that show the same rule. */
type Size = <Count>(full: Count, short: Count) => Count;

interface Findings {
  figures: Record<string, number | string>;
  /** Figures that have to stay at or below a number on a quiet machine. */
  goals?: Record<string, number>;
  /** Promises that did not hold, a sentence each. */
  broken: string[];
}

export interface Outcome extends Required<Findings> {
  name: string;
  by: Attack['by'];
  promise: string;
}

/** The sentences whose condition does not hold. */
export function brokenOf(...checks: [holds: boolean, sentence: string][]): string[] {
  return checks.flatMap(([holds, sentence]) => (holds ? [] : [sentence]));
}
