/**
 * Sums of usage: of the parts of a call, and of more parts than one answer may report.
 */
import { addQuantity } from './quantity.ts';
import type { Conditions } from './usage.ts';

/** The parts that one answer may report. */
export const PARTS_MAX = 32;

/** The sums of the figures of both; a member that is not a figure, such as a condition, comes from the first. */
export function sumUsage<Figures extends object>(one: Figures, other: Figures): Figures {
  return sum(one as never, other as never) as never;
}

function sum(one: Record<string, unknown>, other: Record<string, unknown>): Record<string, unknown> {
  const added = Object.entries(other).flatMap(([name, value]): [string, unknown][] => {
    const before = one[name];
    if (typeof value === 'number') return [[name, addQuantity(typeof before === 'number' ? before : 0, value)]];
    if (name !== 'toolUses' || !value) return [];
    return [[name, sum((before ?? {}) as Record<string, unknown>, value as Record<string, unknown>)]];
  });
  return { ...one, ...Object.fromEntries(added) };
}

/** The members that distinguish parts. */
type OfModel = { [Name in keyof Conditions | 'providerUsed' | 'modelUsed']?: unknown };

/**
 * At most `PARTS_MAX`: beyond that, parts with the same model and conditions are summed, and then the last parts,
 * whatever they are. A sum over several models has no model, and so no price.
 */
export function boundedParts<Part extends OfModel>(parts: readonly Part[]): Part[] {
  if (parts.length <= PARTS_MAX) return [...parts];
  const sums = new Map<string, Part>();
  for (const part of parts) {
    const { providerUsed, modelUsed, serviceTier, region, speed } = part;
    const own = JSON.stringify([providerUsed, modelUsed, serviceTier, region, speed]);
    const key = sums.has(own) || sums.size < PARTS_MAX - 1 ? own : REST;
    const before = sums.get(key);
    sums.set(key, before ? sumUsage(before, part) : key === REST ? unnamed(part) : part);
  }
  return [...sums.values()];
}

const REST = 'the rest';

function unnamed<Part extends OfModel>({ modelUsed: _model, ...part }: Part): Part {
  return part as Part;
}
