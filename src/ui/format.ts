/**
 * Formats figures and times for people: thousands separators, significant digits, UTC times, and relative times.
 *
 * Every function returns a short form; callers put the exact value into a `title`. The current time is an argument.
 */

import { fixedUsd, formatUsd, NANO_DIGITS, type NanoUsd, significantDecimals } from '../domain/money.ts';
import { NEVER_MS } from '../domain/period.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../platform/time.ts';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 });
const rough = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

/** Formats as `12,345`. */
export function count(value: number | bigint): string {
  return whole.format(value);
}

/** Formats as `12.3K` or `4.5M`; numbers below 10,000 in full. */
export function compact(value: number): string {
  return Math.abs(value) < 10_000 ? rough.format(value) : short.format(value);
}

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Formats as `512 bytes` or `1.5 MiB`. */
export function byteSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${rough.format(bytes / 1024 ** power)} ${BYTE_UNITS[power]}`;
}

export function percent(ratio: number): string {
  return `${whole.format(Math.round(ratio * 1000) / 10)}%`;
}

/**
 * A format for the amounts of a column. All have the same number of decimals, enough for three significant digits of
 * the smallest amount that is not zero. If `exact`, no amount is rounded.
 */
export function usdColumn(amounts: readonly NanoUsd[], exact = false): (nano: NanoUsd) => string {
  const decimals = Math.max(2, ...amounts.map((nano) => (exact ? exactDecimals(nano) : significantDecimals(nano))));
  return (nano) => `${nano < 0n ? '-' : ''}$${fixedUsd(nano < 0n ? -nano : nano, decimals)}`;
}

/**
 * Formats the parts of a sum, none of them negative, so that the shown parts add up to the shown sum. All parts have
 * the decimals of the highest one; the parts with the largest remainders take the difference from rounding.
 */
export function usdParts(parts: readonly NanoUsd[]): string[] {
  const highest = parts.reduce((most, part) => (part > most ? part : most), 0n);
  const decimals = significantDecimals(highest);
  const unit = 10n ** BigInt(NANO_DIGITS - decimals);
  const units = parts.map((part) => part / unit);
  const sum = parts.reduce((all, part) => all + part, 0n);
  const missing = (sum * 2n + unit) / (unit * 2n) - units.reduce((all, one) => all + one, 0n);
  const byRest = parts
    .map((part, index) => ({ rest: part % unit, index }))
    .toSorted((a, b) => (a.rest === b.rest ? 0 : a.rest < b.rest ? 1 : -1));
  for (const { index } of byRest.slice(0, Number(missing))) units[index] = (units[index] ?? 0n) + 1n;
  return units.map((one) => `$${fixedUsd(one * unit, decimals)}`);
}

/** An exact decimal amount of USD as nano-USD. */
export function parseNanoUsd(exactUsd: string): NanoUsd {
  const [, sign, integer = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(exactUsd) ?? [];
  const size = BigInt(integer) * 10n ** BigInt(NANO_DIGITS) + BigInt(fraction.padEnd(NANO_DIGITS, '0'));
  return sign === '-' ? -size : size;
}

/** A rate as vendors publish it: `$2.50`, `$0.075`. */
export function rate(usdPerMillion: number): string {
  const text = usdPerMillion.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: NANO_DIGITS });
  return `$${text}`;
}

/** A format for the rates of a column: all have as many decimals as the rate with the most. */
export function rateColumn(rates: readonly (number | undefined)[]): (usdPerMillion: number) => string {
  const decimals = Math.max(2, ...rates.map((one) => (one === undefined ? 0 : countDecimals(rate(one)))));
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return (usdPerMillion) => `$${usdPerMillion.toLocaleString('en-US', digits)}`;
}

const countDecimals = (text: string) => text.split('.')[1]?.length ?? 0;

/** The number of decimals of an amount. */
function exactDecimals(nano: NanoUsd): number {
  const [, fraction = ''] = formatUsd(nano).split('.');
  return fraction.replace(/0+$/, '').length;
}

/** Formats as `20 Nov 2026, 14:03`, and the end of time as `never`. */
export function moment(atMs: number): string {
  return atMs >= NEVER_MS ? 'never' : `${date.format(atMs)}, ${clock.format(atMs)}`;
}

/** Formats as `20 Nov`. */
export function dayMonth(atMs: number): string {
  return day.format(atMs);
}

/** Formats an instant, or a day such as `2026-11-20`, as `20 Nov 2026`. */
export function calendarDay(at: number | string): string {
  return date.format(typeof at === 'string' ? Date.parse(at) : at);
}

/**
 * Formats whole days as `20 Nov 2026, UTC` or `20 Nov 2026 to 22 Nov 2026, UTC`, and other times as
 * `20 Nov 2026, 14:00 to 17:00 UTC`. The end is exclusive.
 */
export function timeSpan(fromMs: number, toMs: number): string {
  const [first, last] = [calendarDay(fromMs), calendarDay(toMs - 1)];
  if (fromMs % DAY_MS === 0 && toMs % DAY_MS === 0) return `${first === last ? first : `${first} to ${last}`}, UTC`;
  const end = first !== last ? moment(toMs) : toMs % DAY_MS === 0 ? '24:00' : clock.format(toMs);
  return `${moment(fromMs)} to ${end} UTC`;
}

const DAYS_OF_MONTH = 30.44;
const DAYS_OF_YEAR = 365.25;
/** From these distances on, a relative time is in months, and in years. */
const MONTHS_FROM_DAYS = 60;
const YEARS_FROM_DAYS = 730;

/**
 * Only for `yesterday` and `tomorrow`. Longer units have no such word, because "last month" is any day of that month.
 */
const named = new Intl.RelativeTimeFormat('en-US', { numeric: 'auto' });
const numbered = new Intl.RelativeTimeFormat('en-US');

/**
 * Formats as `3 hours ago`, `yesterday`, `in 12 days` or `just now`; the end of time is empty. From 24 hours on, days
 * are UTC calendar days, so that `yesterday` is the day before.
 */
export function distance(atMs: number, nowMs: number): string {
  if (atMs >= NEVER_MS) return '';
  const difference = atMs - nowMs;
  const size = Math.abs(difference);
  if (size < MINUTE_MS) return difference <= 0 ? 'just now' : 'in a moment';
  if (size < HOUR_MS) return numbered.format(Math.trunc(difference / MINUTE_MS), 'minute');
  if (size < DAY_MS) return numbered.format(Math.trunc(difference / HOUR_MS), 'hour');
  const days = Math.floor(atMs / DAY_MS) - Math.floor(nowMs / DAY_MS);
  if (Math.abs(days) < MONTHS_FROM_DAYS) return named.format(days, 'day');
  return Math.abs(days) < YEARS_FROM_DAYS
    ? numbered.format(Math.round(days / DAYS_OF_MONTH), 'month')
    : numbered.format(Math.round(days / DAYS_OF_YEAR), 'year');
}

/** Formats as `1.5 s`, `240 ms` or `3 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${whole.format(Math.round(ms / 100) / 10)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ${Math.floor((ms % MINUTE_MS) / 1_000)} s`;
  return `${whole.format(Math.floor(ms / HOUR_MS))} h ${Math.floor((ms % HOUR_MS) / MINUTE_MS)} min`;
}

/** Formats as `1 customer` or `2,000 customers`. */
export function plural(value: number, noun: string): string {
  return `${whole.format(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Formats as `1 call` or `12.3K calls`. */
export function compactPlural(value: number, noun: string): string {
  return `${compact(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Formats as `14:00`. */
export function hourOfDay(atMs: number): string {
  return clock.format(atMs);
}

/**
 * A name in words: `premiumCalls` becomes `Premium calls`, `plan.put` `Plan put`, `NOT_ALLOWED` `Not allowed`,
 * `CUSTOM1` `Custom 1`.
 */
export function words(name: string): string {
  const spaced = /^[A-Z\d_]+$/.test(name)
    ? name.toLowerCase().replaceAll('_', ' ')
    : name
        .replaceAll(/[_.]/g, ' ')
        .replace(/([a-z\d])([A-Z])/g, (_, before: string, letter: string) => `${before} ${letter.toLowerCase()}`);
  const text = spaced.replace(/([a-z])(\d)/g, '$1 $2');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
