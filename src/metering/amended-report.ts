/**
 * The report of a call after an amendment: what the amendment names, and all else as it was reported.
 */

import type { OrganizationConfig } from '../config/credentials.ts';
import type { AmendCallRequest } from '../contract/corrections.ts';
import type { CallOutcome } from '../domain/call.ts';
import type { CallReport } from '../domain/call-report.ts';
import { reportOfOutcome } from '../domain/correct-call.ts';
import type { CallId } from '../domain/ids.ts';
import { takeUsage, type Usage } from '../domain/usage.ts';
import { reportOf } from './end-call.ts';

/** The report without its parts, whose prices have to be found. A call without an outcome reports what is named alone. */
export function amendedReport(
  outcome: CallOutcome | null,
  callId: CallId,
  { reason: _reason, ...request }: AmendCallRequest,
  organization: OrganizationConfig,
): CallReport {
  const { error, isPremium, vendorReportedCostUSD, providerUsed } = request;
  const end = {
    ...request,
    callId,
    // Whether the vendor's own figure is used depends on the vendor.
    providerUsed: providerUsed ?? outcome?.providerUsed ?? undefined,
    error: error ?? undefined,
    isPremium: isPremium ?? undefined,
    vendorReportedCostUSD: vendorReportedCostUSD ?? undefined,
  };
  const named = reportOf(end, organization);
  if (!outcome) return named;
  const before = reportOfOutcome(outcome, []);
  return {
    ...before,
    ...members(named),
    usage: amendedUsage(before.usage, request),
    ...(isMeasuredAnew(before, request) && MEASURED),
    ...(error === null && { error: undefined }),
    ...(isPremium === null && { isPremium: undefined }),
    ...(vendorReportedCostUSD === null && { vendorReported: undefined }),
  };
}

/** Figures that were reported, by somebody who knows nothing of the vendor's speed. */
const MEASURED = { usageSource: undefined, unclear: undefined, outputBasis: undefined, outputRate: undefined };

/** The members that are there. */
function members<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}

function amendedUsage(before: Usage, request: Omit<AmendCallRequest, 'reason'>): Usage {
  const toolUses = { ...before.toolUses, ...members(request.toolUses ?? {}) };
  return takeUsage({ ...before, ...members(request), toolUses }).usage;
}

/** Whether nothing of the figures is left that was only estimated: the tokens, and what was unclear, are named. */
function isMeasuredAnew({ usage, unclear = [] }: CallReport, request: Omit<AmendCallRequest, 'reason'>): boolean {
  const totals = (['inputTokens', 'responseTokens'] as const).filter((name) => usage[name] > 0);
  const estimated = [...totals, ...unclear];
  const isNamed = (name: string) => request[name as keyof typeof request] !== undefined;
  return estimated.length > 0 && estimated.every(isNamed);
}
