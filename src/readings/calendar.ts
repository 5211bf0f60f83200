/**
 * Local days of an IANA time zone, correct across clock changes: days of 23 and 25 hours, zones that change at
 * midnight, offsets of half an hour.
 *
 * Offsets come from `Intl`. The zone's changes between two instants are found once, so that thousands of hours can be
 * placed without reading the offset again.
 */
import { DAY_MS, utcDay } from '../platform/time.ts';

export const DAYS_PER_WEEK = 7;

/** More local days than any reading needs at once: twenty years. */
export const LOCAL_DAYS_MAX = 7_320;
/**
 * No zone changes its clock and reverts the change within four days, so equal offsets at both ends mean no change
 * between them.
 */
const PROBE_MS = 4 * DAY_MS;
const TIME_ZONE_LENGTH_MAX = 64;

export interface LocalDay {
  startMs: number;
  endMs: number;
  /** The date, `2026-03-29`. */
  label: string;
  /** 0 is Sunday. */
  weekday: number;
}

/** A zone's clock between two instants. */
export interface ZoneClock {
  /** The offset to add to an instant in [fromMs, toMs] to get the local wall clock as if it were UTC. */
  offsetAt(atMs: number): number;
  /** The wall clock at an instant, in milliseconds as if it were UTC. */
  wallAt(atMs: number): number;
}

/** Whether the name is an IANA time zone that this runtime knows. Bare offsets such as `+02:00` are not names. */
export function isTimeZone(name: string): boolean {
  if (name === 'UTC') return true;
  if (!/^[A-Za-z]/.test(name) || name.length > TIME_ZONE_LENGTH_MAX) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The zone's clock over [fromMs, toMs]. Throws for a name that `isTimeZone` rejects. */
export function zoneClock(timeZone: string, { fromMs, toMs }: { fromMs: number; toMs: number }): ZoneClock {
  const ask = offsetReader(timeZone);
  const changes = findChanges(ask, { fromMs, toMs });
  const first = ask(fromMs);
  const offsetAt = (atMs: number) => {
    let offset = first;
    for (const change of changes) {
      if (change.atMs > atMs) break;
      offset = change.offsetMs;
    }
    return offset;
  };
  return { offsetAt, wallAt: (atMs) => atMs + offsetAt(atMs) };
}

/**
 * The wall clock of a zone at a few instants, in milliseconds as if it were UTC. For thousands of instants use
 * `zoneClock`.
 */
export function wallReader(timeZone: string): (atMs: number) => number {
  const ask = offsetReader(timeZone);
  return (atMs) => atMs + ask(atMs);
}

/** Every local day that overlaps [fromMs, toMs), in order. Throws above LOCAL_DAYS_MAX. */
export function localDays({ fromMs, toMs }: { fromMs: number; toMs: number }, timeZone: string): LocalDay[] {
  if (toMs <= fromMs) return [];
  if ((toMs - fromMs) / DAY_MS > LOCAL_DAYS_MAX) throw new RangeError('more local days than LOCAL_DAYS_MAX');
  const clock = zoneClock(timeZone, { fromMs: fromMs - 3 * DAY_MS, toMs: toMs + 3 * DAY_MS });
  const days: LocalDay[] = [];
  for (let startMs = dayStart(clock, fromMs); startMs < toMs; ) {
    const endMs = nextDayStart(clock, startMs);
    const date = new Date(clock.wallAt(startMs));
    days.push({ startMs, endMs, label: utcDay(date.getTime()), weekday: date.getUTCDay() });
    startMs = endMs;
  }
  return days;
}

/**
 * The instant at which the wall clock of a zone shows `wallMs`. For a time that the clock skips, the instant that much
 * later than the change.
 */
export function instantAtWall(wallMs: number, timeZone: string): number {
  return instantOfClock(wallMs, zoneClock(timeZone, { fromMs: wallMs - 2 * DAY_MS, toMs: wallMs + 2 * DAY_MS }));
}

/** The same by a clock that reaches two days beyond. */
export function instantOfClock(wallMs: number, clock: ZoneClock): number {
  const guessMs = wallMs - clock.offsetAt(wallMs);
  return wallMs - clock.offsetAt(guessMs);
}

function wallDate(clock: ZoneClock, atMs: number): number {
  return Math.floor(clock.wallAt(atMs) / DAY_MS);
}

function dayStart(clock: ZoneClock, atMs: number): number {
  const date = wallDate(clock, atMs);
  // No local day is two days long.
  return findFirstMoment(clock, date, { lowMs: atMs - 2 * DAY_MS, highMs: atMs });
}

function nextDayStart(clock: ZoneClock, startMs: number): number {
  const date = wallDate(clock, startMs);
  // A zone that crosses the date line skips a whole date, so the next day is the first later date.
  return findFirstMoment(clock, date + 1, { lowMs: startMs, highMs: startMs + 2 * DAY_MS });
}

/**
 * The first instant in (lowMs, highMs] whose local date is `date` or later. A clock that goes back over midnight
 * repeats the end of a day; since 2011 none has done so by more than a minute past midnight.
 */
function findFirstMoment(clock: ZoneClock, date: number, { lowMs, highMs }: { lowMs: number; highMs: number }): number {
  let low = lowMs;
  let high = highMs;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (wallDate(clock, middle) >= date) high = middle;
    else low = middle;
  }
  return high;
}

interface Change {
  atMs: number;
  offsetMs: number;
}

function findChanges(ask: (atMs: number) => number, { fromMs, toMs }: { fromMs: number; toMs: number }): Change[] {
  const changes: Change[] = [];
  let offset = ask(fromMs);
  for (let lowMs = fromMs; lowMs < toMs; lowMs += PROBE_MS) {
    const highMs = Math.min(lowMs + PROBE_MS, toMs);
    const offsetMs = ask(highMs);
    if (offsetMs !== offset) changes.push({ atMs: changeBetween(ask, { lowMs, highMs }), offsetMs });
    offset = offsetMs;
  }
  return changes;
}

function changeBetween(ask: (atMs: number) => number, { lowMs, highMs }: { lowMs: number; highMs: number }): number {
  const before = ask(lowMs);
  let low = lowMs;
  let high = highMs;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (ask(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Computes the offset of an instant from the wall clock that `Intl` prints. UTC needs no computation. */
function offsetReader(timeZone: string): (atMs: number) => number {
  if (timeZone === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (atMs) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (
      format.format(atMs).match(/\d+/g) ?? []
    ).map(Number);
    const wallMs = Date.UTC(year, month - 1, day, hour, minute, second);
    return wallMs - Math.floor(atMs / 1000) * 1000;
  };
}
