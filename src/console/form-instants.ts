/**
 * Times as the fields of a form show them, in UTC without a zone, and as the contract takes them.
 */

type Asked = Record<string, string | undefined>;

/** Characters of `2026-11-25T09:30`. Browsers leave out seconds that are zero. */
const MINUTE_LENGTH = 'yyyy-mm-ddThh:mm'.length;

/** A time of a form as an instant. What has a zone, or is no time, stays as it is. */
export function instantIn(time: string): string {
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(time)) return time;
  return `${time}${time.length === MINUTE_LENGTH ? ':00' : ''}Z`;
}

/** An instant as a field of a form shows it. */
export function shownInstant(instant: string): string {
  return instant.replace(/(:00)?(\.0+)?Z$/, '');
}

/** The times of a filter, `from` and `to`, as instants. */
export const instantsOf = (asked: Asked) => timesOf(asked, instantIn);

/** The times of a filter as the fields of a form show them. */
export const instantFields = (asked: Asked) => timesOf(asked, shownInstant);

function timesOf(asked: Asked, convert: (time: string) => string): Record<string, string> {
  const times = (['from', 'to'] as const).flatMap((name) => {
    const time = asked[name];
    return time === undefined ? [] : [[name, convert(time)] as const];
  });
  return Object.fromEntries(times);
}
