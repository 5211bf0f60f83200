/**
 * Sums of usage: of the parts of a call, and of more parts than one answer may report.
 */
import { addQuantity } from './quantity.ts';
import type { Conditions } from './usage.ts';

/** The parts that one answer may report. */
export const PARTS_MAX = 32;

/** The figures of both together; what is no figure, such as a condition, is that of the first. */
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

/** What tells parts apart. */
type OfModel = { [Name in keyof Conditions | 'providerUsed' | 'modelUsed']?: unknown };

/**
 * At most `PARTS_MAX`: beyond that, those of the same model and conditions are summed, and the last of them whatever they are.
 * What is summed over models has none, and so has no price.
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
