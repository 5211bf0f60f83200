/**
 * The parts of a call that are reported with it, and their prices at the time of its end.
 */
import type { Catalog } from '../catalog/model.ts';
import { type OwnPrices, resolvePriceFor } from '../catalog/prices.ts';
import type { CallPart, PricedPart } from '../domain/call-parts.ts';
import { takeUsage, type UsageName } from '../domain/usage.ts';
import type { VendorUsage } from '../vendors/usage.ts';

/** The parts that the usage of an answer has. */
export function partsOf(usage: VendorUsage | null | undefined): CallPart[] {
  return usage?.parts?.map(partOf) ?? [];
}

/** A part as a report names it, with its usage beside its model. */
export function partOf(
  part: Pick<CallPart, 'providerUsed' | 'modelUsed'> & Partial<{ [Name in UsageName]: unknown }>,
): CallPart {
  const { providerUsed, modelUsed } = part;
  return { providerUsed, modelUsed, usage: takeUsage(part).usage };
}

export function pricedParts(
  catalog: Catalog,
  own: OwnPrices,
  parts: readonly CallPart[],
  atMs: number,
): Promise<PricedPart[]> {
  return Promise.all(
    parts.map(async (part) => ({ ...part, price: await resolvePriceFor(catalog, own, part, part.usage, atMs) })),
  );
}
