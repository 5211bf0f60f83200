/**
 * The operator's event log: the author, the time and the content of each change.
 */

import { type EventSelection, findEvents } from '../config/events.ts';
import { operations } from '../contract/operations.ts';
import type { EventLogFilter } from '../contract/operator.ts';
import { actionsOnKind, type OperatorAction } from '../contract/operator-actions.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { makePage } from '../platform/page.ts';
import { list } from './operation.ts';

export const listEvents = list(operations.listEvents, async ({ env, query, page: { after, limit } }) => {
  const rows = await findEvents(env, selectEvents(query, after), 'newest', limit + 1);
  const items = rows.map(({ atMs, ...row }) => ({ ...row, at: new Date(atMs).toISOString() }));
  return makePage(items, limit, (item) => item.eventId);
});

function selectEvents({ from, to, kind, action, ...rest }: EventLogFilter, after: string | null): EventSelection {
  const firstId = (instant: string | undefined) =>
    instant === undefined ? undefined : eventIdsFrom(Date.parse(instant));
  const [beforeId] = [firstId(to), after ?? undefined].filter((id) => id !== undefined).sort();
  return { ...rest, actions: actionsFor(kind, action), fromId: firstId(from), beforeId };
}

/** An action of another kind matches nothing. */
function actionsFor(kind: EventLogFilter['kind'], action: OperatorAction | undefined): OperatorAction[] | undefined {
  if (kind === undefined) return action === undefined ? undefined : [action];
  return actionsOnKind(kind).filter((one) => action === undefined || one === action);
}
