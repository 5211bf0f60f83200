/**
 * Reasoning effort as one ladder: what a caller asked for, under the plan's ceiling, as the model can run it (contract
 * 4.1, rules 3 and 4).
 *
 * What a model supports is the catalog's `reasoningEfforts`. Where the catalog does not say, the request travels
 * unchanged: the vendor knows, and nothing is invented on the way.
 */
import type { ReasoningLevel } from '../domain/plan.ts';
import { EFFORTS, type Effort } from './usage/figures.ts';

export { EFFORTS, type Effort } from './usage/figures.ts';

export function isEffort(value: unknown): value is Effort {
  return EFFORTS.some((level) => level === value);
}

/**
 * The level that the model runs at: the requested one where it is supported, else the nearest below, else the lowest
 * that there is. `minimal` becomes the lowest level that reasons at all. `undefined` where the model has no levels, so
 * that the field is to be left out.
 */
export function effectiveEffort(requested: Effort, supported: readonly string[] | undefined): Effort | undefined {
  if (supported === undefined) return requested;
  const levels = EFFORTS.filter((level) => supported.includes(level));
  if (levels.includes(requested)) return requested;
  const [lowest] = levels;
  if (requested === 'minimal') return levels.find((level) => level !== 'none') ?? lowest;
  return levels.findLast((level) => rank(level) < rank(requested)) ?? lowest;
}

/** The highest level that a plan admits; `undefined` is no ceiling. */
export function ceilingOf(level: ReasoningLevel): Effort | undefined {
  switch (level) {
    case 'NONE':
      return 'none';
    case 'LOW':
      return 'low';
    case 'MEDIUM':
      return 'medium';
    case 'HIGH':
      return undefined;
  }
}

/** The requested level, or the ceiling where that is lower. */
export function withinCeiling(requested: Effort, level: ReasoningLevel): Effort {
  const ceiling = ceilingOf(level);
  return ceiling !== undefined && rank(ceiling) < rank(requested) ? ceiling : requested;
}

function rank(level: Effort): number {
  return EFFORTS.indexOf(level);
}
