/**
 * An own price, completed by the catalog's rates of the same model: if a cache read costs a tenth of the input there,
 * it costs a tenth of the own input rate here.
 *
 * A token rate that only the catalog lists is the own rate of the nearest component that both list, times the catalog's
 * ratio, rounded up to a nano-USD per million. A rate that the own price states stays, and if it states rates of long
 * prompts, no other thresholds count. Uses have no relation to tokens; they stay without a rate.
 */
import { divideUp, type NanoUsd } from './money.ts';
import { type Component, isUse, type Rate, type RateCard, type RateConditions, ratePurpose } from './price.ts';

type When = RateConditions | undefined;
/** The rates of a price by their purpose. */
type Rates = ReadonlyMap<string, NanoUsd>;

/** `known` is the catalog's price of the same model. */
export function withRelations(own: RateCard, known: RateCard): RateCard {
  const { billedAsWhole, regionalPercent = own.regionalPercent } = known;
  return {
    ...own,
    rates: [...own.rates, ...relatedRates(own, known)],
    ...(billedAsWhole && { billedAsWhole }),
    ...(regionalPercent !== undefined && { regionalPercent }),
  };
}

function relatedRates(own: RateCard, known: RateCard): Rate[] {
  const [ours, theirs] = [byPurpose(own), byPurpose(known)];
  const related: Rate[] = [];
  for (const when of listConditions(known, own)) {
    for (const component of listComponents(known, own, when)) {
      if (ours.has(ratePurpose({ component, when }))) continue;
      const found = relatedRate(ours, theirs, component, when) ?? scaledRate(ours, theirs, component, when);
      if (found === null) continue;
      const { nano, relatedTo } = found;
      related.push({ component, nanoUsdPerMillion: nano.toString(), ...(when && { when }), relatedTo });
    }
  }
  return related;
}

/** The component to which another one is related. */
function relatedComponent(component: Component): 'input' | 'output' {
  return component === 'output' || component === 'audioOutput' || component === 'imageOutput' ? 'output' : 'input';
}

function byPurpose({ rates }: RateCard): Rates {
  return new Map(rates.map((rate) => [ratePurpose(rate), BigInt(rate.nanoUsdPerMillion)]));
}

/** The conditions for which the catalog has token rates, each once, the standard ones first. */
function listConditions(known: RateCard, own: RateCard): When[] {
  const thresholds = new Set(own.rates.flatMap(({ when }) => when?.promptTokensAbove ?? []));
  const found = new Map<string, When>([[conditionsText(undefined), undefined]]);
  for (const { component, when } of known.rates) {
    const threshold = when?.promptTokensAbove;
    const isOther = threshold !== undefined && thresholds.size > 0 && !thresholds.has(threshold);
    if (!isUse(component) && !isOther) found.set(conditionsText(when), when);
  }
  return [...found.values()];
}

function conditionsText(when: When): string {
  return ratePurpose({ component: 'input', when });
}

/**
 * The components that the catalog lists under the conditions, and those that the own price lists under standard ones.
 */
function listComponents(known: RateCard, own: RateCard, when: When): Component[] {
  const conditions = conditionsText(when);
  const listed = known.rates.filter((rate) => conditionsText(rate.when) === conditions);
  const standard = own.rates.filter((rate) => rate.when === undefined);
  const components = [...listed, ...standard].map(({ component }) => component);
  return [...new Set(components)].filter((component) => !isUse(component));
}

interface Related {
  nano: NanoUsd;
  relatedTo: Component;
}

/**
 * By the catalog's ratio to the base under the same conditions, otherwise to the component itself, otherwise to its
 * base.
 */
function relatedRate(ours: Rates, theirs: Rates, component: Component, when: When): Related | null {
  const listed = theirs.get(ratePurpose({ component, when }));
  if (listed === undefined) return null;
  const base = relatedComponent(component);
  for (const nearest of [{ component: base, when }, { component }, { component: base }]) {
    const purpose = ratePurpose(nearest);
    const [our, their] = [ours.get(purpose), theirs.get(purpose)];
    if (our !== undefined && their !== undefined && their > 0n)
      return { nano: divideUp(our * listed, their), relatedTo: nearest.component };
  }
  return null;
}

/** For a component that the catalog does not list under the conditions: scaled like the catalog's base. */
function scaledRate(ours: Rates, theirs: Rates, component: Component, when: When): Related | null {
  const base = relatedComponent(component);
  const our = ours.get(ratePurpose({ component }));
  const under = theirs.get(ratePurpose({ component: base, when }));
  const standard = theirs.get(ratePurpose({ component: base }));
  if (our === undefined || under === undefined || standard === undefined || standard === 0n) return null;
  return { nano: divideUp(our * under, standard), relatedTo: component };
}
