/**
 * Reasoning effort as one scale: the requested level, lowered to the plan's ceiling and to a level that the model
 * supports (contract 4.1, rules 3 and 4).
 *
 * The catalog's `reasoningEfforts` has the supported levels. If the catalog does not know them, the requested level
 * passes unchanged and the vendor decides.
 */
import type { ReasoningLevel } from '../domain/plan.ts';
import { EFFORTS, type Effort, type Fields, fieldsOrEmpty } from './usage/figures.ts';

export type { Effort } from './usage/figures.ts';

export function isEffort(value: unknown): value is Effort {
  return EFFORTS.some((level) => level === value);
}

export interface EffortChoice {
  /** The level to send; `undefined` leaves the field out. */
  effort: Effort | undefined;
  source: 'gateway_config' | 'provider_request' | undefined;
}

/**
 * The effort of one attempt: the requested level under the plan's ceiling, as the model supports it.
 *
 * If no level was requested, the model's own default stays. Only if the ceiling allows no more than the model's lowest
 * level is that level sent: it can never make a model think more than its default would.
 */
export function chooseEffort(
  requested: Effort | undefined,
  ceiling: ReasoningLevel,
  supported: readonly string[] | undefined,
): EffortChoice {
  if (requested === undefined) {
    const highest = effortCeiling(ceiling);
    const lowest = EFFORTS.find((level) => supported?.includes(level));
    const forced = highest !== undefined && lowest !== undefined && effectiveEffort(highest, supported) === lowest;
    return forced ? { effort: lowest, source: 'gateway_config' } : { effort: undefined, source: undefined };
  }
  const effort = effectiveEffort(withinCeiling(requested, ceiling), supported);
  if (effort === undefined) return { effort, source: undefined };
  return { effort, source: effort === requested ? 'provider_request' : 'gateway_config' };
}

/**
 * The level at which the model runs: the requested one if it is supported, otherwise the nearest below, otherwise the
 * model's lowest. `minimal` becomes the lowest level that reasons at all. `undefined` if the model has no levels: the
 * field is then left out.
 */
export function effectiveEffort(requested: Effort, supported: readonly string[] | undefined): Effort | undefined {
  if (supported === undefined) return requested;
  const levels = EFFORTS.filter((level) => supported.includes(level));
  if (levels.includes(requested)) return requested;
  const [lowest] = levels;
  if (requested === 'minimal') return levels.find((level) => level !== 'none') ?? lowest;
  return levels.findLast((level) => rank(level) < rank(requested)) ?? lowest;
}

/** The highest level that a plan allows; `undefined` is no ceiling. */
export function effortCeiling(level: ReasoningLevel): Effort | undefined {
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

/** The most tokens of thinking under a ceiling, for requests that bound it in tokens. */
const THINKING_TOKENS_MAX: Partial<Record<Effort, number>> = { none: 0, low: 4_096, medium: 16_384 };

/** The lower of the requested thinking tokens and the ceiling's. */
export function thinkingWithin(tokens: number, ceiling: Effort | undefined): number {
  return ceiling === undefined ? tokens : Math.min(tokens, THINKING_TOKENS_MAX[ceiling] ?? tokens);
}

/** The lower of the requested level and the ceiling. */
export function withinCeiling(requested: Effort, level: ReasoningLevel): Effort {
  const ceiling = effortCeiling(level);
  return ceiling !== undefined && rank(ceiling) < rank(requested) ? ceiling : requested;
}

/**
 * The body of a request in OpenAI's forms, for a model that takes no effort: without `reasoning_effort`, and without
 * `reasoning` if that names an effort.
 */
export function withoutEffort(body: Fields): Fields {
  const { reasoning_effort: _effort, reasoning, ...rest } = body;
  return reasoning === undefined || fieldsOrEmpty(reasoning).effort !== undefined ? rest : { ...rest, reasoning };
}

/** Values of an effort, a budget or a mode that ask for no thinking. */
const NO_THINKING = new Set(['', '0', 'none', 'disabled', 'false']);

/** Whether the request asks its model to think, in any vendor's form. Without that, the model's own default stands. */
export function asksToThink(body: Fields): boolean {
  const { reasoning_effort, reasoning, output_config, thinking } = body;
  const { effort, max_tokens, enabled } = fieldsOrEmpty(reasoning);
  const { type, budget_tokens } = fieldsOrEmpty(thinking);
  const configs = [body.generationConfig, body.generation_config].flatMap((holder) => {
    const { thinkingConfig, thinking_config } = fieldsOrEmpty(holder);
    return [fieldsOrEmpty(thinkingConfig), fieldsOrEmpty(thinking_config)];
  });
  return [
    ...[reasoning_effort, effort, max_tokens, enabled, fieldsOrEmpty(output_config).effort, type ?? budget_tokens],
    ...configs.flatMap((config) => [config.thinkingLevel, config.thinking_level]),
    ...configs.flatMap((config) => [config.thinkingBudget, config.thinking_budget]),
  ].some((asked) => asked != null && !NO_THINKING.has(String(asked).toLowerCase()));
}

function rank(level: Effort): number {
  return EFFORTS.indexOf(level);
}
