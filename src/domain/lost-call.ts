/**
 * Calls whose vendor was asked and reported no usage: what is recorded instead.
 *
 * A vendor that was asked did the work. What it reported before its answer broke off is taken, then our count of the text
 * that came and of the prompt; where no text came that could be counted, what this customer's answers of that model
 * usually have. Such usage is provisional: the call says so, and the vendor's figures replace it whenever they come. A
 * whole answer without usage stays unpriced where an allowance pays, because nobody is charged for it.
 */
import type { Account } from './account.ts';
import { type Call, endCall, isOnCredit } from './call.ts';
import type { CallPart } from './call-parts.ts';
import type { CallReport } from './call-report.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from './hold.ts';
import type { ResolvedPrice } from './pricing.ts';
import { NO_USAGE, type ProvisionalSource, type Usage } from './usage.ts';

/** What is known of a call without the vendor's figures. Plain JSON. */
export interface Estimate {
  /** Counted by us, as far as the vendor did not report it before its answer broke off. */
  usage: Usage;
  source: ProvisionalSource;
  /** The answer came whole. */
  isWhole: boolean;
  /** Where no text came that could be counted: the most output tokens that there can be. */
  outputTokensMax?: number;
  price: ResolvedPrice;
}

/** An earlier attempt of the call, of which no usage was reported. Plain JSON. */
export interface LostAttempt extends Pick<CallPart, 'providerUsed' | 'modelUsed' | 'isPremium'> {
  estimate: Estimate;
}

/** Output tokens that this customer's answers of a model usually have; `null` where there were none. */
export type UsualOutput = (modelUsed: string | undefined) => number | null;

interface Ending {
  report: CallReport;
  price: ResolvedPrice;
}

/** What is recorded of the end of the call: the estimate in place of usage that the vendor did not report. */
export function withEstimate(call: Call, ending: Ending, estimate: Estimate | undefined, usual: UsualOutput): Ending {
  if (!estimate) return ending;
  const { usage, source, isWhole, price } = estimate;
  const { report } = ending;
  if (isWhole && !isOnCredit(call, report, price)) return ending;
  const responseTokens = estimatedOutput(call, estimate, report.modelUsed, usual);
  const estimated = { ...report.usage, ...usage, searches: report.usage.searches, responseTokens };
  return { report: { ...report, usage: estimated, usageSource: source }, price };
}

/** The ending with the attempts as parts of the call, each at its own model. */
export function withLostAttempts(
  call: Call,
  { report, price }: Ending,
  attempts: readonly LostAttempt[],
  usual: UsualOutput,
): Ending {
  const lost = attempts.map(({ estimate, ...ran }) => {
    const responseTokens = estimatedOutput(call, estimate, ran.modelUsed, usual);
    const { usage, source, price: its } = estimate;
    return { ...ran, usage: { ...usage, responseTokens }, usageSource: source, price: its };
  });
  const parts = [...(report.parts ?? []), ...lost];
  return { report: { ...report, parts: parts.length > 0 ? parts : undefined }, price };
}

function estimatedOutput(
  call: Call,
  { usage, outputTokensMax }: Estimate,
  modelUsed: string | undefined,
  usual: UsualOutput,
): number {
  return outputTokensMax === undefined ? usage.responseTokens : unseenTokens(call, outputTokensMax, usual(modelUsed));
}

/** Ends a call of the service of which nothing was heard until its deadline. */
export function endLostCall(
  account: Account,
  call: Call,
  { inputTokens, uses, outputTokensMax, providerUsed, modelUsed, price }: NonNullable<Call['ifLost']>,
  usual: UsualOutput,
  chargeId: string,
): { account: Account; call: Call } {
  const responseTokens = unseenTokens(call, outputTokensMax, usual(modelUsed));
  const report: CallReport = {
    providerUsed,
    modelUsed,
    usage: { ...NO_USAGE, inputTokens, responseTokens, ...uses },
    usageSource: 'estimated',
    error: { code: 'CALL_TIMEOUT', message: 'nothing was heard of the call until its deadline' },
  };
  const ended = endCall(account, call, report, price, chargeId, call.deadlineAtMs);
  return { ...ended, call: { ...ended.call, status: 'TIMEOUT' } };
}

/**
 * The output tokens of an answer that nobody saw: what is usual, at most its bound. Where nothing is usual yet, the bound,
 * and no more than the default one: an allowance may leave an answer to the largest that a model makes. A call in steps
 * has no more than it holds.
 */
function unseenTokens({ credit }: Call, outputTokensMax: number, usual: number | null): number {
  const most = Math.min(outputTokensMax, credit?.steps?.heldTokens ?? outputTokensMax);
  return Math.min(most, usual ?? OUTPUT_TOKENS_MAX_DEFAULT);
}
