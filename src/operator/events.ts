/**
 * The operator's event log: who changed what, when, from what to what.
 */
import type { z } from 'zod';
import { type Answer, accept } from '../contract/errors.ts';
import type { EventLogFilter, OperatorEvent } from '../contract/operator.ts';
import { actionsOf, type OperatorAction } from '../contract/operator-actions.ts';
import type { Env } from '../env.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { type EventSelection, findEvents } from '../storage/events.ts';

export async function listEvents(
  env: Env,
  filter: EventLogFilter,
  { after, limit }: PageRequest,
): Promise<Answer<Page<z.infer<typeof OperatorEvent>>>> {
  const rows = await findEvents(env, selectionOf(filter, after), 'newest', limit + 1);
  const items = rows.map(({ atMs, ...row }) => ({ ...row, at: new Date(atMs).toISOString() }));
  return accept(
    'EVENTS_LISTED',
    pageOf(items, limit, (item) => item.eventId),
    Date.now(),
  );
}

function selectionOf({ from, to, kind, action, ...rest }: EventLogFilter, after: string | null): EventSelection {
  const firstId = (instant: string | undefined) =>
    instant === undefined ? undefined : eventIdsFrom(Date.parse(instant));
  const [beforeId] = [firstId(to), after ?? undefined].filter((id) => id !== undefined).sort();
  return { ...rest, actions: actionsFor(kind, action), fromId: firstId(from), beforeId };
}

/** An action of another kind is none. */
function actionsFor(kind: EventLogFilter['kind'], action: OperatorAction | undefined): OperatorAction[] | undefined {
  if (kind === undefined) return action === undefined ? undefined : [action];
  return actionsOf(kind).filter((one) => action === undefined || one === action);
}
