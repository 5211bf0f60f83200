/**
 * Operator events: who changed what, when, from what to what.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { z } from 'zod';
import type { OperatorEvent } from '../../contract/operator.ts';
import { listEvents } from '../../operator/events.ts';
import { listOrganizations } from '../../operator/organizations.ts';
import { pageRequest } from '../../platform/page.ts';
import { words } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Time } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { changedFields, shownValue } from '../changed-fields.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { page } from '../shell.tsx';

const PAGE_SIZE = 40;

type Event = z.infer<typeof OperatorEvent>;

/** Organizations whose names are shown instead of their ids. */
const NAMES_MAX = 200;

export function mountEvents(app: Hono<ConsoleEnv>): void {
  app.get('/events', (c) => eventsPage(c, null));
  app.get('/organizations/:org/events', (c) => eventsPage(c, c.get('organization').organizationId));
}

/** Of one organization, or of all. */
async function eventsPage(c: ConsoleContext, organizationId: string | null) {
  const asked = pageRequest({ limit: PAGE_SIZE, cursor: c.req.query('cursor') }) ?? { limit: PAGE_SIZE, after: null };
  const [answer, organizations] = await Promise.all([
    listEvents(c.env, organizationId ?? undefined, asked),
    listOrganizations(c.env, { limit: NAMES_MAX, after: null }),
  ]);
  if (!answer.ok) return refused(c, answer.refusal);
  const { items, nextCursor } = answer.data;
  const names = new Map(
    (organizations.ok ? organizations.data.items : []).map((one) => [one.organizationId, one.name]),
  );
  return page(
    c,
    {
      title: organizationId === null ? 'Operator events' : 'Events',
      sub: 'Every change by API, command line and console, newest first.',
    },
    <Card>
      {items.length === 0 ? (
        <Empty title="No changes yet">
          Every change by an operator appears here, with the state before and after it.
        </Empty>
      ) : (
        <ol class="timeline">
          {items.map((event) => (
            <li>
              <EventView
                event={event}
                name={organizationId === null ? names.get(event.organizationId ?? '') : undefined}
                nowMs={Date.now()}
              />
            </li>
          ))}
        </ol>
      )}
      <Pager
        path={organizationId === null ? `${CONSOLE_PATH}/events` : organizationPath(organizationId, 'events')}
        query={{}}
        next={nextCursor}
        first={asked.after === null}
      />
    </Card>,
  );
}

const EventView: FC<{ event: Event; name: string | undefined; nowMs: number }> = ({ event, name, nowMs }) => {
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
