/**
 * Changes as sentences: actor, time, and on request every changed field. `renderChanges` is the card for the page of
 * one thing.
 */

import type { Child, FC } from 'hono/jsx';
import type { EventLogFilter, LoggedEvent } from '../contract/operator.ts';
import type { SubjectKind } from '../contract/operator-actions.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { isFigure, type Mention } from '../events/sentence.ts';
import { listEvents } from '../operator/events.ts';
import { pageRequest } from '../platform/page.ts';
import { plural } from '../ui/format.ts';
import { Card, Time } from '../ui/parts.tsx';
import { Pager } from '../ui/table.tsx';
import { readTrail } from '../ui/trail.ts';
import { changedFieldTexts, changeSentence, statedReason } from './change-sentence.ts';
import { CONSOLE_PATH, type ConsoleContext, organizationPath } from './context.ts';
import { Mentioned, type Names, readNames, Sentence } from './mentions.tsx';
import { load } from './send.ts';

const PAGE_SIZE = 20;

export interface ChangesAsked {
  organizationId: OrganizationId;
  /**
   * The thing that changed. The id of a mapping and of a sampling policy is that of the organization; the id of a price
   * is the model.
   */
  subject: { kind: SubjectKind; id: string };
  /**
   * The cursor of the page of changes; absent for the newest. `null` if the page has a list of its own: the card then
   * links to the log for older changes.
   */
  cursor?: string | undefined | null;
}

/** A card with the changes of one thing. The card's cursor is `cursor` in the query of the page that shows it. */
export async function renderChanges(
  c: ConsoleContext,
  { organizationId, subject, cursor }: ChangesAsked,
): Promise<Child> {
  const asked = pageRequest({ limit: PAGE_SIZE, cursor: cursor ?? undefined }) ?? { limit: PAGE_SIZE, after: null };
  const filter = { kind: subject.kind, subject: subject.id };
  const answer = await load(c, listEvents, { query: { organizationId, ...filter }, page: asked });
  if (!answer.ok) return null;
  const { items, nextCursor } = answer.data;
  const { done: _, ...query } = c.req.query();
  return (
    <Card title="Changes" id="changes" wide actions={<a href={eventsPath(organizationId, filter)}>Filter</a>}>
      {items.length === 0 ? (
        <p class="quiet">No changes yet.</p>
      ) : (
        <Changes
          events={items}
          names={await readEventNames(c, organizationId, items)}
          nowMs={Date.now()}
          here={organizationId}
        />
      )}
      {cursor === null && nextCursor !== null && (
        <p>
          <a href={eventsPath(organizationId, filter)}>All changes</a>
        </p>
      )}
      {cursor !== null && (
        <Pager
          path={c.req.path}
          query={query}
          next={nextCursor}
          first={asked.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      )}
    </Card>
  );
}

/** The address of the event log of an organization, or of the service, with a filter. */
export function eventsPath(organizationId: OrganizationId | null, filter: Partial<EventLogFilter> = {}): string {
  const path = organizationId === null ? `${CONSOLE_PATH}/events` : organizationPath(organizationId, 'events');
  const query = new URLSearchParams(filter as Record<string, string>).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** Reads the names of all things that these events mention without a name. */
export function readEventNames(
  c: ConsoleContext,
  organizationId: OrganizationId,
  events: readonly LoggedEvent[],
): Promise<Names> {
  const mentions = events.flatMap((event) => [
    ...changeSentence(event).filter((part) => typeof part === 'object' && !isFigure(part)),
    ...mentionOfActor(event.actor),
  ]);
  return readNames(c.env, organizationId, mentions);
}

/** The key behind a change; the actor of a change by API key is the key's id. */
function mentionOfActor(actor: string): Mention[] {
  return actor.startsWith('key_') ? [{ kind: 'key', id: actor }] : [];
}

interface ChangesProps {
  events: readonly LoggedEvent[];
  names: Names;
  nowMs: number;
  /** The organization of the page; `null` on a page of the service, where each event names its organization. */
  here: OrganizationId | null;
}

export const Changes: FC<ChangesProps> = ({ events, names, nowMs, here }) => (
  <ol class="timeline">
    {events.map((event) => (
      <li>
        <Change event={event} names={names} nowMs={nowMs} here={here} />
      </li>
    ))}
  </ol>
);

const Change: FC<Omit<ChangesProps, 'events'> & { event: LoggedEvent }> = ({ event, names, nowMs, here }) => {
  const { organizationId, actor, at } = event;
  const reason = statedReason(event);
  return (
    <div>
      <p>
        <Sentence parts={changeSentence(event)} organizationId={organizationId} names={names} />, by{' '}
        <Actor actor={actor} organizationId={organizationId} here={here} names={names} />
      </p>
      {reason !== undefined && <p class="quiet">“{reason}”</p>}
      <p class="quiet hint">
        <Time at={at} nowMs={nowMs} />
        {here === null && organizationId !== null && (
          <>
            {' · '}
            <Mentioned mention={{ kind: 'organization', id: organizationId }} organizationId={null} names={names} />
          </>
        )}
      </p>
      <Fields event={event} />
    </div>
  );
};

/** Actors that are neither a person nor a key, in words. */
const ACTORS: Readonly<Record<string, string>> = {
  operator: 'the operator token',
  console: 'the operator token on the console',
  service: 'the service',
  autopilot: 'the autopilot',
  'upstream import': 'the catalog import',
};

export function actorName(actor: string): string {
  return ACTORS[actor] ?? actor;
}

/** A link from a key to its page, and from other actors to their changes. */
const Actor: FC<{
  actor: string;
  organizationId: OrganizationId | null;
  here: OrganizationId | null;
  names: Names;
}> = ({ actor, organizationId, here, names }) => {
  const [key] = mentionOfActor(actor);
  if (key) return <Mentioned mention={key} organizationId={organizationId} names={names} />;
  return <a href={eventsPath(here, { actor })}>{actorName(actor)}</a>;
};

const Fields: FC<{ event: LoggedEvent }> = ({ event }) => {
  const fields = changedFieldTexts(event);
  if (fields.length === 0) return null;
  return (
    <details class="figures">
      <summary>{plural(fields.length, 'field')}</summary>
      <dl class="facts">
        {fields.map(({ label, before, after }) => (
          <div>
            <dt>{label}</dt>
            <dd>
              {event.before !== null && <span class="quiet">{before} → </span>}
              {event.after === null ? 'removed' : after}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
};
