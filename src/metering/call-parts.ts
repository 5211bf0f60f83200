/**
 * The parts of a call that are reported with it.
 */
import type { CallPart } from '../domain/call-parts.ts';
import { takeUsage, type UsageName } from '../domain/usage.ts';
import type { VendorUsage } from '../vendors/usage.ts';

/** The parts in the usage of an answer. */
export function listParts(usage: VendorUsage | null | undefined): CallPart[] {
  return usage?.parts?.map(buildPart) ?? [];
}

/** A part in the form of a report, with its usage beside its model. */
export function buildPart(
  part: Pick<CallPart, 'providerUsed' | 'modelUsed'> & Partial<{ [Name in UsageName]: unknown }>,
): CallPart {
  const { providerUsed, modelUsed } = part;
  return { providerUsed, modelUsed, usage: takeUsage(part).usage };
}
