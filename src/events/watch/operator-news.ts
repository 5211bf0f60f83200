/**
 * The actions of operators that organizations are told of: keys, and own prices. The event log commits with the change
 * itself, so it is the outbox of these events. It is read from slightly before the last position on, because its ids
 * sort by the time of a change and not by its commit. The same change gets the same event id each time, so reading it
 * again reports nothing twice.
 */

import { type EventRow, findEvents } from '../../config/events.ts';
import { EVENT_RETENTION_DAYS } from '../../contract/events.ts';
import type { Key } from '../../contract/operator.ts';
import type { OwnRates } from '../../contract/prices.ts';
import type { KeyId } from '../../domain/ids.ts';
import { TOLD_ACTIONS, type ToldAction } from '../../objects/watches.ts';
import { eventIdsFrom } from '../../platform/event-id.ts';
import { DAY_MS, MINUTE_MS } from '../../platform/time.ts';
import { type Found, type Look, memoryKey, type News } from './look.ts';

/** A change commits within this time after the time in its id. */
const COMMIT_MS_MAX = 5 * MINUTE_MS;
/** How far a new watch looks back: further than its first wake can be late if one was missed. */
const FIRST_LOOK_MS = DAY_MS;
const ROWS_PER_PAGE = 200;
/** The most pages of one look; the next one continues. */
const PAGES_MAX = 10;

const PLACE = memoryKey('operator');

/** A price in the event log: its time is present only if it has one. */
type LoggedPrice = OwnRates & { effectiveFrom?: string };

export async function operatorNews({ env, organizationId, nowMs, memory }: Look): Promise<News> {
  const place = memory.get(PLACE);
  const earliestMs = nowMs - EVENT_RETENTION_DAYS * DAY_MS;
  const fromMs = place === null ? nowMs - FIRST_LOOK_MS : Math.max(Number(place) - COMMIT_MS_MAX, earliestMs);
  const rows: EventRow[] = [];
  let fromId = eventIdsFrom(fromMs);
  let isAll = false;
  for (let page = 0; page < PAGES_MAX && !isAll; page += 1) {
    const found = await findEvents(env, { organizationId, actions: TOLD_ACTIONS, fromId }, 'oldest', ROWS_PER_PAGE);
    rows.push(...found);
    // The least id that comes after the last one.
    fromId = `${found.at(-1)?.eventId}\0`;
    isAll = found.length < ROWS_PER_PAGE;
  }
  const readToMs = isAll ? nowMs : (rows.at(-1)?.atMs ?? nowMs) + COMMIT_MS_MAX;
  return {
    events: rows.flatMap(eventsOfChange),
    // An unchanged position is not written.
    ...((rows.length > 0 || place === null || nowMs - Number(place) >= DAY_MS) && {
      remember: [{ key: PLACE, value: String(readToMs), untilMs: null }],
    }),
  };
}

/** The events of a change. The log never contains a key's secret, and its last characters are not reported. */
export function eventsOfChange({
  action,
  subject,
  eventId,
  atMs,
  before,
  after,
}: Pick<EventRow, 'action' | 'subject' | 'eventId' | 'atMs' | 'before' | 'after'>): Found[] {
  switch (action as ToldAction) {
    case 'key.create': {
      const { keyId, name, prefix, scopes } = after as Key;
      return [{ type: 'key.created', eventId, atMs, data: { keyId, name, prefix, scopes } }];
    }
    case 'key.rotate': {
      const { name, prefix, scopes, rotatedTo } = after as Key & { rotatedTo: KeyId };
      return [{ type: 'key.created', eventId, atMs, data: { keyId: rotatedTo, name, prefix, scopes } }];
    }
    case 'key.revoke': {
      const { keyId, name, prefix } = after as Key;
      return [{ type: 'key.revoked', eventId, atMs, data: { keyId, name, prefix } }];
    }
    case 'price.put': {
      const data = priceChange(subject, before as LoggedPrice | null, after as LoggedPrice);
      return [{ type: 'price.changed', eventId, atMs, data }];
    }
    case 'price.delete':
      return (before as LoggedPrice[]).map((price, place) => ({
        type: 'price.changed',
        eventId: place === 0 ? eventId : `${eventId}-${place}`,
        atMs,
        data: priceChange(subject, price, null),
      }));
  }
}

function priceChange(modelKey: string, before: LoggedPrice | null, after: LoggedPrice | null) {
  const effectiveFrom = (after ?? before)?.effectiveFrom ?? null;
  return {
    modelKey,
    source: 'organization',
    effectiveFrom,
    before: withoutDate(before),
    after: withoutDate(after),
  } as const;
}

function withoutDate(price: LoggedPrice | null): OwnRates | null {
  if (!price) return null;
  const { effectiveFrom: _effectiveFrom, ...rates } = price;
  return rates;
}
