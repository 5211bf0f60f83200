/**
 * Decides whether the model of a mapping is replaced on a day, and by which one. Pure: the day, the catalog, the prices
 * and the traffic are arguments.
 *
 * A switch needs certainty: an unknown price, capability or replacement refuses it, and every reason is listed.
 */
import { isClosed } from '../../catalog/candidates.ts';
import { findReplacement, type Replacement, statusOn } from '../../catalog/lifecycle.ts';
import { matchModel } from '../../catalog/matching.ts';
import { type CatalogModel, modelKeyOf } from '../../catalog/model.ts';
import { changePercent, round } from '../../catalog/ranking.ts';
import { findReviewedReplacement, formatCitation, type Review } from '../../catalog/reviews.ts';
import { isUnconditional, swapWarnings } from '../../catalog/swap-warnings.ts';
import type { SwitchedData, SwitchReason, SwitchRefusedData } from '../../contract/event-data.ts';
import { LookupQuery } from '../../contract/model-lookup.ts';
import type { AutopilotEntry } from '../../domain/model-mappings.ts';
import type { RateCard } from '../../domain/price.ts';
import { costOfTraffic, type Traffic } from '../../domain/traffic-cost.ts';
import { NO_USAGE } from '../../domain/usage.ts';
import { DAY_MS, utcDay } from '../../platform/time.ts';
import type { RadarView } from './models.ts';

type View = Omit<RadarView, 'horizonDays'>;

/** A model whose day of the switch has come. */
export interface DueSwitch {
  mapping: string;
  entry: AutopilotEntry;
  model: CatalogModel;
  shutdownAt: string;
}

/** The replacement: `null` if there is none, with the reason. */
export interface Successor {
  modelKey: string | null;
  model: CatalogModel | null;
  official: Replacement | null;
  review: Review | null;
  problem: SwitchReason | null;
}

/** The organization's facts for a switch. */
export interface SwitchFacts {
  /** Providers with credentials. */
  vendors: ReadonlySet<string>;
  /** Today's prices, as the organization pays them; `null` if there is none. */
  prices: { from: RateCard | null; to: RateCard | null };
  /** The calls of the model in the last days; empty if no traffic has known usage. */
  traffic: readonly Traffic[];
}

export type SwitchDecision = { to: string; switched: SwitchedData } | { to: null; refused: SwitchRefusedData };

/** `null` before the day of the switch, and for a model without a known end. */
export function dueSwitch({ catalog, nowMs }: View, mapping: string, entry: AutopilotEntry): DueSwitch | null {
  const match = matchModel(catalog, entry.model, nowMs);
  // A snapshot that the catalog does not list has an end of its own.
  if (!match || match.unlistedPin) return null;
  const { model } = match;
  const { shutdownAt } = model.lifecycle;
  if (shutdownAt === undefined || nowMs < Date.parse(shutdownAt) - entry.switchDaysBefore * DAY_MS) return null;
  return { mapping, entry, model, shutdownAt };
}

/** The provider's replacement, followed to a live model in the lookup's way, or the reviewed one. */
export function findSuccessor(view: View, due: DueSwitch): Successor {
  return due.entry.switchTo === 'official' ? officialSuccessor(view, due) : reviewedSuccessor(view, due);
}

function officialSuccessor({ catalog, nowMs }: View, { model }: DueSwitch): Successor {
  const official = findReplacement(catalog, model, utcDay(nowMs));
  if (official?.live) return { ...official.live, official, review: null, problem: null };
  const problem = official
    ? `${official.modelKey}, which the provider names, leads to no live model in the catalog`
    : 'the provider names no replacement';
  return noSuccessor(problem);
}

function reviewedSuccessor({ catalog, reviews, nowMs }: View, { model }: DueSwitch): Successor {
  const reviewed = findReviewedReplacement(catalog, reviews, model, utcDay(nowMs));
  if (reviewed?.model) {
    const { model: to, review } = reviewed;
    return { modelKey: modelKeyOf(to), model: to, official: null, review, problem: null };
  }
  const problem = reviewed
    ? `the reviewed replacement ${reviewed.review.replacementModelKey} is retired or not in the catalog`
    : `no replacement of ${modelKeyOf(model)} was reviewed`;
  return noSuccessor(problem);
}

function noSuccessor(message: string): Successor {
  return { modelKey: null, model: null, official: null, review: null, problem: because('NO_REPLACEMENT', message) };
}

export function decideSwitch(view: View, due: DueSwitch, successor: Successor, facts: SwitchFacts): SwitchDecision {
  const { mapping, entry, model, shutdownAt } = due;
  const change = priceChange(facts);
  const reasons = [
    ...otherChannel(due),
    ...(successor.problem ? [successor.problem] : []),
    ...(successor.model ? unfit(due, successor, successor.model, utcDay(view.nowMs)) : []),
    ...(successor.model && !facts.vendors.has(successor.model.provider)
      ? [because('NO_CREDENTIALS', `the organization has no credentials for the vendor ${successor.model.provider}`)]
      : []),
    ...(successor.model ? tooDear(change, entry.maxPriceIncreasePercent) : []),
  ];
  const { modelKey } = successor;
  const told = { mapping, source: entry.switchTo, shutdownAt };
  if (modelKey === null || reasons.length > 0 || change.percent === null)
    return { to: null, refused: { ...told, model: entry.model, replacement: modelKey, reasons } };
  const why = successor.review
    ? formatCitation(successor.review)
    : `${model.provider} replaces ${modelKeyOf(model)} with it`;
  return {
    to: modelKey,
    switched: {
      ...told,
      from: entry.model,
      to: modelKey,
      priceChangePercent: change.percent,
      priceBasis: change.basis,
      reason: `${modelKeyOf(model)} ends on ${shutdownAt}; ${why}`,
      warnings: swapWarnings(model, successor.official, successor.model),
    },
  };
}

