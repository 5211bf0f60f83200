/**
 * CallReport: what the end of a call reports. It travels unchanged from the route through the command to the domain.
 *
 * A field that decides nothing is one of its facts (`call-facts.ts`), which travel as one value. Wherever a report is made or
 * taken apart, the compiler checks that no other field is forgotten.
 */
import { type Facts, type ReadFacts, readFacts } from './call-facts.ts';
import type { PricedPart } from './call-parts.ts';
import type { CompressionCounts } from './compression.ts';
import { usdFromNano } from './money.ts';
import type { PricingMode } from './pricing.ts';
import type { OutputBasis, ProvisionalSource, Usage } from './usage.ts';

export interface CallError {
  code: string;
  message: string;
}

export interface VendorReportedCost {
  /** Decimal nano-USD. */
  nanoUsd: string;
  /** The organization wants it for the cost, in place of what the catalog's price gives. */
  isUsed: boolean;
}

export interface CallReport extends Facts {
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
export function presentReported(reported: ReadFacts & Pick<CallReport, 'changed' | 'unclear' | 'vendorReported'>) {
  const { changed = [], unclear = [], vendorReported } = reported;
  return {
    ...readFacts(reported),
    changed: changed.length > 0 ? [...changed] : undefined,
    unclear: unclear.length > 0 ? [...unclear] : undefined,
    vendorReportedCostUSD: vendorReported && usdFromNano(BigInt(vendorReported.nanoUsd)),
  };
}

/** The fields of a report that the call's outcome has too; the others only decide how the call is billed. */
export type RecordedField = Exclude<keyof CallReport, 'promptCompression'>;

/** What remains of an object after all of its members were taken: `rest satisfies Nothing`. */
export type Nothing = Record<string, never>;
