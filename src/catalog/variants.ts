/**
 * The price of a model whose name says that it is served in batches or fast: `openai/gpt-6-sol:batch`,
 * `claude-opus-5-5-fast`.
 *
 * Routers sell these at the provider's price for its batches and its fast mode. So the rates of that condition become
 * the standard ones, whatever the call reports; uses of tools cost the same. A component that the catalog does not list
 * has no rate.
 */
import { divideHalfUp } from '../domain/money.ts';
import { isUse, type Rate, type RateCard } from '../domain/price.ts';
import type { Variant } from './matching.ts';

/** Anthropic lists the rates of a fast model by speed, and the others by service tier. */
function isOfVariant({ when }: Rate, variant: Variant): boolean {
  if (variant === 'batch') return when?.serviceTier === 'batch';
  return when?.speed === 'fast' || when?.serviceTier === 'priority';
}

/** The card of the variant. Its rates apply under both conditions, because a call may or may not report them. */
export function variantCard(card: RateCard, variant: Variant): RateCard {
  const uses = card.rates.filter(({ component }) => isUse(component));
  const tokens = card.rates.filter(({ component }) => !isUse(component));
  const listed = tokens.filter((rate) => isOfVariant(rate, variant));
  const rates = variant === 'batch' && listed.length === 0 ? halved(tokens) : listed;
  return {
    ...card,
    snapshotId: `${card.snapshotId}+${variant}`,
    rates: [...uses, ...rates.map(asStandard), ...rates],
  };
}

/** Batches cost half if they have no listed rates. */
function halved(tokens: readonly Rate[]): Rate[] {
  return tokens
    .filter(({ when }) => when?.serviceTier === undefined && when?.speed === undefined)
    .map((rate) => ({
      ...rate,
      nanoUsdPerMillion: divideHalfUp(BigInt(rate.nanoUsdPerMillion), 2n).toString(),
      when: { ...rate.when, serviceTier: 'batch' as const },
    }));
}

function asStandard({ when, ...rate }: Rate): Rate {
  const { serviceTier: _tier, speed: _speed, ...others } = when ?? {};
  return Object.keys(others).length === 0 ? rate : { ...rate, when: others };
}
