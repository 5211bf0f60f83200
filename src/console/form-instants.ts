/**
 * Times as the fields of a form show them, in UTC without a zone, and as the contract takes them.
 */
import { MINUTE_LENGTH } from '../ui/form.tsx';

type Asked = Record<string, string | undefined>;

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
export const readInstants = (asked: Asked) => timesOf(asked, instantIn);

/** The times of a filter as the fields of a form show them. */
export const instantFields = (asked: Asked) => timesOf(asked, shownInstant);

function timesOf(asked: Asked, convert: (time: string) => string): Record<string, string> {
  const times = (['from', 'to'] as const).flatMap((name) => {
    const time = asked[name];
    return time === undefined ? [] : [[name, convert(time)] as const];
  });
  return Object.fromEntries(times);
}
