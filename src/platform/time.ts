/**
 * Lengths of time in milliseconds, and instants as text and back.
 */
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const WEEK_MS = 7 * DAY_MS;

/** The UTC day of an instant, as YYYY-MM-DD. */
export function utcDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 'yyyy-mm-dd'.length);
}

/** An instant as the contract writes it. */
export function isoTimeOrNull(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

/** The instant of a validated time of a request, if it has one. */
export function parseTime(at: string | undefined): number | undefined {
  return at === undefined ? undefined : Date.parse(at);
}
