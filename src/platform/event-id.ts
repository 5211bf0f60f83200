/**
 * Ids of events: they sort by time, and are unique at any moment.
 */

/** The number of characters of a time, in milliseconds, and of a position. */
const TIME_LENGTH = 9;
const PLACE_LENGTH = 3;
const RANDOM_LENGTH = 12;

/** `place` orders the events that one recorder makes in the same millisecond. */
export function newEventId(nowMs: number, place?: number): string {
  const order = place === undefined ? '' : place.toString(36).padStart(PLACE_LENGTH, '0');
  return `${eventIdsFrom(nowMs)}${order}${crypto.randomUUID().replaceAll('-', '').slice(0, RANDOM_LENGTH)}`;
}

/** The beginning of the ids of that time: all of them, and all later ones, are greater. */
export function eventIdsFrom(atMs: number): string {
  return `evt_${atMs.toString(36).padStart(TIME_LENGTH, '0')}`;
}
