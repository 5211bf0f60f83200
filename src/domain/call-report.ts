/**
 * CallReport: what the end of a call reports. It travels unchanged from the route through the command to the domain.
 *
 * Wherever a report is made or taken apart, the compiler checks that no field is forgotten: a new field of `call_end`
 * does not compile until it is carried to the call's outcome and to the answer.
 */
import type { CompressionCounts } from './compression.ts';
import type { PricingMode, Usage } from './pricing.ts';

export interface CallError {
  code: string;
  message: string;
}

export interface Reasoning {
  reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
  reasoningEffortSource?: 'provider_response' | 'provider_request' | 'gateway_config' | 'model_default' | undefined;
  reasoningMode?: string | undefined;
  reasoningBudgetTokens?: number | undefined;
}

export interface CallReport extends Reasoning {
  providerUsed?: string | undefined;
  modelUsed?: string | undefined;
  usage: Usage;
  /** What the caller asserts of the model's tier. */
  isPremium?: boolean | undefined;
  error?: CallError | undefined;
  stripeCustomerId?: string | undefined;
  promptCompression?: CompressionCounts | undefined;
  /** Overrides the pricing mode of begin. */
  pricingMode?: PricingMode | undefined;
}

/** The fields of a report that the call's outcome has too; the others only decide how the call is billed. */
export type RecordedField = Exclude<keyof CallReport, 'isPremium' | 'promptCompression'>;

/** What remains of an object after all of its members were taken: `rest satisfies Nothing`. */
export type Nothing = Record<string, never>;
