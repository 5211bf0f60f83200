/**
 * Cloudflare's price list for the paid plan of Workers, in US dollars, and the sum of a month by it.
 *
 * Read on 2026-11-23 from the pages "Pricing" of Workers, Durable Objects, D1, KV and Observability at
 * developers.cloudflare.com. Logs have the price that is in force from 2026-12-01 on.
 */

/** The usage of a month. */
export interface Usage {
  workerRequests: number;
  workerCpuMs: number;
  /** Calls of methods, and alarms. */
  objectRequests: number;
  /** Memory times time: 128 MB for as long as an object works. */
  objectGbSeconds: number;
  objectRowsRead: number;
  objectRowsWritten: number;
  objectStoredGb: number;
  d1RowsRead: number;
  d1RowsWritten: number;
  d1StoredGb: number;
  kvReads: number;
  logGb: number;
}

interface Price {
  /** Units that the plan includes in a month. */
  included: number;
  /** Dollars of so many units more. */
  dollars: number;
  of: number;
}

const MILLION = 1_000_000;

const PRICES: Record<keyof Usage, Price> = {
  workerRequests: { included: 10 * MILLION, dollars: 0.3, of: MILLION },
  workerCpuMs: { included: 30 * MILLION, dollars: 0.02, of: MILLION },
  objectRequests: { included: MILLION, dollars: 0.15, of: MILLION },
  objectGbSeconds: { included: 400_000, dollars: 12.5, of: MILLION },
  objectRowsRead: { included: 25_000 * MILLION, dollars: 0.001, of: MILLION },
  objectRowsWritten: { included: 50 * MILLION, dollars: 1, of: MILLION },
  objectStoredGb: { included: 5, dollars: 0.2, of: 1 },
  d1RowsRead: { included: 25_000 * MILLION, dollars: 0.001, of: MILLION },
  d1RowsWritten: { included: 50 * MILLION, dollars: 1, of: MILLION },
  d1StoredGb: { included: 5, dollars: 0.75, of: 1 },
  kvReads: { included: 10 * MILLION, dollars: 0.5, of: MILLION },
  logGb: { included: 50, dollars: 0.25, of: 1 },
};

export const PLAN_DOLLARS = 5;

const NAMES = Object.keys(PRICES) as (keyof Usage)[];

export const NO_USAGE: Usage = byUnit(() => 0);

/** The dollars of each unit without the plan's included units: the cost of one more customer. */
export function marginalDollars(usage: Usage): Record<keyof Usage, number> {
  return byUnit((name) => (usage[name] / PRICES[name].of) * PRICES[name].dollars);
}

/** The dollars of each unit in a month, without the plan's included units. */
export function monthDollars(usage: Usage): Record<keyof Usage, number> {
  return byUnit((name) => {
    const { included, dollars, of } = PRICES[name];
    return (Math.max(0, usage[name] - included) / of) * dollars;
  });
}

export function total(dollars: Record<keyof Usage, number>): number {
  return NAMES.reduce((sum, name) => sum + dollars[name], 0);
}

/** The sum of usages, so many times. */
export function sumUsage(usages: readonly Usage[], count = 1): Usage {
  return byUnit((name) => usages.reduce((sum, usage) => sum + usage[name], 0) * count);
}

function byUnit(value: (name: keyof Usage) => number): Record<keyof Usage, number> {
  return Object.fromEntries(NAMES.map((name) => [name, value(name)])) as Record<keyof Usage, number>;
}
