/**
 * Local days follow the clock of their zone: days of 23 and 25 hours, half-hour offsets, changes at midnight, skipped
 * dates.
 */
import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../src/platform/time.ts';
import { instantAtWall, isTimeZone, LOCAL_DAYS_MAX, localDays, zoneClock } from '../../src/readings/calendar.ts';

const at = (iso: string) => Date.parse(iso);
const dayHours = (from: string, to: string, zone: string) =>
  localDays({ fromMs: at(from), toMs: at(to) }, zone).map(
    ({ label, startMs, endMs }) => `${label} ${(endMs - startMs) / HOUR_MS}`,
  );

describe('local days', () => {
  test.each([
    [
      'Europe/Berlin in spring',
      '2026-03-28T12:00Z',
      '2026-03-30T12:00Z',
      'Europe/Berlin',
      ['2026-03-28 24', '2026-03-29 23', '2026-03-30 24'],
    ],
    [
      'Europe/Berlin in autumn',
      '2026-10-24T12:00Z',
      '2026-10-26T12:00Z',
      'Europe/Berlin',
      ['2026-10-24 24', '2026-10-25 25', '2026-10-26 24'],
    ],
    [
      'Lord Howe, half an hour',
      '2026-04-04T02:00Z',
      '2026-04-06T02:00Z',
      'Australia/Lord_Howe',
      ['2026-04-04 24', '2026-04-05 24.5', '2026-04-06 24'],
    ],
    [
      'Santiago, forward at midnight',
      '2026-09-05T12:00Z',
      '2026-09-07T12:00Z',
      'America/Santiago',
      ['2026-09-05 24', '2026-09-06 23', '2026-09-07 24'],
    ],
    [
      'Santiago, back at midnight',
      '2026-04-04T12:00Z',
      '2026-04-05T12:00Z',
      'America/Santiago',
      ['2026-04-04 25', '2026-04-05 24'],
    ],
    [
      'Havana, back over one',
      '2026-10-31T12:00Z',
      '2026-11-02T12:00Z',
      'America/Havana',
      ['2026-10-31 24', '2026-11-01 25', '2026-11-02 24'],
    ],
    [
      'Apia, which skipped a date',
      '2011-12-29T12:00Z',
      '2011-12-31T12:00Z',
      'Pacific/Apia',
      ['2011-12-29 24', '2011-12-31 24', '2012-01-01 24'],
    ],
    ['UTC', '2026-02-28T00:00Z', '2026-03-02T00:00Z', 'UTC', ['2026-02-28 24', '2026-03-01 24']],
  ])('%s', (_of, from, to, zone, expected) => {
    expect(dayHours(from, to, zone)).toEqual(expected);
  });

  test('begin at their first instant, which may not be midnight', () => {
    const findStart = (moment: string, zone: string) =>
      localDays({ fromMs: at(moment), toMs: at(moment) + 1 }, zone)[0]?.startMs;
    expect(findStart('2026-09-06T15:00Z', 'America/Santiago')).toBe(at('2026-09-06T04:00Z'));
    expect(findStart('2026-07-01T23:59:59.999Z', 'Asia/Kathmandu')).toBe(at('2026-07-01T18:15Z'));
    expect(findStart('2026-07-01T00:00Z', 'UTC')).toBe(at('2026-07-01T00:00Z'));
  });

  test('have their weekday', () => {
    expect(
      localDays({ fromMs: at('2026-03-29T00:00Z'), toMs: at('2026-03-29T01:00Z') }, 'Europe/Berlin')[0]?.weekday,
    ).toBe(0);
  });

  test('of an empty range are none, and more than the limit are rejected', () => {
    expect(localDays({ fromMs: 5, toMs: 5 }, 'UTC')).toEqual([]);
    expect(() => localDays({ fromMs: 0, toMs: (LOCAL_DAYS_MAX + 1) * 24 * HOUR_MS }, 'UTC')).toThrow(RangeError);
  });
});

test('days after the second clock change of a year begin at the offset of its first days', () => {
  const days = localDays({ fromMs: at('2026-01-01T12:00Z'), toMs: at('2026-12-31T12:00Z') }, 'Europe/Berlin');
  const findStart = (label: string) => days.find((day) => day.label === label)?.startMs;
  expect(findStart('2026-01-15')).toBe(at('2026-01-14T23:00Z'));
  expect(findStart('2026-07-15')).toBe(at('2026-07-14T22:00Z'));
  expect(findStart('2026-12-15')).toBe(at('2026-12-14T23:00Z'));
});

test('the days of a year follow one another without a gap', () => {
  for (const zone of ['Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe', 'Africa/Casablanca']) {
    const days = localDays({ fromMs: at('2026-01-01T00:00Z'), toMs: at('2027-01-01T00:00Z') }, zone);
    expect(days.length).toBeGreaterThanOrEqual(365);
    for (let index = 1; index < days.length; index += 1) expect(days[index]?.startMs).toBe(days[index - 1]?.endMs);
  }
});

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Etc/GMT+5', true],
  ['+02:00', false],
  ['Mars/Olympus', false],
  ['', false],
  ['A'.repeat(100), false],
])('%j is a time zone: %j', (name, expected) => {
  expect(isTimeZone(name)).toBe(expected);
});

test('a wall clock time leads back to its instant, except in a repeated hour', () => {
  for (const iso of ['2026-03-29T00:30Z', '2026-03-29T01:00Z', '2026-10-25T03:00Z', '2026-07-01T12:34:56.789Z']) {
    const wall = zoneClock('Europe/Berlin', { fromMs: at(iso), toMs: at(iso) }).wallAt(at(iso));
    expect(instantAtWall(wall, 'Europe/Berlin')).toBe(at(iso));
  }
});
