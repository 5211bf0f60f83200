/**
 * CallReport: what the end of a call reports. It travels unchanged from the route through the command to the domain.
 *
 * Wherever a report is made or taken apart, the compiler checks that no field is forgotten: a new field of `call_end`
 * does not compile until it is carried to the call's outcome and to the answer.
 */
import type { PricedPart } from './call-parts.ts';
import type { CompressionCounts } from './compression.ts';
import { usdFromNano } from './money.ts';
import type { PricingMode } from './pricing.ts';
import type { OutputBasis, ProvisionalSource, Usage } from './usage.ts';

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

export interface VendorReportedCost {
  /** Decimal nano-USD. */
  nanoUsd: string;
  /** The organization wants it for the cost, in place of what the catalog's price gives. */
  isUsed: boolean;
}

export interface CallReport extends Reasoning {
  providerUsed?: string | undefined;
  modelUsed?: string | undefined;
  /** Of the answer itself. */
  usage: Usage;
  /** What ran beside the model that answered. */
  parts?: readonly PricedPart[] | undefined;
  /** Absent where the usage is reported. */
  usageSource?: ProvisionalSource | undefined;
  /** Figures that the vendor reported in a form that makes no sense, which are counted at the call's bound. */
  unclear?: readonly string[] | undefined;
  /** What decided the output of provisional usage. Absent where the usage is reported. */
  outputBasis?: OutputBasis | undefined;
  /** Output tokens a second of one answer, of a model of the catalog, as the service measured it. */
  outputRate?: number | undefined;
  /** The service tier that was asked for, in the vendor's word; that of `usage` served the call and is billed. */
  requestedServiceTier?: string | undefined;
  /** The fields that the vendor got otherwise than asked: `service_tier=default`. */
  changed?: readonly string[] | undefined;
  /** What the vendor itself says that the call cost. */
  vendorReported?: VendorReportedCost | undefined;
  /** What the caller asserts of the model's tier. */
  isPremium?: boolean | undefined;
  error?: CallError | undefined;
  stripeCustomerId?: string | undefined;
  promptCompression?: CompressionCounts | undefined;
  /** Overrides the pricing mode of begin. */
  pricingMode?: PricingMode | undefined;
}

/** What was asked of the vendor, and what it said of usage and cost, as answers show it. */
export function presentReported({
  requestedServiceTier,
  changed = [],
  unclear = [],
  vendorReported,
}: Pick<CallReport, 'requestedServiceTier' | 'changed' | 'unclear' | 'vendorReported'>): {
  requestedServiceTier?: string;
  changed?: string[];
  unclear?: string[];
  vendorReportedCostUSD?: number;
} {
  return {
    ...(requestedServiceTier !== undefined && { requestedServiceTier }),
    ...(changed.length > 0 && { changed: [...changed] }),
    ...(unclear.length > 0 && { unclear: [...unclear] }),
    ...(vendorReported && { vendorReportedCostUSD: usdFromNano(BigInt(vendorReported.nanoUsd)) }),
  };
}

/** The fields of a report that the call's outcome has too; the others only decide how the call is billed. */
export type RecordedField = Exclude<keyof CallReport, 'promptCompression'>;

/** What remains of an object after all of its members were taken: `rest satisfies Nothing`. */
export type Nothing = Record<string, never>;
