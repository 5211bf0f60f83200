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
import { count, plural, words } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Nothing, Time } from '../../ui/parts.tsx';
import { Pager, Table } from '../../ui/table.tsx';
import { type ConsoleEnv, customerPath, organizationPath } from '../context.ts';
import { ModelName } from '../model-name.tsx';
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
  'call.unpriced': 'warn',
  'charge.failed': 'bad',
  'webhook.disabled': 'bad',
  'model.switch_refused': 'warn',
  'forecast.will_run_out': 'warn',
  'model.deprecated': 'warn',
  'model.ending': 'warn',
  'projection.lagging': 'bad',
  'anomaly.detected': 'warn',
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
            A limit that fills up, a balance that runs low, a denied call, a change of a customer, a model that ends and
            unusual usage appear here.
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
          'customerId' in data && data.customerId !== null ? (
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

/** What is found for the organization as a whole, or by a forecast. */
type Watched = Extract<
  OrganizationEvent,
  {
    type:
      | 'forecast.will_run_out'
      | 'model.deprecated'
      | 'model.ending'
      | 'price.changed'
      | 'catalog.published'
      | 'key.created'
      | 'key.revoked'
      | 'projection.lagging'
      | 'anomaly.detected';
  }
>;

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
      return (
        <>
          {event.data.belowDays === undefined
            ? `$${event.data.balanceUsd}, below $${event.data.belowUsd}`
            : `$${event.data.balanceUsd} lasts ${count(event.data.daysLeft ?? 0)} days, below ${event.data.belowDays} days`}
        </>
      );
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
    case 'call.unpriced':
      return (
        <>
          <Code>{event.data.modelUsed}</Code>
          {`: ${event.data.reason}`}
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
    default:
      return <WhatOfOrganization event={event} />;
  }
};

const WhatOfOrganization: FC<{ event: Watched }> = ({ event }) => {
  switch (event.type) {
    case 'forecast.will_run_out': {
      const { meter, expectedAt, used, limit } = event.data;
      return (
        <>
          {`${words(meter)}: ${count(used)} of ${count(limit)}, used up about `}
          <Time at={expectedAt} nowMs={Date.parse(event.timestamp)} />
        </>
      );
    }
    case 'model.deprecated':
    case 'model.ending': {
      const { modelKey, shutdownAt, status, replacement } = event.data;
      const says =
        event.type === 'model.ending'
          ? `ends on ${shutdownAt}, within ${plural(event.data.step, 'day')}`
          : `${words(status)}${shutdownAt === null ? '' : `, ends on ${shutdownAt}`}`;
      return (
        <>
          <ModelName name={modelKey} />
          {` ${says}`}
          {replacement.modelKey !== null && (
            <>
              {'; replaced by '}
              <Code>{replacement.modelKey}</Code>
            </>
          )}
        </>
      );
    }
    case 'price.changed':
      return (
        <>
          <Code>{event.data.modelKey}</Code>
          {`: ${priceChange(event.data)}`}
        </>
      );
    case 'catalog.published': {
      const { version, previousVersion, repriced, lifecycle } = event.data;
      const changes = repriced === null ? '' : `: ${repriced} repriced, ${lifecycle} with other dates`;
      return <>{`${version}, before ${previousVersion}${changes}`}</>;
    }
    case 'key.created':
    case 'key.revoked':
      return (
        <>
          {`${event.data.name} `}
          <Code>{event.data.keyId}</Code>
        </>
      );
    case 'projection.lagging':
      return (
        <>
          {`${count(event.data.changes)} changes wait, the oldest since `}
          <Time at={event.data.waitingSince} nowMs={Date.parse(event.timestamp)} />
        </>
      );
    case 'anomaly.detected': {
      const { kind, severity, unit, expected, observed } = event.data;
      const shown = (value: number) => (unit === 'USD' ? `$${value.toFixed(2)}` : `${count(Math.round(value))} calls`);
      return <>{`${words(kind)} (${words(severity)}): ${shown(observed)}, expected ${shown(expected)}`}</>;
    }
  }
};

function priceChange({ source, before, after }: Extract<Watched, { type: 'price.changed' }>['data']): string {
  const whose = source === 'catalog' ? 'of the catalog' : 'own price';
  if (after === null) return `${whose}, removed`;
  return `${whose}, ${before === null ? 'set' : 'changed'}`;
}
