/**
 * Sampling decisions: the calls that are stored for review, and the reasons.
 *
 * The decision depends only on the policy, the call and a fraction, which is derived from the hash of the policy's
 * version and the call's sampling key. So the service and a client decide alike, and a key keeps its decision until the
 * policy changes.
 */

export interface SamplingPolicy {
  /** Share of the eligible calls that is sampled, 0 to 1. */
  rate: number;
  minInputTokens: number;
  /** An empty `include` means every feature. */
  features: { include: string[]; exclude: string[] };
  customers: { exclude: string[] };
  retentionDays: number;
}

/** Used until the operator sets a policy: no call is sampled. */
export const DEFAULT_SAMPLING_POLICY: SamplingPolicy = {
  rate: 0,
  minInputTokens: 0,
  features: { include: [], exclude: [] },
  customers: { exclude: [] },
  retentionDays: 30,
};

/** In the order in which the rules are evaluated. */
export const SAMPLING_REASONS = [
  'CUSTOMER_EXCLUDED',
  'FEATURE_EXCLUDED',
  'FEATURE_NOT_INCLUDED',
  'BELOW_MIN_INPUT_TOKENS',
  'NOT_SELECTED',
  'SELECTED',
] as const;

type SamplingReason = (typeof SAMPLING_REASONS)[number];

export interface SamplingCandidate {
  customerId?: string | undefined;
  feature?: string | undefined;
  inputTokens: number;
}

export interface SamplingDecision {
  sample: boolean;
  reason: SamplingReason;
}

/** `fraction` is `hashFraction` the hash of `sampledText`. */
export function decideSampling(
  policy: SamplingPolicy,
  candidate: SamplingCandidate,
  fraction: number,
): SamplingDecision {
  const reason = reasonFor(policy, candidate, fraction);
  return { sample: reason === 'SELECTED', reason };
}

function reasonFor(
  policy: SamplingPolicy,
  { customerId, feature, inputTokens }: SamplingCandidate,
  fraction: number,
): SamplingReason {
  const { features, customers } = policy;
  if (customerId !== undefined && customers.exclude.includes(customerId)) return 'CUSTOMER_EXCLUDED';
  if (feature !== undefined && features.exclude.includes(feature)) return 'FEATURE_EXCLUDED';
  if (features.include.length > 0 && (feature === undefined || !features.include.includes(feature)))
    return 'FEATURE_NOT_INCLUDED';
  if (inputTokens < policy.minInputTokens) return 'BELOW_MIN_INPUT_TOKENS';
  return fraction < policy.rate ? 'SELECTED' : 'NOT_SELECTED';
}

/** The text whose SHA-256 decides. */
export function sampledText(policyVersion: string, samplingKey: string): string {
  return `${policyVersion}:${samplingKey}`;
}

/** 52 bits are 13 hexadecimal digits, and fit a number exactly. */
const FRACTION_DIGITS = 13;

/** The first 52 bits of a SHA-256 as a share of 2^52: at least 0 and below 1. */
export function hashFraction(sha256Hex: string): number {
  return Number.parseInt(sha256Hex.slice(0, FRACTION_DIGITS), 16) / 2 ** (4 * FRACTION_DIGITS);
}

/** The decision's id, from the other half of the hash: the same for the same key and policy version. */
export function decisionId(sha256Hex: string): string {
  return `sd_${sha256Hex.slice(32)}`;
}

const CHARACTERS_PER_TOKEN = 4;

/** Input tokens if they are known; otherwise an estimate of four characters per token, rounded up, or 0. */
export function candidateTokens(counts: {
  inputTokens?: number | undefined;
  inputCharacters?: number | undefined;
}): number {
  return counts.inputTokens ?? Math.ceil((counts.inputCharacters ?? 0) / CHARACTERS_PER_TOKEN);
}
