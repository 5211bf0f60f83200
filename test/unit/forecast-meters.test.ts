/**
 * The times at which a customer's limited meters of a metric are used up: a custom meter alone, or those of both tiers
 * with the part of each.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { forecastExhaustion } from '../../src/readings/forecast/exhaustion.ts';
import { forecast } from '../../src/readings/forecast/forecast.ts';
import { type MetricUse, meterEnds } from '../../src/readings/forecast/meters.ts';
import { DAY_MS, HOUR_MS } from '../support/series.ts';

const DAYS = 40;
const PERIOD_DAYS = 20;
const NOW = Date.UTC(2026, 4, 11);
const TIERS = ['standardCalls', 'premiumCalls'] as const;

/** Ten calls in every hour of 40 days; the period began 20 days ago and ends in 10. */
const result = forecast({
  hours: Array.from({ length: DAYS * 24 }, (_, ago) => ({
    startMs: NOW - (ago + 1) * HOUR_MS,
    quantity: 10,
  })).reverse(),
  firstDataMs: NOW - DAYS * DAY_MS,
  nowMs: NOW,
  periodStartMs: NOW - PERIOD_DAYS * DAY_MS,
  horizonEndMs: NOW + 10 * DAY_MS,
  timeZone: 'UTC',
  kind: 'quantity',
  evidence: 'complete',
});
const use: MetricUse = { forecast: result, recorded: PERIOD_DAYS * 240, nowMs: NOW, timeZone: 'UTC' };

function account(limits: object, consumed: object, periodStartMs = NOW - PERIOD_DAYS * DAY_MS): Account {
  const plan = { limits, customMeters: {} };
  return {
    subscription: { plan: { plan }, lastReplenishedAtMs: periodStartMs },
    meters: { consumed, reserved: {} },
  } as unknown as Account;
}

describe('the meters of both tiers', () => {
  test('end when what is left is taken at their part of the pace', () => {
    // 60 of 240 calls a day are premium: 300 left last five days. The others last.
    const [standard, premium] = meterEnds(
      TIERS,
      account({ standardCalls: 9_000, premiumCalls: 1_500 }, { standardCalls: 3_600, premiumCalls: 1_200 }),
      use,
    );
    expect(premium).toMatchObject({ meter: 'premiumCalls', used: 1_200, limit: 1_500 });
    const { earliestMs, expectedMs, latestMs } = premium?.runsOut ?? {
      earliestMs: null,
      expectedMs: null,
      latestMs: null,
    };
    expect(Math.abs((expectedMs ?? 0) - NOW - 5 * DAY_MS)).toBeLessThan(HOUR_MS);
    expect(earliestMs ?? 0).toBeLessThanOrEqual(expectedMs ?? 0);
    expect(latestMs ?? NOW).toBeGreaterThanOrEqual(expectedMs ?? 0);
    expect(standard?.runsOut).toEqual({ earliestMs: null, expectedMs: null, latestMs: null });
  });

  test('that were not used, and those of a period that has just begun, have no end yet', () => {
    const limits = { standardCalls: 9_000, premiumCalls: 1_500 };
    const [standard, premium] = meterEnds(TIERS, account(limits, { standardCalls: 4_800 }), use);
    expect([standard?.runsOut === null, premium?.runsOut]).toEqual([false, null]);
    const young = account(limits, { standardCalls: 4_800, premiumCalls: 5 }, NOW - 2 * DAY_MS);
    expect(meterEnds(TIERS, young, use).map(({ runsOut }) => runsOut)).toEqual([null, null]);
  });

  test('without a limit, or with one of zero, cannot run out', () => {
    expect(meterEnds(TIERS, account({ standardCalls: null, premiumCalls: 0 }, { standardCalls: 5 }), use)).toEqual([]);
  });

  test('of which one took everything, end as the metric itself would', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), (left) => {
        const used = use.recorded;
        const [standard] = meterEnds(
          TIERS,
          account({ standardCalls: used + left, premiumCalls: null }, { standardCalls: used }),
          use,
        );
        expect(standard?.runsOut).toEqual(
          forecastExhaustion({ forecast: result, remaining: left, nowMs: NOW, timeZone: 'UTC' }),
        );
      }),
    );
  });
});
