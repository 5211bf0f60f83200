/**
 * The explanation of an episode: the models, features and customers that contributed most to the change against the
 * same hours of the week before.
 */
import type { CustomerId } from '../../domain/ids.ts';
import type { Span, SpanUsage } from '../../history/usage-of-spans.ts';
import { WEEK_MS } from '../../platform/time.ts';
import { rounded, sum } from '../statistics.ts';
import { type AnomalyKind, type Episode, UNITS } from './episode.ts';

/** If an episode is longer, its first week is explained. */
const EXPLAINED_MS_MAX = WEEK_MS;
/** A smaller share of the change explains nothing. */
const SHARE_MIN = 0.2;
/** The most contributions of each dimension. */
const NAMED_MAX = 3;
const DECIMALS = { USD: 9, calls: 0, share: 4 } as const;

const DIMENSIONS = ['model', 'feature', 'customer'] as const;

export interface Contribution {
  dimension: (typeof DIMENSIONS)[number];
  key: string;
  /** The quantity that it added to, or removed from, the observed one, in the unit of the episode. */
  change: number;
  /** Its share of the whole change; above 1 if others changed the other way. */
  share: number;
  /** The number of members of its dimension: a single model explains nothing. */
  among: number;
}

/** The usage of a model, feature or customer during an episode, or before it. */
export type Usage = Omit<SpanUsage, 'place'> & { customerId?: CustomerId };

/** The explained hours of an episode, and the same hours of the week before. */
export function explainedSpans(
  { startMs, endMs }: Pick<Episode, 'startMs' | 'endMs'>,
  customerId: CustomerId | null,
): [Span, Span] {
  const toMs = Math.min(endMs, startMs + EXPLAINED_MS_MAX);
  const back = Math.max(1, Math.ceil((toMs - startMs) / WEEK_MS)) * WEEK_MS;
  return [
    { customerId, fromMs: startMs, toMs },
    { customerId, fromMs: startMs - back, toMs: toMs - back },
  ];
}

interface Compared {
  now: readonly Usage[];
  before: readonly Usage[];
}

/**
 * The contributions to an episode of this kind, the largest of each dimension first. `all` is the whole usage, by model
 * and feature; `customers` is the usage of the customers who are known by name.
 */
export function contributions(kind: AnomalyKind, all: Compared, customers: Compared): Contribution[] {
  const is = chooseMeasure(kind, all.now);
  const was = chooseMeasure(kind, all.before);
  const total = sum(all.now.map(is)) - sum(all.before.map(was));
  if (total === 0) return [];
  return DIMENSIONS.flatMap((dimension) => {
    const { now, before } = dimension === 'customer' ? customers : all;
    const changes = new Map<string, number>();
    const add = (usage: Usage, change: number) => {
      const key = dimensionKey(usage, dimension);
      if (key !== '') changes.set(key, (changes.get(key) ?? 0) + change);
    };
    for (const usage of now) add(usage, is(usage));
    for (const usage of before) add(usage, -was(usage));
    return [...changes]
      .map(([key, change]) => ({
        dimension,
        key,
        change: rounded(change, DECIMALS[UNITS[kind]]),
        share: rounded(change / total, 4),
        among: changes.size,
      }))
      .filter(({ share }) => share >= SHARE_MIN)
      .sort((a, b) => b.share - a.share || (a.key < b.key ? -1 : 1))
      .slice(0, NAMED_MAX);
  });
}

function dimensionKey(usage: Usage, dimension: Contribution['dimension']): string {
  return dimension === 'customer' ? (usage.customerId ?? '') : usage[dimension];
}

/** The part of an episode's observed quantity that a row adds; `all` is the usage that contains the row. */
function chooseMeasure(kind: AnomalyKind, all: readonly Usage[]): (usage: Usage) => number {
  const ended = (outcome: string) => (usage: Usage) => (usage.outcome === outcome ? usage.calls : 0);
  switch (kind) {
    case 'USAGE_DROP':
    case 'SILENCE':
      return (usage) => usage.calls - ended('NOT_ALLOWED')(usage);
    case 'ERROR_BURST':
      return ended('FAILED');
    case 'DENIAL_BURST':
      return ended('NOT_ALLOWED');
    case 'COST_PER_CALL_SHIFT': {
      const calls = Math.max(1, sum(all.map((usage) => usage.calls - ended('NOT_ALLOWED')(usage))));
      return ({ costUsd }) => costUsd / calls;
    }
    case 'CACHE_RATE_DROP': {
      const input = Math.max(1, sum(all.map(({ inputTokens }) => inputTokens)));
      return ({ cachedInputTokens }) => cachedInputTokens / input;
    }
    case 'SPEND_SPIKE':
    case 'NEW_EXPENSIVE_MODEL':
    case 'NEW_EXPENSIVE_FEATURE':
    case 'CUSTOMER_SHARE_RISE':
      return ({ costUsd }) => costUsd;
  }
}
