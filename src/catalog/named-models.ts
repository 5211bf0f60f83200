/**
 * Warnings about models that somebody names for future use: in a mapping, or with a price.
 */

import { utcDay } from '../platform/time.ts';
import { asServed, daysLeft, findReplacement, statusOn } from './lifecycle.ts';
import { lookUpModel } from './matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from './model.ts';
import { notInCatalog } from './resolution.ts';

const NONE: ReadonlySet<string> = new Set();

/**
 * A name that neither the catalog nor a price knows, and the key of the catalog's model with the most similar spelling.
 */
export interface UnknownModel {
  name: string;
  nearest: string | null;
}

/** Each name once. `priced` has the keys of the organization's own prices. */
export function unknownModels(
  catalog: Catalog,
  names: readonly string[],
  nowMs: number,
  priced: ReadonlySet<string> = NONE,
): UnknownModel[] {
  return [...new Set(names)].flatMap((name) => {
    const match = lookUpModel(catalog, name, nowMs);
    if ((match && match.strategy !== 'fuzzy') || hasPrice(priced, name)) return [];
    return [{ name, nearest: match && modelKeyOf(match.model) }];
  });
}

/**
 * One warning for each name that is neither in the catalog nor in `priced`, the keys of the organization's own prices,
 * or whose model is retired or ends.
 */
export function modelWarnings(
  catalog: Catalog,
  names: readonly string[],
  nowMs: number,
  priced: ReadonlySet<string> = NONE,
): string[] {
  return [...new Set(names)].flatMap((name) => {
    const match = lookUpModel(catalog, name, nowMs);
    if (!match || match.strategy === 'fuzzy') return hasPrice(priced, name) ? [] : [notInCatalog(name, match)];
    const end = describeEnd(catalog, asServed(match.model, name), utcDay(nowMs));
    const key = modelKeyOf(match.model);
    return end === null ? [] : [`${name === key ? name : `${name} (${key})`} ${end}`];
  });
}

/** An own price applies to a name at any vendor, or at one. */
function hasPrice(priced: ReadonlySet<string>, name: string): boolean {
  const key = name.trim().toLowerCase();
  return priced.has(key) || priced.has(key.slice(key.indexOf('/') + 1));
}

/** How a model ends, in words; `null` if it does not. */
function describeEnd(catalog: Catalog, model: CatalogModel, day: string): string | null {
  const status = statusOn(model, day);
  if (status === 'ACTIVE') return null;
  const { shutdownAt } = model.lifecycle;
  const left = daysLeft(model, day);
  const live = findReplacement(catalog, model, day)?.live;
  const successor = live ? `; its vendor replaces it with ${live.modelKey}` : '';
  if (status === 'RETIRED') return `is retired${shutdownAt === undefined ? '' : ` since ${shutdownAt}`}${successor}`;
  const days = left === 1 ? 'in one day' : `in ${left} days`;
  return shutdownAt === undefined
    ? `is deprecated, without a date${successor}`
    : `ends on ${shutdownAt}, ${days}${successor}`;
}

/** The same as a member of an answer; absent if there is no warning. */
export function warned(...named: Parameters<typeof modelWarnings>): { warnings: string[] | undefined } {
  const warnings = modelWarnings(...named);
  return { warnings: warnings.length > 0 ? warnings : undefined };
}
