/**
 * Operator events: who changed what, when, from what to what.
 */
import type { Hono } from 'hono';
import { listEvents } from '../../operator/events.ts';
import { listOrganizations } from '../../operator/organizations.ts';
import { pageRequest } from '../../platform/page.ts';
import { Card, Empty } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { Changes } from '../changes-view.tsx';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { page } from '../shell.tsx';

const PAGE_SIZE = 40;

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
    listEvents(c.env, { ...(organizationId !== null && { organizationId }) }, asked),
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
        <Changes items={items} names={organizationId === null ? names : new Map()} nowMs={Date.now()} />
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
