/**
 * The report of a call after an amendment: the fields that the amendment names, and all others as first reported.
 */

import type { OrganizationConfig } from '../config/credentials.ts';
import type { AmendCallRequest } from '../contract/corrections.ts';
import type { CallOutcome } from '../domain/call.ts';
import type { CallReport } from '../domain/call-report.ts';
import { reportOfOutcome } from '../domain/correct-call.ts';
import type { CallId } from '../domain/ids.ts';
import { takeUsage, type Usage } from '../domain/usage.ts';
import { buildReport } from './end-call.ts';

/**
 * The report without its parts, whose prices are looked up later. A call without an outcome reports only the
 * amendment's fields.
 */
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
    // The vendor decides whether its own figure is used.
    providerUsed: providerUsed ?? outcome?.providerUsed ?? undefined,
    error: error ?? undefined,
    isPremium: isPremium ?? undefined,
    vendorReportedCostUSD: vendorReportedCostUSD ?? undefined,
  };
  const named = buildReport(end, organization);
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

/** Figures from a reporter who does not know the vendor's speed. */
const MEASURED = { usageSource: undefined, unclear: undefined, outputBasis: undefined, outputRate: undefined };

/** The members that are set. */
function members<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}

function amendedUsage(before: Usage, request: Omit<AmendCallRequest, 'reason'>): Usage {
  const toolUses = { ...before.toolUses, ...members(request.toolUses ?? {}) };
  return takeUsage({ ...before, ...members(request), toolUses }).usage;
}

/** Whether no estimated figure is left: the amendment names the tokens and every unclear figure. */
function isMeasuredAnew({ usage, unclear = [] }: CallReport, request: Omit<AmendCallRequest, 'reason'>): boolean {
  const totals = (['inputTokens', 'responseTokens'] as const).filter((name) => usage[name] > 0);
  const estimated = [...totals, ...unclear];
  const isNamed = (name: string) => request[name as keyof typeof request] !== undefined;
  return estimated.length > 0 && estimated.every(isNamed);
}
