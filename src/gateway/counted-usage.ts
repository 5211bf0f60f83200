/**
 * The usage of an answer whose vendor reports none, or only a part: uses that Callmeter can count are usage if the
 * price charges for them.
 */
import type { ResolvedPrice } from '../domain/pricing.ts';
import type { CountedUses } from '../domain/unclear-usage.ts';
import { NO_USAGE } from '../domain/usage.ts';
import type { Outcome } from './service-calls/end.ts';

const COUNTS = ['images', 'characters', 'audioSeconds'] as const;

/**
 * Adds the counted uses to the usage. If the vendor reports nothing, the usage is known only if the price charges for
 * nothing else: a model that is billed by tokens used some, even if it does not report them.
 */
export function withCounted(usage: Outcome['usage'], price: ResolvedPrice, counted: CountedUses): Outcome['usage'] {
  if (!price.available) return usage;
  const { rates } = price.card;
  const charged = COUNTS.filter(
    (name) =>
      (counted[name] !== undefined || counted.unclear?.includes(name)) &&
      rates.some(({ component }) => component === name),
  );
  const isAll = rates.every(
    ({ component, nanoUsdPerMillion }) =>
      charged.some((name) => name === component) || BigInt(nanoUsdPerMillion) === 0n,
  );
  if (usage === null && !isAll) return null;
  const added = charged.filter((name) => !usage?.[name]);
  const unclear = [...(usage?.unclear ?? []), ...added.filter((name) => counted.unclear?.includes(name))];
  return {
    ...NO_USAGE,
    ...usage,
    ...Object.fromEntries(added.map((name) => [name, counted[name] ?? 0])),
    ...(unclear.length > 0 && { unclear }),
  };
}
