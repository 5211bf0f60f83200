/**
 * The reason of a denied call in sentences, from the decision that was recorded with the call.
 */
import type { ReadCallData } from '../contract/calls.ts';
import { pastSumsSentence } from '../contract/denial.ts';
import { meterInText } from '../domain/meter-names.ts';
import { count } from '../ui/format.ts';

export const REASON_NOT_RECORDED = 'The reason was not recorded.';

/**
 * For example "Asked for premium. Denied: Free includes 0 premium calls, and the balance did not cover the call. The
 * call needed $1.06, and $0.62 was available." `planName` is the name in the plan version of that moment.
 */
export function denialSentence(denial: NonNullable<ReadCallData['denial']>, planName: string): string {
  const { meter, limit, used, also = [], ...sums } = denial;
  const asked = `Asked for ${listed(denial.requested)}. Denied: ${denialReason(denial, planName)}.`;
  const others = also.map((other) => limitSentence(other, planName)).join('; ');
  return [asked, others && `Besides, ${others}.`, pastSumsSentence(sums)]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

function denialReason(denial: NonNullable<ReadCallData['denial']>, planName: string): string {
  const { code, capability } = denial;
  switch (code) {
    case 'SUBSCRIPTION_CANCELED':
      return 'the subscription was canceled';
    case 'CAPABILITY_NOT_IN_PLAN':
      return `${planName} does not include ${capability ?? 'what was asked for'}`;
    case 'ALLOWANCE_EXHAUSTED':
      return limitSentence(denial, planName);
    case 'CREDIT_REQUIRED':
      return `${limitSentence(denial, planName)}, and the balance did not cover the call`;
    case 'BALANCE_HELD':
      return `${limitSentence(denial, planName)}, and open calls and batches held the balance that the call needed`;
    case 'TIER_NOT_REQUESTED':
      return 'the model is of a tier that was not asked for';
  }
}

/** The meter's part of the reason: the plan includes nothing of it, or its allowance is used up. */
function limitSentence(
  { meter, limit, used }: Pick<NonNullable<ReadCallData['denial']>, 'meter' | 'limit' | 'used'>,
  planName: string,
): string {
  const what = meter === null ? 'the allowance' : meterInText(meter);
  if (limit === null || used === null) return `nothing was left of ${what}`;
  if (limit === 0) return `${planName} includes 0 ${what}`;
  return `${count(used)} of the ${count(limit)} ${what} of ${planName} were used`;
}

/** For example `premium`, `premium and search`, or `standard, premium and search`. */
function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}
