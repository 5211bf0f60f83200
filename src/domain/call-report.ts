/**
 * CallReport: the report of a call's end. It travels unchanged from the route through the command to the domain.
 *
 * A field that decides nothing is one of its facts (`call-facts.ts`), which travel as one value. When code makes a
 * report or takes it apart, the compiler checks that no other field is forgotten.
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
  /** The organization uses it as the cost, instead of the cost by the catalog's price. */
  isUsed: boolean;
}

export interface CallReport extends Facts {
  /** The usage of the answer itself. */
  usage: Usage;
  /** The models that ran besides the one that answered. */
  parts?: readonly PricedPart[] | undefined;
  /** Absent if the usage is reported. */
  usageSource?: ProvisionalSource | undefined;
  /** Figures that the vendor reported in a form that makes no sense; they are counted at the call's bound. */
  unclear?: readonly string[] | undefined;
  /** The basis of the output tokens of provisional usage. Absent if the usage is reported. */
  outputBasis?: OutputBasis | undefined;
  /** Output tokens a second of one answer, measured by the service, for a model of the catalog. */
  outputRate?: number | undefined;
  /** The fields that the vendor got with another value than the caller asked for: `service_tier=default`. */
  changed?: readonly string[] | undefined;
  /** The cost of the call that the vendor itself reports. */
  vendorReported?: VendorReportedCost | undefined;
  /** The caller's own assertion of the model's tier. */
  isPremium?: boolean | undefined;
  error?: CallError | undefined;
  stripeCustomerId?: string | undefined;
  promptCompression?: CompressionCounts | undefined;
  /** Overrides the pricing mode of begin. */
  pricingMode?: PricingMode | undefined;
}

/** The request to the vendor, and the vendor's report of usage and cost, in the form of the answers. */
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

/** The remainder of an object after all of its members were taken: `rest satisfies Nothing`. */
export type Nothing = Record<string, never>;
