/**
 * Calls whose vendor was asked and reported no usage: the record that is made instead.
 *
 * A vendor that was asked did the work, and no earlier fact shows how much. For a lost answer, the prompt counts as the
 * most that the vendor can count, and the output as the most that is known of it: the text that arrived, or the most
 * that the model can write in its time; never more than its bound, which for a call in steps is its hold. If nobody
 * knows when it ended, its bound counts. For a complete answer, our count of prompt and text is used; if an allowance
 * pays, the answer stays unpriced, because nobody is charged for it. Figures that the vendor reported before its answer
 * broke off are used. Such usage is provisional: the call says so and names the basis, and the vendor's figures replace
 * it when they arrive.
 */
import type { Account } from './account.ts';
import type { IfLost } from './bound.ts';
import { type Call, endCall, isOnCredit } from './call.ts';
import type { CallPart } from './call-parts.ts';
import type { CallReport } from './call-report.ts';
import { OUTPUT_RATE_UNKNOWN, type Worked } from './output-rate.ts';
import type { ResolvedPrice } from './pricing.ts';
import { NO_USAGE, type OutputBasis, type ProvisionalSource, type Usage } from './usage.ts';

/** The known facts of a call without the vendor's figures. Plain JSON. */
export interface Estimate {
  /** The prompt, and the output that arrived, by our count or the vendor's. */
  usage: Usage;
  source: ProvisionalSource;
  /** The answer arrived completely. */
  isWhole: boolean;
  /** The most output tokens of all answers together; absent if all of the output was counted. */
  outputTokensMax?: number;
  /** Absent if nobody knows when the vendor finished. */
  worked?: Worked | undefined;
  /** The highest observed output tokens a second of one answer of the model; absent if none was observed. */
  outputRate?: number | undefined;
  price: ResolvedPrice;
}

/** An earlier attempt of the call whose vendor reported no usage. Plain JSON. */
export interface LostAttempt extends Pick<CallPart, 'providerUsed' | 'modelUsed' | 'isPremium'> {
  estimate: Estimate;
}

/** The known facts of output that nobody counted to its end. */
export interface LostOutput extends Pick<Estimate, 'worked' | 'outputRate'> {
  outputTokensMax: number;
  /** The tokens that arrived. */
  shown: number;
  /**
   * The tokens that are held in steps so far: all output shows there, and the answer is stopped before it shows more.
   */
  heldTokens?: number | undefined;
}

interface Ending {
  report: CallReport;
  price: ResolvedPrice;
}

/** The output tokens of a lost answer, and the basis of that figure. */
export function lostOutput({
  outputTokensMax,
  shown,
  heldTokens,
  worked,
  outputRate = OUTPUT_RATE_UNKNOWN,
}: LostOutput): { tokens: number; basis: OutputBasis } {
  const isHeld = heldTokens !== undefined && heldTokens < outputTokensMax;
  // A vendor that showed more than its bound has exceeded it.
  const bound = Math.max(shown, isHeld ? heldTokens : outputTokensMax);
  const inTime = worked ? Math.ceil((worked.ms * outputRate * worked.answers) / 1_000) : bound;
  const tokens = Math.min(bound, Math.max(shown, inTime));
  if (tokens === shown) return { tokens, basis: 'text' };
  return { tokens, basis: tokens < bound ? 'time' : isHeld ? 'held' : 'bound' };
}

/** The most that a request made its vendor bill besides the output; by our count, if no more is known. */
export function promptAtMost({ inputTokens, inputTokensMax = inputTokens, uses, usesMax = uses }: IfLost): Usage {
  return { ...NO_USAGE, inputTokens: inputTokensMax, ...usesMax };
}

/** The record of the call's end: the estimate in place of usage that the vendor did not report. */
export function withEstimate(call: Call, ending: Ending, estimate: Estimate | undefined): Ending {
  if (!estimate) return ending;
  const { usage, source, isWhole, price } = estimate;
  const { report } = ending;
  if (isWhole && !isOnCredit(call, report, price)) return ending;
  const { tokens, basis } = estimatedOutput(call, { report, price }, estimate);
  const estimated = { ...report.usage, ...usage, searches: report.usage.searches, responseTokens: tokens };
  return { report: { ...report, usage: estimated, usageSource: source, outputBasis: basis }, price };
}

/** The ending with the attempts as parts of the call, each at its own model. */
export function withLostAttempts(call: Call, { report, price }: Ending, attempts: readonly LostAttempt[]): Ending {
  const lost = attempts.map(({ estimate, ...ran }) => {
    const { usage, source, price: its } = estimate;
    const { tokens } = estimatedOutput(call, { report: { ...report, ...ran }, price: its }, estimate);
    return { ...ran, usage: { ...usage, responseTokens: tokens }, usageSource: source, price: its };
  });
  const parts = [...(report.parts ?? []), ...lost];
  return { report: { ...report, parts: parts.length > 0 ? parts : undefined }, price };
}

/** The output of an estimate, and its basis. */
function estimatedOutput(
  call: Call,
  { report, price }: Ending,
  { usage, outputTokensMax, worked, outputRate }: Estimate,
): { tokens: number; basis: OutputBasis } {
  const shown = usage.responseTokens;
  if (outputTokensMax === undefined) return { tokens: shown, basis: 'text' };
  const heldTokens = isOnCredit(call, report, price) ? call.credit?.steps?.heldTokens : undefined;
  // After its deadline the call holds nothing: the count of that time is the most that a later estimate can be.
  const most = Math.min(outputTokensMax, call.outcome?.usage.responseTokens ?? outputTokensMax);
  return lostOutput({ outputTokensMax: most, shown, heldTokens, worked, outputRate });
}

/** Ends a call of the service whose vendor did not answer before its deadline. */
export function endLostCall(
  account: Account,
  call: Call,
  ifLost: NonNullable<Call['ifLost']>,
  chargeId: string,
): { account: Account; call: Call } {
  const { outputTokensMax, providerUsed, modelUsed, price } = ifLost;
  const nothingCame = promptAtMost(ifLost);
  const estimate: Estimate = { usage: nothingCame, source: 'estimated', isWhole: false, outputTokensMax, price };
  const error = { code: 'CALL_TIMEOUT', message: 'nothing was heard of the call until its deadline' };
  const { report } = withEstimate(
    call,
    { report: { providerUsed, modelUsed, usage: NO_USAGE, error }, price },
    estimate,
  );
  const ended = endCall(account, call, report, price, chargeId, call.deadlineAtMs);
  return { ...ended, call: { ...ended.call, status: 'TIMEOUT' } };
}
