/**
 * Usage plans as the rules see them: complete, with every default filled in, and immutable once a version exists.
 *
 * The operator's document and its defaults are described in `contract/plans.ts`; the two shapes are the same.
 */
import type { LimitName, MeterSlot } from './meters.ts';
import type { Replenish } from './period.ts';

export type LimitPolicy = 'NONE' | 'BLOCK' | 'DOWNGRADE';
/** Whether calls on credit hold the most that they can cost, or the expected cost (expected-hold.ts). */
export const HOLD_POLICIES = ['EXACT', 'EXPECTED'] as const;
export type HoldPolicy = (typeof HOLD_POLICIES)[number];
export type ReasoningLevel = 'NONE' | 'LOW' | 'MEDIUM' | 'HIGH';
/**
 * The features of a call besides text. `tools` are those that the vendor hosts, bills besides tokens, or lets reach
 * other systems.
 */
export const CAPABILITIES = ['audio', 'image', 'search', 'tools'] as const;
export type Capability = (typeof CAPABILITIES)[number];
/**
 * The capabilities that callers ask for and see: the contract lists these three. Only the vendor's request shows that a
 * call uses tools.
 */
export type AskedCapability = Exclude<Capability, 'tools'>;

/** The answers that one call may ask for if the plan sets no number. */
export const ANSWERS_MAX_DEFAULT = 8;

export interface CustomMeter {
  enabled: boolean;
  label: string;
  included: number;
  unlimited: boolean;
  funding: { credits: boolean; payg: boolean };
  overage?:
    | { model: 'SINGLE'; priceUsd: string; per: string }
    | { model: 'GRADUATED'; tiers: OverageTier[] }
    | undefined;
}

export interface OverageTier {
  upTo: string | null;
  priceUsd: string;
  per: string;
}

/** The alerts of a plan's customers; an absent field has the default (alerts.ts). */
export interface Alerts {
  /** Percent of the limit of each limited meter. */
  thresholdsPercent?: readonly number[] | undefined;
  /** A decimal amount, below which the balance is low; `null` is none. */
  balanceBelowUsd?: string | null | undefined;
  /** Days of forecast spend, below which the balance is low; `null` is none. */
  balanceBelowDays?: number | null | undefined;
}

export interface Plan {
  name: string;
  limitType: LimitPolicy;
  reasoningLevel: ReasoningLevel;
  replenish: Replenish;
  /** `null` is unlimited, 0 is none. Seconds for audioSeconds, otherwise counts. */
  limits: Record<LimitName, number | null>;
  /** Older versions do not have `tools`, and allow them. */
  features: Record<AskedCapability, boolean> & { tools?: boolean | undefined };
  rollingCalls: { limit: number; windowSeconds: number } | null;
  reserveOutputTokens: number | null;
  /** The most output tokens of an answer that an allowance pays for. Older versions have none, like `null`. */
  maxOutputTokens?: number | null | undefined;
  /** The answers that one call may ask for. Older versions have the default. */
  maxAnswers?: number | undefined;
  payg: {
    enabled: boolean;
    markupPercent: number;
    /** Older versions have no bound, which means its default (hold.ts); `null` is no bound. */
    maxOutputTokens?: number | null | undefined;
    /** Older versions have none, and are exact. */
    holds?: HoldPolicy | undefined;
  };
  customMeters: Partial<Record<MeterSlot, CustomMeter>>;
  alerts?: Alerts | undefined;
  /**
   * The price that a customer pays for a usage period, as a decimal; `null` or absent if it is not known. It allows
   * nothing.
   */
  priceUsd?: string | null | undefined;
}

/** One immutable version of a plan. A subscription pins one and carries its content. */
export interface PlanVersion {
  planId: string;
  usagePlanVersionId: string;
  version: number;
  plan: Plan;
}

/** Whether the plan has the capability. */
export function hasCapability({ features }: Pick<Plan, 'features'>, capability: Capability): boolean {
  return features[capability] ?? true;
}

/** Whether the plan lets the USD balance pay for units beyond the included and the purchased ones. */
export function hasOverage({ payg }: Pick<Plan, 'payg'>, { funding, overage }: CustomMeter): boolean {
  return payg.enabled && funding.payg && overage !== undefined;
}

/** The id of a version of a plan. A plan's own id has no colon. */
export function planVersionIdOf(planId: string, version: number): string {
  return `${planId}:v${version}`;
}

/** The plan of a version. */
export function planIdOf(usagePlanVersionId: string): string {
  return usagePlanVersionId.replace(/:v\d+$/, '');
}
