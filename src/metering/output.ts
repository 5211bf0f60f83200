/**
 * The output of a call that the service makes: how many tokens an answer may have, and what is recorded where the vendor
 * reports no usage.
 */
import type { CallBound } from '../domain/bound.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from '../domain/hold.ts';
import type { Estimate } from '../domain/lost-call.ts';
import type { Tier } from '../domain/tiers.ts';
import { atBound, type UsageBound } from '../domain/unclear-usage.ts';
import { NO_USAGE, type Usage } from '../domain/usage.ts';
import type { Admission } from '../objects/customer-commands.ts';
import type { StreamSoFar } from '../vendors/tee.ts';
import { usageOf } from './end-service-call.ts';

/** A request to a model, by what it may use and by who pays. */
export interface Bounded {
  tier: Tier;
  bound: CallBound;
}

/** The tokens that an answer may have; `null` where neither plan nor balance bound it. */
export function tokensPerAnswer({ tier, bound }: Bounded, { outputTokens }: Admission): number | null {
  const held = outputTokens[tier];
  if (held === undefined) return null;
  const perAnswer = Math.max(1, Math.floor(held / bound.answers));
  return Math.min(perAnswer, bound.outputTokens ?? perAnswer);
}

/** The tokens that an answer may have, where that is less than request and model allow. */
export function loweredBound(bounded: Bounded, admission: Admission): number | null {
  const perAnswer = tokensPerAnswer(bounded, admission);
  const asked = bounded.bound.outputTokens ?? Number.POSITIVE_INFINITY;
  return perAnswer !== null && perAnswer < asked ? perAnswer : null;
}

/** What a request can use at most, which counts for figures of its vendor that make no sense. */
export function usageAtMost({ tier, bound }: Bounded, { outputTokens }: Admission): UsageBound | undefined {
  if (!bound.atMost) return undefined;
  const most = (bound.outputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT) * bound.answers;
  const allowed = outputTokens[tier] ?? most;
  return {
    ...bound.atMost,
    outputTokens: bound.outputTokens === null ? allowed : Math.min(allowed, most),
    promptTokens: bound.ifLost?.inputTokens ?? 0,
  };
}

/** What is recorded of an answer that did not come: the prompt as we count it, and output that nobody has seen. */
export function unseenOutput({ tier, bound }: Bounded, { outputTokens }: Admission): Omit<Estimate, 'price'> {
  const most = (bound.outputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT) * bound.answers;
  return {
    usage: promptOf(bound),
    source: 'estimated',
    isWhole: false,
    outputTokensMax: Math.min(outputTokens[tier] ?? most, bound.ifLost?.outputTokens ?? most),
  };
}

/** What a request makes its vendor bill besides the output, as we count it. */
function promptOf({ ifLost }: CallBound): Usage {
  return { ...NO_USAGE, inputTokens: ifLost?.inputTokens ?? 0, ...ifLost?.uses };
}

/** What is recorded of an answer that came, or broke off, without usage: never more output than the call was allowed. */
export function seenOutput(
  bounded: Bounded,
  admission: Admission,
  { partial, outputTokens }: StreamSoFar,
  isWhole: boolean,
): Omit<Estimate, 'price'> {
  const { tier, bound } = bounded;
  const counted = Math.min(outputTokens, admission.outputTokens[tier] ?? outputTokens);
  if (partial === null) {
    const usage = { ...promptOf(bound), responseTokens: bound.outputTokens === 0 ? 0 : counted };
    return { usage, source: 'estimated', isWhole };
  }
  // Of an answer that has not ended, our count goes before an unclear output.
  const unclear = partial.unclear?.filter((figure) => figure !== 'responseTokens');
  const reported = usageOf(partial);
  const usage = atBound(reported, { unclear }, usageAtMost(bounded, admission), null) ?? reported;
  const responseTokens = Math.max(usage.responseTokens, counted);
  return { usage: { ...usage, responseTokens }, source: 'partial', isWhole };
}
