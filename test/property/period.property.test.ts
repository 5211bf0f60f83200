/**
 * Periods tile time: checked against a model that knows nothing but how to step the calendar by one day or month, and
 * that goes from the anchor to each boundary on foot.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NEVER_MS, periodAt, type ReplenishUnit } from '../../src/domain/period.ts';

const UNITS: ReplenishUnit[] = ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'];
const HOUR_MS = 60 * 60 * 1000;

const anchors = fc.oneof(
  fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2100, 0, 1) }),
  // The ends of months, where the calendar is difficult.
  fc
    .record({
      year: fc.integer({ min: 1996, max: 2104 }),
      month: fc.integer({ min: 0, max: 11 }),
      back: fc.integer({ min: 0, max: 3 }),
    })
    .map(({ year, month, back }) => Date.UTC(year, month + 1, 0) - back * 24 * HOUR_MS + 12_345_678),
);
const replenishes = fc.record({ every: fc.integer({ min: 1, max: 40 }), unit: fc.constantFrom(...UNITS) });

interface Day {
  year: number;
  month: number;
  day: number;
}

function daysIn({ year, month }: Day): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function nextDay(date: Day): Day {
  if (date.day < daysIn(date)) return { ...date, day: date.day + 1 };
  return { ...nextMonth(date), day: 1 };
}

function nextMonth({ year, month, day }: Day): Day {
  return month < 12 ? { year, month: month + 1, day } : { year: year + 1, month: 1, day };
}

/** The first boundaries of an anchor, the anchor itself included. */
function naiveBoundaries(anchorMs: number, every: number, unit: ReplenishUnit, count: number): number[] {
  const anchor = new Date(anchorMs);
  const timeOfDay = anchorMs - Date.UTC(anchor.getUTCFullYear(), anchor.getUTCMonth(), anchor.getUTCDate());
  const toMs = (date: Day) => Date.UTC(date.year, date.month - 1, Math.min(date.day, daysIn(date))) + timeOfDay;
  const steps = { HOUR: 1, DAY: 1, WEEK: 7, MONTH: 1, YEAR: 12 }[unit] * every;
  let date: Day = { year: anchor.getUTCFullYear(), month: anchor.getUTCMonth() + 1, day: anchor.getUTCDate() };
  let hours = 0;
  const boundaries = [anchorMs];
  while (boundaries.length < count) {
    for (let step = 0; step < steps; step += 1) {
      if (unit === 'HOUR') hours += 1;
      else date = unit === 'DAY' || unit === 'WEEK' ? nextDay(date) : nextMonth(date);
    }
    boundaries.push(unit === 'HOUR' ? anchorMs + hours * HOUR_MS : toMs(date));
  }
  return boundaries;
}

test('each period equals the one found by stepping through the calendar, at its first, last and any instant', () => {
  fc.assert(
    fc.property(anchors, replenishes, fc.double({ min: 0, max: 1, noNaN: true }), (anchorMs, replenish, share) => {
      const boundaries = naiveBoundaries(anchorMs, replenish.every, replenish.unit, 30);
      for (let index = 0; index + 1 < boundaries.length; index += 1) {
        const startMs = boundaries[index] ?? 0;
        const endMs = boundaries[index + 1] ?? 0;
        const within = startMs + Math.floor((endMs - 1 - startMs) * share);
        for (const nowMs of [startMs, within, endMs - 1]) {
          expect(periodAt(anchorMs, replenish, nowMs)).toEqual({ index, startMs, endMs });
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('periods have no gaps or overlaps: every instant lies in exactly one', () => {
  fc.assert(
    fc.property(
      anchors,
      replenishes,
      fc.integer({ min: 0, max: 200 * 366 * 24 * HOUR_MS }),
      (anchorMs, replenish, laterMs) => {
        const nowMs = anchorMs + laterMs;
        const period = periodAt(anchorMs, replenish, nowMs);
        expect(period.startMs).toBeLessThanOrEqual(nowMs);
        expect(period.endMs).toBeGreaterThan(nowMs);
        const next = periodAt(anchorMs, replenish, period.endMs);
        expect([next.index, next.startMs]).toEqual([period.index + 1, period.endMs]);
        if (period.index > 0) {
          const previous = periodAt(anchorMs, replenish, period.startMs - 1);
          expect([previous.index, previous.endMs]).toEqual([period.index - 1, period.startMs]);
        } else {
          expect(period.startMs).toBe(anchorMs);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('a plan that never replenishes has a single period', () => {
  fc.assert(
    fc.property(anchors, fc.integer({ min: 0, max: NEVER_MS - Date.UTC(2105, 0, 1) }), (anchorMs, laterMs) => {
      expect(periodAt(anchorMs, null, anchorMs + laterMs)).toEqual({ index: 0, startMs: anchorMs, endMs: NEVER_MS });
    }),
  );
});
