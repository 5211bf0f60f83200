/**
 * The most that the allowances let a call use, decided before it runs: output tokens of its tier, searches, seconds of
 * sound, and answers.
 *
 * Only a call that the service makes itself can be limited to it. The policy NONE limits nothing.
 */
import { isTierLeft, type MeterState, summarize } from './allowances.ts';
import type { CallBound, Gap } from './bound.ts';
import { leastOutputTokens } from './hold.ts';
import type { MeterName, Quantities } from './meters.ts';
import { ANSWERS_MAX_DEFAULT, type Plan } from './plan.ts';
import { QUANTITY_SCALE } from './quantity.ts';
import type { Tier } from './tiers.ts';

/** The most that an open call may use because of its allowances. Plain JSON. */
export interface AllowanceBound {
  /** The output tokens of all answers together, by the tier whose allowance pays. */
  outputTokens: Partial<Record<Tier, number>>;
  /** Absent if the plan does not limit them, or the call makes none. */
  searches?: number;
}

/** The output that the allowance of a tier lets a call write. */
export interface AllowedOutput {
  /** Output tokens of all answers together; `null` if the allowance does not bound them. */
  tokens: number | null;
  /** Enough is left for a useful answer. */
  isEnough: boolean;
  /** Less is left than the call asks for. */
  isCut: boolean;
}

/** `bounds` are those of the models of the tier that may run. */
export function allowedOutput(plan: Plan, meters: MeterState, tier: Tier, bounds: readonly CallBound[]): AllowedOutput {
  const { limitType, maxOutputTokens, reserveOutputTokens } = plan;
  const left = remainingUnits(plan, meters, `${tier}Tokens`);
  const isLeft = isTierLeft(plan, meters, tier);
  const most = maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const asking = bounds
    .filter((bound) => isMadeHere(bound) && !bound.cannotBeLowered && bound.outputTokens !== 0)
    .map((bound) => ({ ...bound, outputTokens: Math.min(bound.outputTokens ?? most, most) }));
  const isBounded = Number.isFinite(left) || maxOutputTokens != null || reserveOutputTokens !== null;
  if (limitType === 'NONE' || !isBounded || asking.length === 0)
    return { tokens: null, isEnough: isLeft, isCut: false };
  const answers = Math.max(...asking.map((bound) => bound.answers));
  const asked = Math.min(
    // Each answer has at least one token.
    Math.max(reserveOutputTokens ?? Number.POSITIVE_INFINITY, answers),
    Math.max(...asking.map((bound) => bound.outputTokens * bound.answers)),
  );
  return {
    tokens: Math.min(asked, left),
    isEnough: isLeft && left >= Math.min(leastOutputTokens(asking), asked),
    isCut: left < asked,
  };
}

/** The amount of a meter that a call can use. */
export interface Uses {
  /** The least amount with which it can run. */
  least: number;
  most: number;
}

/** The most that a call can use of the meters that its plan limits, as far as the request shows. */
export function limitedUses(plan: Plan, bounds: readonly CallBound[]): { searches?: Uses; audioSeconds?: Uses } {
  const { limits, limitType } = plan;
  const limited = (meter: 'searches' | 'audioSeconds') => limitType !== 'NONE' && limits[meter] !== null;
  const made = bounds.filter(isMadeHere);
  const searches = highestUses(
    made.map(({ uses = {}, searchesAtLeast }) => {
      const most = uses.webSearch ?? 0;
      return { most, least: Math.min(most, searchesAtLeast ?? most) };
    }),
  );
  const audioSeconds = highestUses(
    made.map(({ uses = {} }) => {
      const seconds = Math.ceil((uses.audioSeconds ?? 0) * QUANTITY_SCALE) / QUANTITY_SCALE;
      return { most: seconds, least: seconds };
    }),
  );
  return {
    ...(limited('searches') && searches.most > 0 && { searches }),
    ...(limited('audioSeconds') && audioSeconds.most > 0 && { audioSeconds }),
  };
}

/** The part of these uses that is reserved: the most that they can be, or the rest of the meter. */
export function reservedUses(plan: Plan, meters: MeterState, uses: ReturnType<typeof limitedUses>): Quantities {
  const of = (meter: 'searches' | 'audioSeconds') =>
    Math.min(uses[meter]?.most ?? 0, remainingUnits(plan, meters, meter));
  return {
    ...(uses.searches && { searches: of('searches') }),
    ...(uses.audioSeconds && { audioSeconds: of('audioSeconds') }),
  };
}

export function limitsSearches({ limits, limitType }: Plan): boolean {
  return limitType !== 'NONE' && limits.searches !== null;
}

/** Why a limited number of searches does not pay for the call: no model of it has a bound on them. */
export function searchGap(plan: Plan, bounds: readonly CallBound[]): Gap | null {
  if (!limitsSearches(plan)) return null;
  const made = bounds.filter(isMadeHere);
  return made.every((bound) => bound.searchGap !== undefined) ? (made[0]?.searchGap ?? null) : null;
}

/** The field that asks for more text answers than the plan allows, and the number. */
export interface AnswersBeyond {
  param: string;
  count: number;
  most: number;
}

/** `null` if no request asks for more answers than the plan allows. */
export function answersBeyond(
  { limitType, maxAnswers = ANSWERS_MAX_DEFAULT }: Plan,
  asked: readonly Pick<CallBound, 'choices'>[],
): AnswersBeyond | null {
  if (limitType === 'NONE') return null;
  const beyond = asked.map(({ choices }) => choices).find((choices) => choices && choices.count > maxAnswers);
  return beyond ? { param: beyond.param, count: beyond.count, most: maxAnswers } : null;
}

/** Whether the service asks the vendor itself, so that it can send a bound. */
function isMadeHere({ ifLost }: CallBound): boolean {
  return ifLost !== undefined;
}

/** The remaining amount of a meter; infinite if the plan does not limit it. */
function remainingUnits(plan: Plan, meters: MeterState, meter: MeterName): number {
  const { unlimited, remaining } = summarize(plan, meters, meter);
  return unlimited ? Number.POSITIVE_INFINITY : remaining;
}

function highestUses(uses: readonly Uses[]): Uses {
  return {
    least: Math.max(0, ...uses.map(({ least }) => least)),
    most: Math.max(0, ...uses.map(({ most }) => most)),
  };
}
