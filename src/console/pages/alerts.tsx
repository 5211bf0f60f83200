/**
 * Alerts: the events that an organization receives, newest first, and a page for each.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { EVENTS } from '../../contract/event-data.ts';
import { EVENT_RETENTION_DAYS, EVENT_TYPES, type OrganizationEvent } from '../../contract/events.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { readEvent } from '../../events/read-events.ts';
import { readOrganizationEvents } from '../../operator/readings.ts';
import { pageRequest } from '../../platform/page.ts';
import { type FormState, GetForm, Select, TextField } from '../../ui/form.tsx';
import { moment, words } from '../../ui/format.ts';
import { Card, Code, Empty, Facts, Json, Nothing, Time } from '../../ui/parts.tsx';
import { Pager, Table } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { type ConsoleContext, type ConsoleEnv, customerPath, eventPath, organizationPath } from '../context.ts';
import { EventBadge, EventView } from '../event-view.tsx';
import { firstStepsPage } from '../first-steps.tsx';
import { queryIn } from '../page-input.ts';
import { mayOpen } from '../page-roles.tsx';
import { refused } from '../refused.tsx';
import { load, refusalDetails } from '../send.ts';
import { page } from '../shell.tsx';

const PAGE_SIZE = 50;

export function mountAlerts(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/alerts', async (c) => {
    const { organizationId } = c.get('organization');
    const asked = queryIn(c, readOrganizationEvents);
    const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor: asked.cursor }) ?? { limit: PAGE_SIZE, after: null };
    const answer = await load(c, readOrganizationEvents, { query: asked, page: pageAsked });
    // If a filter is refused, all events are shown.
    const shown = answer.ok ? answer : await load(c, readOrganizationEvents, { page: pageAsked });
    if (!shown.ok) return refused(c, shown.refusal);
    const { items, nextCursor } = shown.data;
    const isEmpty = items.length === 0 && Object.keys(asked).length === 0;
    const first = isEmpty ? await firstStepsPage(c, 'Alerts') : null;
    if (first) return first;
    const { type, customerId, from, to } = answer.ok ? asked : {};
    const path = organizationPath(organizationId, 'alerts');
    const webhooks = organizationPath(organizationId, 'webhooks');
    const state = { values: asked, details: answer.ok ? [] : refusalDetails(answer.refusal) };
    return page(
      c,
      {
        title: 'Alerts',
        sub: `Events that applications read with GET /events and get by webhooks, newest first. Kept for ${EVENT_RETENTION_DAYS} days.`,
        status: answer.ok ? 200 : 400,
        actions: mayOpen(c.get('session').operator.role, webhooks) && (
          <a class="button" href={webhooks}>
            Webhooks
          </a>
        ),
      },
      <Card>
        <Filters path={path} state={state} />
        <Since path={path} from={from} to={to} kept={{ ...(type && { type }), ...(customerId && { customerId }) }} />
        {items.length === 0 && Object.keys(asked).length > 0 ? (
          <Empty title="No events match">
            <a href={path}>Show all events</a>.
          </Empty>
        ) : items.length === 0 ? (
          <Empty title="No events">
            A limit that fills up, a balance that runs low, a denied call, a change of a customer, a model that ends and
            unusual usage appear here.
          </Empty>
        ) : (
          <Events organizationId={organizationId} items={items} nowMs={Date.now()} />
        )}
        <Pager
          path={path}
          query={{ ...(type && { type }), ...(customerId && { customerId }), ...(from && { from }), ...(to && { to }) }}
          next={nextCursor}
          first={pageAsked.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>,
    );
  });

  app.get('/organizations/:org/alerts/:eventId', async (c) => {
    const { organizationId } = c.get('organization');
    const answer = await readEvent(c.env, organizationId, c.req.param('eventId'));
    if (!answer.ok) return refused(c, answer.refusal);
    return eventPage(c, answer.data);
  });
}

function eventPage(c: ConsoleContext, event: OrganizationEvent) {
  const { organizationId } = c.get('organization');
  const { eventId, type, timestamp, data } = event;
  return page(
    c,
    {
      title: words(type),
      sub: `${EVENTS[type].meaning}.`,
      crumbs: [{ text: 'Alerts', href: organizationPath(organizationId, 'alerts') }],
    },
    <div class="grid">
      <Card title="What happened">
        <Facts
          items={[
            ['Type', <EventBadge type={type} />],
            ['What', <EventView organizationId={organizationId} event={event} />],
            [
              'Customer',
              'customerId' in data ? <CustomerLink organizationId={organizationId} event={event} /> : undefined,
            ],
            ['When', <Time at={timestamp} nowMs={Date.now()} />],
            ['Event id', <Code>{eventId}</Code>],
          ]}
        />
      </Card>
      <Card title="As a webhook sends it">
        <Json value={{ type, timestamp, data }} />
      </Card>
    </div>,
  );
}

const CustomerLink: FC<{ organizationId: OrganizationId; event: OrganizationEvent }> = ({
  organizationId,
  event: { data },
}) =>
  'customerId' in data && data.customerId !== null ? (
    <a href={customerPath({ organizationId, customerId: data.customerId })}>{data.customerId}</a>
  ) : (
    <Nothing />
  );

/** The requested period, with a link to all events. */
const Since: FC<{ path: string; from: string | undefined; to: string | undefined; kept: Record<string, string> }> = ({
  path,
  from,
  to,
  kept,
}) => {
  const period = [
    ...(from ? [`from ${moment(Date.parse(from))}`] : []),
    ...(to ? [`before ${moment(Date.parse(to))}`] : []),
  ];
  if (period.length === 0) return null;
  return (
    <p class="tags">
      <a class="badge" href={`${path}?${new URLSearchParams(kept)}`} title="Remove filter">
        {period.join(', ')} UTC ×
      </a>
    </p>
  );
};

const Filters: FC<{ path: string; state: FormState }> = ({ path, state }) => (
  <GetForm label="Events" action={path} state={state}>
    <div class="filters">
      <TextField name="customerId" label="Customer id" />
      <Select
        name="type"
        label="Type"
        options={[['', 'All'], ...EVENT_TYPES.map((type) => [type, words(type)] as const)]}
      />
      <button type="submit">Search</button>
    </div>
  </GetForm>
);

const Events: FC<{ organizationId: OrganizationId; items: OrganizationEvent[]; nowMs: number }> = ({
  organizationId,
  items,
  nowMs,
}) => (
  <Table
    caption="Events"
    rows={items}
    columns={[
      {
        title: 'Event',
        heading: true,
        cell: ({ eventId, type }) => <EventBadge type={type} href={eventPath(organizationId, eventId)} />,
      },
      {
        title: 'Customer',
        cell: (event) => <CustomerLink organizationId={organizationId} event={event} />,
      },
      {
        title: 'What',
        cell: (event) => (
          <span>
            <EventView organizationId={organizationId} event={event} />
          </span>
        ),
      },
      { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} nowMs={nowMs} /> },
    ]}
  />
);
