/**
 * The meaning of a model's name: the models that a request's name stands for, and whether a list of names, of a session
 * or a key, allows them.
 *
 * A name is `provider/model`, a bare name that the catalog knows, or one of the organization's mappings. No vendor is
 * asked here.
 */
import { type Match, matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import type { OrganizationConfig } from '../config/credentials.ts';
import { vendorProvider } from '../contract/vendors.ts';
import { MAPPED_PREFIX } from '../domain/model-mappings.ts';
import { TIERS, type Tier } from '../domain/tiers.ts';

/** A model at a vendor. */
export interface NamedModel {
  provider: string;
  model: string;
}

export interface Candidate extends NamedModel {
  /** The tier that a mapped model is mapped to; `null` lets the price decide. */
  tier: Tier | null;
  /** Used only if the plan downgrades an exhausted premium allowance to standard models. */
  onDowngrade: boolean;
}

/** The models that a name stands for, in order; empty if that is not certain. */
export function candidatesFor(
  organization: OrganizationConfig,
  catalog: Catalog,
  name: string,
  nowMs: number,
): Candidate[] {
  const named = (names: readonly string[], tier: Tier | null, onDowngrade: boolean): Candidate[] =>
    names.flatMap((one) => {
      const model = nameModel(organization, catalog, one, nowMs);
      return model ? [{ ...model, tier, onDowngrade }] : [];
    });
  const requested = mappedTier(name);
  if (requested === null) return named(aliased(organization, name) ?? [name], null, false);
  const mapped = (tier: Tier) => named(organization.models?.[tier] ?? [], tier, tier !== requested);
  const own = mapped(requested);
  const lower = TIERS.slice(0, TIERS.indexOf(requested)).reverse();
  return own.length === 0 ? [] : [...own, ...lower.flatMap(mapped)];
}

/** The vendor of a named model, and the vendor's own name for it; `null` if that is not certain. */
export function nameModel(
  { vendors }: OrganizationConfig,
  catalog: Catalog,
  name: string,
  nowMs: number,
): NamedModel | null {
  const slash = name.indexOf('/');
  if (slash < 0) {
    const match = matchModel(catalog, name, nowMs);
    // The vendor itself has no such name: it offers batches and its fast mode another way.
    return match && !match.variant ? { provider: match.model.provider, model: vendorName(match, name) } : null;
  }
  const prefix = name.slice(0, slash);
  const model = name.slice(slash + 1);
  if (model === '' || prefix === MAPPED_PREFIX.slice(0, -1)) return null;
  // People often prefix Google's models with the name of the family; any other prefix is a vendor.
  if (prefix === 'gemini' && !vendors.has(prefix)) return { provider: 'google', model };
  return vendorProvider.safeParse(prefix).success ? { provider: prefix, model } : null;
}

/** The requested spelling if it is the vendor's own, otherwise the catalog's. */
function vendorName({ model, strategy }: Match, requested: string): string {
  const pinned = strategy === 'snapshot' && requested.length > model.model.length;
  return strategy === 'exact' || strategy === 'alias' || pinned ? requested : model.model;
}

/** The tier that `service/<tier>` names; `null` for any other name. */
export function mappedTier(name: string): Tier | null {
  return TIERS.find((tier) => name === `${MAPPED_PREFIX}${tier}`) ?? null;
}

/** The models of the named alias; `null` if the name is not an alias. */
export function aliased({ aliases }: OrganizationConfig, name: string): readonly string[] | null {
  return name.startsWith(MAPPED_PREFIX) ? (aliases.get(name.slice(MAPPED_PREFIX.length)) ?? null) : null;
}

/**
 * A list of names that limits the models that may run. It is compared with the meanings of names, as `provider/model`.
 * A mapping in the list allows its own models, but models that only stand in on a downgrade only under the name of the
 * mapping.
 */
export class OpenModels {
  readonly #organization: OrganizationConfig;
  readonly #catalog: Catalog;
  readonly #nowMs: number;
  readonly #names: readonly string[];
  #keys: ReadonlySet<string> | null = null;

  constructor(organization: OrganizationConfig, catalog: Catalog, names: readonly string[], nowMs: number) {
    this.#organization = organization;
    this.#catalog = catalog;
    this.#names = names;
    this.#nowMs = nowMs;
  }

  /** The list with everything that its names stand for, as `provider/model`. */
  get meant(): string[] {
    return [...new Set([...this.#names, ...this.#meantKeys()])];
  }

  /** Whether the model may run for a request that names it so. */
  allows(name: string, { provider, model }: NamedModel): boolean {
    return this.#names.includes(name) || this.#meantKeys().has(`${provider}/${model}`);
  }

  /** Whether all models that the name stands for may run. */
  allowsAll(name: string): boolean {
    if (this.#names.includes(name)) return true;
    const candidates = this.#candidatesFor(name);
    return candidates.length > 0 && candidates.every((candidate) => this.allows(name, candidate));
  }

  /** Whether any model that the name stands for may run, without a downgrade. */
  allowsAny(name: string): boolean {
    return this.#candidatesFor(name).some((candidate) => !candidate.onDowngrade && this.allows(name, candidate));
  }

  /** The meanings of the names are looked up once, and only if no name is spelled like the requested one. */
  #meantKeys(): ReadonlySet<string> {
    const meant = () => this.#names.flatMap((name) => this.#candidatesFor(name).filter((one) => !one.onDowngrade));
    this.#keys ??= new Set(meant().map(({ provider, model }) => `${provider}/${model}`));
    return this.#keys;
  }

  #candidatesFor(name: string): Candidate[] {
    return candidatesFor(this.#organization, this.#catalog, name, this.#nowMs);
  }
}
