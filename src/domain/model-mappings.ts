/**
 * Model mappings: the models that an organization's own names mean, preferred first: `service/standard` and
 * `service/premium` for the tiers, and `service/<alias>`. An entry is a model, or a model with the policy of its
 * autopilot.
 */
import { TIERS, type Tier } from './tiers.ts';

/** The prefix of an organization's own names of models. */
export const MAPPED_PREFIX = 'service/';

/** The source that the autopilot trusts: the provider, or the operator who reviewed the replacement. */
export const SWITCH_SOURCES = ['official', 'reviewed'] as const;
type SwitchSource = (typeof SWITCH_SOURCES)[number];

/** A model that is replaced before its provider shuts it down. */
export interface AutopilotEntry {
  model: string;
  switchTo: SwitchSource;
  /** Days before the shutdown. */
  switchDaysBefore: number;
  maxPriceIncreasePercent: number;
  /** Names of the catalog. */
  requiredCapabilities: string[];
  /** The model before the last switch, and the time of the switch. */
  switchedFrom?: string | undefined;
  switchedAt?: string | undefined;
}

export type MappingEntry = string | AutopilotEntry;

export type ModelMappings = Record<Tier, MappingEntry[]> & { aliases?: Record<string, MappingEntry[]> | undefined };

/** The models that are mapped to each tier, without the autopilot. */
export type TierModels = Record<Tier, string[]>;

export function entryModel(entry: MappingEntry): string {
  return typeof entry === 'string' ? entry : entry.model;
}

export function tierModels(mappings: ModelMappings): TierModels {
  return Object.fromEntries(TIERS.map((tier) => [tier, mappings[tier].map(entryModel)])) as TierModels;
}

/** The models of the aliases, by name. */
export function aliasModels(mappings: ModelMappings): Map<string, string[]> {
  const named = Object.entries(mappings.aliases ?? {});
  return new Map(named.map(([name, entries]) => [name, entries.map(entryModel)]));
}

/** Every mapping by its name without the prefix: the tiers, then the aliases. */
export function entriesByMapping(mappings: ModelMappings): [mapping: string, entries: readonly MappingEntry[]][] {
  return [
    ...TIERS.map((tier): [string, MappingEntry[]] => [tier, mappings[tier]]),
    ...Object.entries(mappings.aliases ?? {}),
  ];
}

/** The models of the tiers and of the aliases, by the name in a request. */
export function modelsByName(
  tiers: TierModels | null,
  aliases: ReadonlyMap<string, readonly string[]>,
): [name: string, models: readonly string[]][] {
  const mappings: [string, readonly string[]][] = [
    ...TIERS.map((tier): [string, string[]] => [tier, tiers?.[tier] ?? []]),
    ...aliases,
  ];
  return mappings.map(([mapping, models]) => [`${MAPPED_PREFIX}${mapping}`, models]);
}

/** The names of all models that are mapped to anything. */
export function mappedModels(mappings: ModelMappings): string[] {
  return entriesByMapping(mappings).flatMap(([, entries]) => entries.map(entryModel));
}

/** The mappings with another entry in place of the first equal one of a mapping. */
export function withEntry(
  mappings: ModelMappings,
  mapping: string,
  entry: MappingEntry,
  replacement: MappingEntry,
): ModelMappings {
  const replaced = (entries: readonly MappingEntry[]) => {
    const at = entries.indexOf(entry);
    return at < 0 ? [...entries] : entries.with(at, replacement);
  };
  const tier = TIERS.find((name) => name === mapping);
  if (tier) return { ...mappings, [tier]: replaced(mappings[tier]) };
  const aliases = mappings.aliases ?? {};
  return { ...mappings, aliases: { ...aliases, [mapping]: replaced(aliases[mapping] ?? []) } };
}
