/**
 * Alerts: the events that an organization is told of, newest first.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import {
  EVENT_RETENTION_DAYS,
  EVENT_TYPES,
  EventsQuery,
  type EventType,
  type OrganizationEvent,
} from '../../contract/events.ts';
import { readEvents } from '../../metering/events.ts';
import { pageRequest } from '../../platform/page.ts';
import { ErrorSummary, type FormState, Select, TextField } from '../../ui/form.tsx';
import { count, words } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Nothing, Time } from '../../ui/parts.tsx';
import { Pager, Table } from '../../ui/table.tsx';
import { type ConsoleEnv, customerPath, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { page } from '../shell.tsx';
import { check } from '../submitted.ts';

const PAGE_SIZE = 50;

const TONES: Partial<Record<EventType, 'warn' | 'bad' | 'good'>> = {
  'meter.threshold_reached': 'warn',
  'meter.recovered': 'good',
  'balance.low': 'warn',
  'balance.exhausted': 'bad',
  'call.denied': 'bad',
  'charge.failed': 'bad',
  'webhook.disabled': 'bad',
  'model.switch_refused': 'warn',
};

export function mountAlerts(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/alerts', async (c) => {
    const { organizationId } = c.get('organization');
    const asked = Object.fromEntries(Object.entries(c.req.query()).filter(([, value]) => value !== ''));
    const checked = check(EventsQuery, asked);
    const { type, customerId, cursor } = checked.ok ? checked.value : {};
    const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
    const answer = await readEvents(c.env, organizationId, { type, customerId }, pageAsked);
    if (!answer.ok) return refused(c, answer.refusal);
    const { items, nextCursor } = answer.data;
    const path = organizationPath(organizationId, 'alerts');
    const state = { values: asked, details: checked.ok ? [] : checked.details };
    return page(
      c,
      {
        title: 'Alerts',
        sub: `What applications read with GET /events, newest first. Kept for ${EVENT_RETENTION_DAYS} days.`,
        status: checked.ok ? 200 : 400,
      },
      <Card>
        <Filters path={path} state={state} />
        {items.length === 0 ? (
          <Empty title="No events">
            A limit that fills up, a balance that runs low, a denied call and a change of a customer appear here.
          </Empty>
        ) : (
          <Events organizationId={organizationId} items={items} nowMs={Date.now()} />
        )}
        <Pager
          path={path}
          query={{ ...(type && { type }), ...(customerId && { customerId }) }}
          next={nextCursor}
          first={pageAsked.after === null}
        />
      </Card>,
    );
  });
}

const Filters: FC<{ path: string; state: FormState }> = ({ path, state }) => (
  <search aria-label="Events">
    <form method="get" action={path}>
      <ErrorSummary details={state.details} />
      <div class="filters">
        <TextField name="customerId" label="Customer id" state={state} />
        <Select
          name="type"
          label="Type"
          state={state}
          options={[['', 'All'], ...EVENT_TYPES.map((type) => [type, words(type)] as const)]}
        />
        <button type="submit">Search</button>
      </div>
    </form>
  </search>
);

const Events: FC<{ organizationId: string; items: OrganizationEvent[]; nowMs: number }> = ({
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
        cell: ({ type }) => <Badge tone={TONES[type] ?? 'plain'}>{words(type)}</Badge>,
      },
      {
        title: 'Customer',
        cell: ({ data }) =>
          'customerId' in data ? (
            <a href={customerPath(organizationId, data.customerId)}>{data.customerId}</a>
          ) : (
            <Nothing />
          ),
      },
      { title: 'What', cell: (event) => <What event={event} /> },
      { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} nowMs={nowMs} /> },
    ]}
  />
);

const What: FC<{ event: OrganizationEvent }> = ({ event }) => {
  switch (event.type) {
    case 'meter.threshold_reached':
    case 'meter.recovered': {
      const { meter, threshold, used, limit } = event.data;
      const state = `${count(used)} of ${limit === null ? 'no limit' : count(limit)}`;
      return (
        <>{`${words(meter)}: ${threshold} % ${event.type === 'meter.recovered' ? 'no longer reached' : 'reached'}, ${state}`}</>
      );
    }
    case 'balance.low':
      return <>{`$${event.data.balanceUsd}, below $${event.data.belowUsd}`}</>;
    case 'balance.exhausted':
      return <>{`$${event.data.balanceUsd}`}</>;
    case 'call.denied':
      return (
        <>
          {[event.data.code, event.data.meter ?? '']
            .filter((part) => part !== '')
            .map(words)
            .join(': ')}
        </>
      );
    case 'charge.failed':
      return <>{`$${event.data.amountUsd}: ${event.data.reason}`}</>;
    case 'customer.plan_changed':
      return (
        <>
          <Code>{event.data.previousPlanId}</Code> → <Code>{event.data.planId}</Code>
        </>
      );
    case 'webhook.disabled':
      return (
        <>
          <Code>{event.data.webhookId}</Code> {event.data.reason === 'GONE' ? 'answered 410' : 'failed for five days'}
        </>
      );
    case 'customer.created':
    case 'customer.replenished':
      return <Code>{event.data.planId}</Code>;
    case 'model.switched':
      return <>{`${event.data.mapping}: ${event.data.from} → ${event.data.to}. ${event.data.reason}`}</>;
    case 'model.switch_refused':
      return (
        <>{`${event.data.mapping}: ${event.data.model} stays. ${event.data.reasons.map(({ message }) => message).join('; ')}`}</>
      );
  }
};
