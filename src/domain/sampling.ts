/**
 * Which calls are kept for review: a policy, a call and a fraction in, a decision with its reason out.
 *
 * The fraction comes from the hash of the policy's version and the call's sampling key alone. So whoever evaluates the
 * same policy, the service or a client by itself, decides the same, and a key keeps its decision until the policy
 * changes.
 */

export interface SamplingPolicy {
  /** Share of the eligible calls that is kept, 0 to 1. */
  rate: number;
  minInputTokens: number;
  /** An empty `include` means every feature. */
  features: { include: string[]; exclude: string[] };
  customers: { exclude: string[] };
  retentionDays: number;
}

/** In force until the operator sets one: nothing is kept. */
export const DEFAULT_SAMPLING_POLICY: SamplingPolicy = {
  rate: 0,
  minInputTokens: 0,
  features: { include: [], exclude: [] },
  customers: { exclude: [] },
  retentionDays: 30,
};

/** In the order in which they are looked for. */
export const SAMPLING_REASONS = [
  'CUSTOMER_EXCLUDED',
  'FEATURE_EXCLUDED',
  'FEATURE_NOT_INCLUDED',
  'BELOW_MIN_INPUT_TOKENS',
  'NOT_SELECTED',
  'SELECTED',
] as const;

export type SamplingReason = (typeof SAMPLING_REASONS)[number];

export interface SamplingCandidate {
  customerId?: string | undefined;
  feature?: string | undefined;
  inputTokens: number;
}

export interface SamplingDecision {
  sample: boolean;
  reason: SamplingReason;
}

/** `fraction` is `fractionOf` the hash of `sampledText`. */
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

/** What is hashed with SHA-256 to decide. */
export function sampledText(policyVersion: string, samplingKey: string): string {
  return `${policyVersion}:${samplingKey}`;
}

/** 52 bits are 13 hexadecimal digits, and fit a number exactly. */
const FRACTION_DIGITS = 13;

/** The first 52 bits of a SHA-256 as a share of 2^52: at least 0 and below 1. */
export function fractionOf(sha256Hex: string): number {
  return Number.parseInt(sha256Hex.slice(0, FRACTION_DIGITS), 16) / 2 ** (4 * FRACTION_DIGITS);
}

/** The decision's id, from the half of the hash that does not decide: the same key and version have the same one. */
export function decisionIdOf(sha256Hex: string): string {
  return `sd_${sha256Hex.slice(32)}`;
}

const CHARACTERS_PER_TOKEN = 4;

/** Tokens as counted, else four characters to one, rounded up; a call that tells neither has none. */
export function candidateTokens(counts: {
  inputTokens?: number | undefined;
  inputCharacters?: number | undefined;
}): number {
  return counts.inputTokens ?? Math.ceil((counts.inputCharacters ?? 0) / CHARACTERS_PER_TOKEN);
}
