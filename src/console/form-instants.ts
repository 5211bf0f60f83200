/**
 * Converts times between the fields of a form, in UTC without a zone, and the instants of the contract.
 */
import { MINUTE_LENGTH } from '../ui/form.tsx';

type Asked = Record<string, string | undefined>;

/** The instant of a form's time. A text with a zone, or one that is no time, stays as it is. */
export function instantIn(time: string): string {
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(time)) return time;
  return `${time}${time.length === MINUTE_LENGTH ? ':00' : ''}Z`;
}

/** The text of an instant in a field of a form. */
export function shownInstant(instant: string): string {
  return instant.replace(/(:00)?(\.0+)?Z$/, '');
}

/** Converts `from` and `to` of a filter to instants. */
export const readInstants = (asked: Asked) => timesOf(asked, instantIn);

/** Converts `from` and `to` of a filter to the texts of form fields. */
export const instantFields = (asked: Asked) => timesOf(asked, shownInstant);

function timesOf(asked: Asked, convert: (time: string) => string): Record<string, string> {
  const times = (['from', 'to'] as const).flatMap((name) => {
    const time = asked[name];
    return time === undefined ? [] : [[name, convert(time)] as const];
  });
  return Object.fromEntries(times);
}
