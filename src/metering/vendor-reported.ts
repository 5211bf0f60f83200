/**
 * The cost of a call that its vendor itself reports, and whether the organization uses it.
 */

import type { OrganizationConfig } from '../config/credentials.ts';
import type { VendorReportedCost } from '../domain/call-report.ts';
import { nanoFromUsd } from '../domain/money.ts';

/** The vendor's reported cost of the call, if the organization uses the figures of that vendor. */
export function vendorReportedCost(
  { vendors }: OrganizationConfig,
  providerUsed: string | undefined,
  costUSD: number | undefined,
): VendorReportedCost | undefined {
  if (costUSD === undefined) return undefined;
  const isUsed = vendors.get(providerUsed?.toLowerCase() ?? '')?.useReportedCost === true;
  return { nanoUsd: nanoFromUsd(costUSD).toString(), isUsed };
}