/** The catalog's dates apply to the provider's own channel. */
function otherChannel({ entry, model }: DueSwitch): SwitchReason[] {
  const slash = entry.model.indexOf('/');
  const vendor = slash < 0 ? model.provider : entry.model.slice(0, slash);
  const isOwn = vendor === model.provider || (vendor === 'gemini' && model.provider === 'google');
  const message = `${shown(vendor)} is another channel than ${model.provider}, whose dates the catalog has`;
  return isOwn ? [] : [because('OTHER_CHANNEL', message)];
}

/**
 * Conditions that the replacement must meet before anything is compared. An operator's review vouches for more than a
 * provider.
 */
function unfit({ entry, model }: DueSwitch, successor: Successor, to: CatalogModel, day: string): SwitchReason[] {
  const key = successor.modelKey ?? modelKeyOf(to);
  const reasons: SwitchReason[] = [];
  if (statusOn(to, day) !== 'ACTIVE') reasons.push(because('REPLACEMENT_ENDS', `${key} is itself on its way out`));
  if (to.kind !== model.kind)
    reasons.push(because('OTHER_KIND', `${key} is a ${to.kind} model, ${modelKeyOf(model)} a ${model.kind} model`));
  if (entry.switchTo === 'official') {
    const { replacementEvidence, replacementNote, confidence } = model.lifecycle;
    if (!isUnconditional(model) || (replacementEvidence ?? { confidence }).confidence === 'secondary')
      reasons.push(
        because(
          'NOT_UNCONDITIONAL',
          replacementNote === undefined
            ? `that ${key} is the official replacement rests on secondary evidence`
            : `${key}: ${replacementNote}`,
        ),
      );
    if (to.preview) reasons.push(because('PREVIEW', `${key} is a preview`));
    if (isClosed(to, { ...POLICY, allowPreview: false }))
      reasons.push(because('LIMITED', `${key} is not open to every account`));
  }
  const missing = entry.requiredCapabilities.filter((name) => !to.capabilities.includes(name));
  if (missing.length > 0) reasons.push(because('CAPABILITY', `${key} is not known to have ${missing.join(', ')}`));
  return reasons;
}

export interface PriceChange {
  basis: SwitchedData['priceBasis'];
  /** Rounded to hundredths; `null` if a price is not known. */
  percent: number | null;
  fromNanoUsd: bigint;
  toNanoUsd: bigint;
  /** The components without a price; empty if all have one. */
  unknown: string[];
}

const { response: _response, ...POLICY } = LookupQuery.parse({});

/** The call that the lookup assumes if none is described. */
const TYPICAL: Traffic = {
  mode: 'standard',
  usage: {
    ...NO_USAGE,
    inputTokens: POLICY.inputTokens,
    cachedInputTokens: Math.round((POLICY.inputTokens * POLICY.cachedInputPercent) / 100),
    responseTokens: POLICY.outputTokens,
  },
  promptTokensAbove: POLICY.inputTokens - 1,
};

/** The cost difference of the same traffic at the other price, both as of today. */
export function priceChange({ prices: { from, to }, traffic }: Pick<SwitchFacts, 'prices' | 'traffic'>): PriceChange {
  const basis = traffic.length > 0 ? 'last_30_days' : 'typical_call';
  const compared = traffic.length > 0 ? traffic : [TYPICAL];
  const before = from && costOfTraffic(from, compared);
  const after = to && costOfTraffic(to, compared);
  const unknown = [
    ...(before ? before.notPriced.map((what) => `${what} of the model`) : ['the model']),
    ...(after ? after.notPriced.map((what) => `${what} of the replacement`) : ['the replacement']),
  ];
  const fromNanoUsd = before?.nanoUsd ?? 0n;
  const toNanoUsd = after?.nanoUsd ?? 0n;
  const percent = unknown.length > 0 ? null : changePercent(Number(fromNanoUsd), Number(toNanoUsd));
  return { basis, percent: percent === null ? null : round(percent), fromNanoUsd, toNanoUsd, unknown };
}

const BASES: Record<PriceChange['basis'], string> = {
  last_30_days: 'for the calls of the last 30 days',
  typical_call: 'for a typical call',
};
/** The bound may have fractions of a percent; it is compared in millionths of one. */
const SCALE = 1_000_000;

function tooDear({ basis, percent, fromNanoUsd, toNanoUsd, unknown }: PriceChange, max: number): SwitchReason[] {
  if (percent === null) {
    const what = unknown.length > 0 ? `no price is known of ${unknown.join(', ')}` : 'the model costs nothing';
    return [because('PRICE_UNKNOWN', `not comparable ${BASES[basis]}: ${what}`)];
  }
  const bound = fromNanoUsd * BigInt(Math.round(max * SCALE));
  if ((toNanoUsd - fromNanoUsd) * 100n * BigInt(SCALE) <= bound) return [];
  return [because('PRICE', `+${percent}% ${BASES[basis]} is above maxPriceIncreasePercent ${max}`)];
}

const because = (code: SwitchReason['code'], message: string): SwitchReason => ({ code, message });
const shown = (name: string) => JSON.stringify(name);
