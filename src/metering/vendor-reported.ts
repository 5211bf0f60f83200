/**
 * The cost that a vendor itself reports of a call, and whether the organization uses it.
 */

import type { OrganizationConfig } from '../config/credentials.ts';
import type { VendorReportedCost } from '../domain/call-report.ts';
import { nanoFromUsd } from '../domain/money.ts';

/** What the vendor says that the call cost, used for the cost where the organization says so for that vendor. */
export function vendorReportedOf(
  { vendors }: OrganizationConfig,
  providerUsed: string | undefined,
  costUSD: number | undefined,
): VendorReportedCost | undefined {
  if (costUSD === undefined) return undefined;
  const isUsed = vendors.get(providerUsed?.toLowerCase() ?? '')?.useReportedCost === true;
  return { nanoUsd: nanoFromUsd(costUSD).toString(), isUsed };
}
