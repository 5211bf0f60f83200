/**
 * The reasoning effort of one attempt: what was asked, under the plan's ceiling, as the model can run it.
 *
 * Where nothing was asked, the model's own default stands, unless the ceiling leaves it no more than its lowest level:
 * naming that one can never make a model think more than it would have.
 */
import type { ReasoningLevel } from '../domain/plan.ts';
import { ceilingOf, EFFORTS, type Effort, effectiveEffort, withinCeiling } from '../vendors/effort.ts';

export interface EffortChoice {
  /** `undefined` leaves the field out. */
  sent: Effort | undefined;
  source: 'gateway_config' | 'provider_request' | undefined;
}

export function chooseEffort(
  asked: Effort | undefined,
  ceiling: ReasoningLevel,
  supported: readonly string[] | undefined,
): EffortChoice {
  if (asked === undefined) {
    const highest = ceilingOf(ceiling);
    const lowest = EFFORTS.find((level) => supported?.includes(level));
    const forced = highest !== undefined && lowest !== undefined && effectiveEffort(highest, supported) === lowest;
    return forced ? { sent: lowest, source: 'gateway_config' } : { sent: undefined, source: undefined };
  }
  const sent = effectiveEffort(withinCeiling(asked, ceiling), supported);
  return { sent, source: sent === undefined ? undefined : sent === asked ? 'provider_request' : 'gateway_config' };
}
