/**
 * The rules of every forecast: quantiles in order and never negative, scaled input gives scaled output, and an
 * allowance runs out exactly if less is left than is expected.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { localDays } from '../../src/readings/calendar.ts';
import { forecastExhaustion } from '../../src/readings/forecast/exhaustion.ts';
import { type ForecastInput, forecast } from '../../src/readings/forecast/forecast.ts';
import { computeQuantiles } from '../../src/readings/forecast/interval.ts';
import { DAY_MS, HOUR_MS } from '../support/series.ts';

const START = Date.UTC(2026, 1, 1);
const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Santiago', 'Asia/Kathmandu', 'Australia/Lord_Howe');

const inputs = fc
  .record({
    days: fc.integer({ min: 7, max: 110 }),
    quantities: fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_000_000 })), {
      minLength: 1,
      maxLength: 200,
    }),
    minutes: fc.integer({ min: 0, max: 24 * 60 - 1 }),
    horizonHours: fc.double({ min: 0, max: 24 * 400, noNaN: true }),
    timeZone: zones,
  })
  .map(({ days, quantities, minutes, horizonHours, timeZone }): ForecastInput => {
    const nowMs = START + days * DAY_MS + minutes * 60_000;
    const hours = Array.from({ length: days * 24 }, (_, index) => ({
      startMs: START + index * HOUR_MS,
      quantity: quantities[(index * 7) % quantities.length] ?? 0,
    }));
    const horizonEndMs = nowMs + Math.round(horizonHours * HOUR_MS);
    return {
      hours,
      firstDataMs: START,
      nowMs,
      periodStartMs: START,
      horizonEndMs,
      timeZone,
      kind: 'quantity',
      evidence: 'complete',
    };
  });

test('quantiles are finite, ascending and not negative, and the period includes recorded usage', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const { remaining, period, recorded, status } = forecast(input);
      // A zone's clock can leave a week of hours one short of seven days.
      if (status === 'insufficient_history') return;
      if (!remaining || !period) throw new Error('no forecast');
      for (const { expected, p10, p50, p90 } of [remaining, period]) {
        expect([expected, p10, p50, p90].every((quantity) => Number.isFinite(quantity) && quantity >= 0)).toBe(true);
        expect(p10).toBeLessThanOrEqual(p50);
        expect(p50).toBeLessThanOrEqual(p90);
      }
      expect(period.p10).toBeGreaterThanOrEqual(recorded);
    }),
    { numRuns: 60 },
  );
});

test('a forecast scales with the usage: 1,024 times the usage gives 1,024 times the forecast', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const small = forecast(input).remaining;
      const large = forecast({
        ...input,
        hours: input.hours.map((hour) => ({ ...hour, quantity: hour.quantity * 1024 })),
      }).remaining;
      for (const name of ['expected', 'p10', 'p50', 'p90'] as const) {
        expect(Math.abs((large?.[name] ?? 0) / 1024 - (small?.[name] ?? 0))).toBeLessThanOrEqual(
          0.001 + 1e-6 * (small?.[name] ?? 0),
        );
      }
    }),
    { numRuns: 30 },
  );
});

test('an allowance runs out before the end of the period if and only if less remains than is expected', () => {
  fc.assert(
    fc.property(inputs, fc.double({ min: 0.01, max: 2, noNaN: true }), (input, share) => {
      const result = forecast(input);
      const expected = result.remaining?.expected ?? 0;
      if (expected < 1 || Math.abs(share - 1) < 0.001) return;
      const exhaustion = forecastExhaustion({
        forecast: result,
        remaining: share * expected,
        nowMs: input.nowMs,
        timeZone: input.timeZone,
      });
      const atMs = exhaustion?.expectedMs ?? null;
      if (share > 1) expect(atMs).toBeNull();
      else {
        expect(atMs).toBeGreaterThanOrEqual(input.nowMs);
        // An hour that the clock repeats can be named by its second showing.
        expect(atMs).toBeLessThanOrEqual((input.horizonEndMs ?? 0) + HOUR_MS);
      }
    }),
    { numRuns: 60 },
  );
});

test('the start of a local day belongs to that day, and the instant before it to another day', () => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(2012, 0, 1), max: Date.UTC(2037, 0, 1) }), zones, (atMs, zone) => {
      const dayStart = (ofMs: number) => localDays({ fromMs: ofMs, toMs: ofMs + 1 }, zone)[0]?.startMs ?? Number.NaN;
      const startMs = dayStart(atMs);
      expect(startMs).toBeLessThanOrEqual(atMs);
      expect(atMs - startMs).toBeLessThan(25 * HOUR_MS);
      expect(dayStart(startMs)).toBe(startMs);
      expect(dayStart(startMs - 1)).toBeLessThan(startMs);
    }),
    { numRuns: 300 },
  );
});

test('more uncertainty always raises the 90th percentile and lowers the 10th', () => {
  const variances = fc.double({ min: 0, max: 1_000, noNaN: true });
  const of = (variance: number) => computeQuantiles([{ days: 1, low: variance, high: variance }], 100, 1);
  fc.assert(
    fc.property(variances, variances, (a, b) => {
      const [sure, unsure] = [of(Math.min(a, b)), of(Math.max(a, b))];
      expect(unsure.p90).toBeGreaterThanOrEqual(sure.p90);
      expect(unsure.p10).toBeLessThanOrEqual(sure.p10);
      expect(sure.p10).toBeLessThanOrEqual(100);
      expect(sure.p90).toBeGreaterThanOrEqual(100);
    }),
  );
});
