/**
 * The output of a call that the service makes: the most tokens of an answer, the most searches, and the recorded usage
 * if the vendor reports none.
 */
import type { CallBound } from '../../domain/bound.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from '../../domain/hold.ts';
import { type Estimate, promptAtMost } from '../../domain/lost-call.ts';
import type { Worked } from '../../domain/output-rate.ts';
import type { Tier } from '../../domain/tiers.ts';
import { atBound, type UsageBound } from '../../domain/unclear-usage.ts';
import { NO_USAGE, type Usage } from '../../domain/usage.ts';
import { kindAt } from '../../domain/vendor-kind.ts';
import type { Admission } from '../../objects/customer-commands.ts';
import type { StreamSoFar } from '../../vendors/tee.ts';
import type { VendorUsage } from '../../vendors/usage.ts';
import { toUsage } from './end.ts';

/** A request to a model: the most that it may use, and who pays. */
export interface Bounded {
  tier: Tier;
  bound: CallBound;
}

/** The tokens that an answer may have; `null` if neither plan nor balance bounds them. */
export function tokensPerAnswer({ tier, bound }: Bounded, { outputTokens }: Admission): number | null {
  const held = outputTokens[tier];
  if (held === undefined) return null;
  const perAnswer = Math.max(1, Math.floor(held / bound.answers));
  return Math.min(perAnswer, bound.outputTokens ?? perAnswer);
}

/** The searches that the vendor is limited to; `null` if nothing limits them, or no field of the request could. */
export function searchesMax({ bound }: Pick<Bounded, 'bound'>, { searches }: Admission): number | null {
  return bound.searchesAtLeast === undefined ? null : (searches ?? null);
}

/** The tokens that an answer may have, if that is less than request and model allow. */
export function loweredBound(bounded: Bounded, admission: Admission): number | null {
  const perAnswer = tokensPerAnswer(bounded, admission);
  const asked = bounded.bound.outputTokens ?? Number.POSITIVE_INFINITY;
  return perAnswer !== null && perAnswer < asked ? perAnswer : null;
}

/** The most that a request can use; it counts for figures of its vendor that make no sense. */
export function usageAtMost({ tier, bound }: Bounded, admission: Admission): UsageBound | undefined {
  const { outputTokens } = admission;
  const { ifLost, uses } = bound;
  if (!ifLost || !uses) return undefined;
  const most = (bound.outputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT) * bound.answers;
  const allowed = outputTokens[tier] ?? most;
  const searches = searchesMax({ bound }, admission);
  return {
    inputTokens: ifLost.inputTokensMax ?? ifLost.inputTokens,
    uses: { ...uses, ...(searches !== null && { webSearch: searches }) },
    outputTokens: bound.outputTokens === null ? allowed : Math.min(allowed, most),
    promptTokens: ifLost.inputTokens,
  };
}

/** The time at which a vendor was asked; and the time at which it finished or was left, if that was not just now. */
export interface Asked {
  atMs: number;
  leftAtMs?: number | undefined;
}

/** The most time that the vendor worked at the request. */
function workedAt({ bound }: Pick<Bounded, 'bound'>, { atMs, leftAtMs = Date.now() }: Asked): Worked {
  return { ms: Math.max(0, leftAtMs - atMs), answers: bound.answers };
}

/**
 * A measurement of how fast the model writes: only at a known vendor, because the organization runs or chooses others.
 */
export function measuredAt(address: string, bounded: Pick<Bounded, 'bound'>, asked: Asked): Worked | undefined {
  return kindAt(address) === null ? undefined : workedAt(bounded, asked);
}

type Counted = Omit<Estimate, 'price' | 'outputRate'>;

/** The recorded usage of an answer that did not arrive: the prompt at its bound, and output that nobody has seen. */
export function unseenOutput(bounded: Bounded, admission: Admission, asked: Asked): Counted {
  return {
    usage: mostOfPrompt(bounded.bound),
    source: 'estimated',
    isWhole: false,
    outputTokensMax: outputTokensMax(bounded, admission),
    worked: workedAt(bounded, asked),
  };
}

/** The recorded usage of a whole answer in a form whose output cannot be counted: the bound. */
export function uncountedOutput(bounded: Bounded, admission: Admission): Counted {
  return {
    usage: likelyPrompt(bounded.bound),
    source: 'estimated',
    isWhole: true,
    outputTokensMax: outputTokensMax(bounded, admission),
  };
}

/** The most output tokens of all answers together. */
function outputTokensMax({ tier, bound }: Bounded, { outputTokens }: Admission): number {
  const most = (bound.outputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT) * bound.answers;
  return Math.min(outputTokens[tier] ?? most, bound.ifLost?.outputTokens ?? most);
}

/** The uses besides the output that a request makes its vendor bill, by Callmeter's own count. */
function likelyPrompt({ ifLost }: CallBound): Usage {
  return { ...NO_USAGE, inputTokens: ifLost?.inputTokens ?? 0, ...ifLost?.uses };
}

function mostOfPrompt({ ifLost }: CallBound): Usage {
  return ifLost ? promptAtMost(ifLost) : NO_USAGE;
}

/**
 * The recorded usage of an answer that arrived, or broke off, without usage. A whole answer used the text that arrived,
 * and never more than the call was allowed. A broken answer may have gone on unseen.
 */
export function seenOutput(
  bounded: Bounded,
  admission: Admission,
  { partial, outputTokens }: StreamSoFar,
  isWhole: boolean,
  asked: Asked,
): Counted {
  const { tier, bound } = bounded;
  const counted = bound.outputTokens === 0 ? 0 : Math.min(outputTokens, admission.outputTokens[tier] ?? outputTokens);
  const prompt = isWhole ? likelyPrompt(bound) : mostOfPrompt(bound);
  const reported = partial && partialUsage(partial, usageAtMost(bounded, admission));
  // A vendor that reported only its output has not reported a free prompt.
  const usage = reported ? { ...reported, inputTokens: reported.inputTokens || prompt.inputTokens } : prompt;
  return {
    usage: { ...usage, responseTokens: Math.max(usage.responseTokens, counted) },
    source: reported ? 'partial' : 'estimated',
    isWhole,
    ...(!isWhole && { outputTokensMax: outputTokensMax(bounded, admission), worked: workedAt(bounded, asked) }),
  };
}

/** The reported usage of an unfinished answer: our own count of the output replaces an unclear one. */
function partialUsage(partial: VendorUsage, atMost: UsageBound | undefined): Usage {
  const reported = toUsage(partial);
  const unclear = partial.unclear?.filter((figure) => figure !== 'responseTokens');
  return atBound(reported, { unclear }, atMost, null) ?? reported;
}
