/**
 * Changes: who changed what, when, from what to what, newest first. `changesOf` is the card for the page of one thing.
 */
import type { Child, FC } from 'hono/jsx';
import type { z } from 'zod';
import type { OperatorEvent } from '../contract/operator.ts';
import type { SubjectKind } from '../contract/operator-actions.ts';
import { listEvents } from '../operator/events.ts';
import { pageRequest } from '../platform/page.ts';
import { words } from '../ui/format.ts';
import { Badge, Card, Code, Time } from '../ui/parts.tsx';
import { Pager } from '../ui/table.tsx';
import { changedFields, shownValue } from './changed-fields.ts';
import { type ConsoleContext, organizationPath } from './context.ts';

export type LoggedEvent = z.infer<typeof OperatorEvent>;

const PAGE_SIZE = 20;

export interface ChangesAsked {
  organizationId: string;
  /** Of mappings and of what an organization has one of, the id is that of the organization. */
  subject: { kind: SubjectKind; id: string };
  /** Of the page of changes; absent is the newest. */
  cursor?: string | undefined;
}

/** A card with the changes of one thing. Its pages are in the query of the page that shows it, as `cursor`. */
export async function changesOf(c: ConsoleContext, { organizationId, subject, cursor }: ChangesAsked): Promise<Child> {
  const asked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
  const answer = await listEvents(c.env, { organizationId, kind: subject.kind, subject: subject.id }, asked);
  if (!answer.ok) return null;
  const { items, nextCursor } = answer.data;
  const { cursor: _, done: __, ...query } = c.req.query();
  return (
    <Card title="Changes" id="changes">
      {items.length === 0 ? (
        <p class="quiet">No changes yet.</p>
      ) : (
        <Changes items={items} names={new Map()} nowMs={Date.now()} />
      )}
      <Pager path={c.req.path} query={query} next={nextCursor} first={asked.after === null} />
    </Card>
  );
}

export const Changes: FC<{ items: readonly LoggedEvent[]; names: ReadonlyMap<string, string>; nowMs: number }> = ({
  items,
  names,
  nowMs,
}) => (
  <ol class="timeline">
    {items.map((event) => (
      <li>
        <Change event={event} name={names.get(event.organizationId ?? '')} nowMs={nowMs} />
      </li>
    ))}
  </ol>
);

const Change: FC<{ event: LoggedEvent; name: string | undefined; nowMs: number }> = ({ event, name, nowMs }) => {
  const changes = changedFields(event.before, event.after);
  return (
    <div>
      <p>
        <strong>{words(event.action)}</strong> <Code>{event.subject}</Code> <Badge>{event.actor}</Badge>
      </p>
      <p class="quiet hint">
        <Time at={event.at} nowMs={nowMs} />
        {event.organizationId && name !== undefined && (
          <>
            {' · '}
            <a href={organizationPath(event.organizationId)}>{name}</a>
          </>
        )}
      </p>
      {changes.length > 0 && (
        <details class="figures">
          <summary>
            {changes.length} {changes.length === 1 ? 'field' : 'fields'}
          </summary>
          <dl class="facts">
            {changes.map(({ field, before, after }) => (
              <div>
                <dt>{field}</dt>
                <dd>
                  {event.before !== null && <span class="quiet">{shownValue(before)} → </span>}
                  {shownValue(after)}
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </div>
  );
};
