/**
 * Hours of a customer's usage, sent from the object to the readings as one JSON text of columns.
 *
 * Money and units are numbers here, for estimates and not for bills. A column is an array of numbers, because parsing
 * thousands of objects would cost more than all readings of them.
 */
import { HOUR_MS } from '../platform/time.ts';

type Quantity =
  | 'completedCalls'
  | 'failedCalls'
  | 'inputTokens'
  | 'outputTokens'
  | 'agenticApi'
  | 'customMeter1'
  | 'customMeter2'
  | 'unpricedCalls'
  | 'provisionalCalls';

/**
 * The columns of the text. `hour` is the number of the hour since 1970 (UTC); with decimals, it is the start of a part
 * of it.
 */
export type SentColumn = Quantity | 'hour' | 'costNanoUsd' | 'provisionalCostNanoUsd';
export type HourColumn = Quantity | keyof typeof SENT_AS;

/** Columns of money, which are sent in nano-USD. */
const SENT_AS = { costUsd: 'costNanoUsd', provisionalCostUsd: 'provisionalCostNanoUsd' } as const satisfies Record<
  string,
  SentColumn
>;

export const HOUR_COLUMNS: readonly HourColumn[] = [
  'completedCalls',
  'failedCalls',
  'inputTokens',
  'outputTokens',
  'costUsd',
  'agenticApi',
  'customMeter1',
  'customMeter2',
  'unpricedCalls',
  'provisionalCalls',
  'provisionalCostUsd',
];

/** The columns of the text that the given columns need, each once. */
export function sentColumns(names: readonly HourColumn[]): SentColumn[] {
  const isMoney = (name: HourColumn): name is keyof typeof SENT_AS => name in SENT_AS;
  return [...new Set<SentColumn>(['hour', ...names.map((name) => (isMoney(name) ? SENT_AS[name] : name))])];
}

/**
 * Hours with usage, in any order: the n-th number of each column belongs to the n-th hour. The hour in which a usage period
 * began may come in two parts, of which the later starts with the period. Columns that were not requested are absent.
 */
export interface SeriesHours {
  startMs: readonly number[];
  columns: Readonly<Partial<Record<HourColumn, readonly number[]>>>;
}

export interface UsageHour {
  /** Start of a UTC hour, or of a part of it. */
  startMs: number;
  quantity: number;
}

const NANO_PER_USD = 1e9;

/** Parses the text. All columns have the same length. */
export function parseHours(json: string): SeriesHours {
  const { hour, costNanoUsd, provisionalCostNanoUsd, ...quantities } = JSON.parse(json) as { hour: number[] } & Partial<
    Record<SentColumn, number[]>
  >;
  const costUsd = costNanoUsd?.map((nanoUsd) => nanoUsd / NANO_PER_USD);
  const provisionalCostUsd = provisionalCostNanoUsd?.map((nanoUsd) => nanoUsd / NANO_PER_USD);
  return {
    startMs: hour.map((number) => Math.round(number * HOUR_MS)),
    columns: { ...quantities, ...(costUsd && { costUsd }), ...(provisionalCostUsd && { provisionalCostUsd }) },
  };
}

/**
 * The hours from this index on belong to the usage period that began then: from its whole hour, if that was not
 * divided.
 */
export function firstOfPeriod({ startMs }: SeriesHours, periodMs: number): number {
  return startMs.includes(periodMs) ? periodMs : periodMs - (periodMs % HOUR_MS);
}

/** The columns as one series, without zero hours. An hour, or a part of it, occurs once for each column. */
export function joinSeries({ startMs, columns }: SeriesHours, names: readonly HourColumn[]): UsageHour[] {
  const hours: UsageHour[] = [];
  for (const name of names) {
    const quantities = columns[name] ?? [];
    for (let at = 0; at < quantities.length; at += 1) {
      const quantity = quantities[at] ?? 0;
      if (quantity > 0) hours.push({ startMs: startMs[at] ?? 0, quantity });
    }
  }
  return hours;
}

/** The sum of the columns over hours that start in [fromMs, toMs). */
export function sumBetween(
  { startMs, columns }: SeriesHours,
  names: readonly HourColumn[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  let sum = 0;
  for (const name of names) {
    const quantities = columns[name] ?? [];
    for (let at = 0; at < quantities.length; at += 1) {
      const atMs = startMs[at] ?? 0;
      if (atMs >= fromMs && atMs < toMs) sum += quantities[at] ?? 0;
    }
  }
  return sum;
}

/** The start of the latest hour with a value in one of the columns; `null` if there is none. */
export function latestHour({ startMs, columns }: SeriesHours, names: readonly HourColumn[]): number | null {
  let latest: number | null = null;
  startMs.forEach((atMs, at) => {
    if ((latest === null || atMs > latest) && names.some((name) => (columns[name]?.[at] ?? 0) > 0)) latest = atMs;
  });
  return latest;
}
