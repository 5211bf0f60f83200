/**
 * An event of an organization in words: its type as a badge, and what it says.
 */
import type { FC } from 'hono/jsx';
import type { EventType, OrganizationEvent } from '../contract/events.ts';
import { count, moment, plural, words } from '../ui/format.ts';
import { Badge, Code, Time, type Tone } from '../ui/parts.tsx';
import { webhookPath } from './context.ts';
import { ModelName } from './model-name.tsx';

const TONES: Partial<Record<EventType, Tone>> = {
  'meter.threshold_reached': 'warn',
  'meter.recovered': 'good',
  'balance.low': 'warn',
  'balance.exhausted': 'bad',
  'call.denied': 'bad',
  'charge.failed': 'bad',
  'webhook.disabled': 'bad',
  'call.unpriced': 'warn',
  'forecast.will_run_out': 'warn',
  'model.deprecated': 'warn',
  'model.ending': 'warn',
  'model.switch_refused': 'warn',
  'projection.lagging': 'bad',
  'anomaly.detected': 'warn',
};

export const EventBadge: FC<{ type: EventType; href?: string }> = ({ type, href }) => (
  <Badge tone={TONES[type] ?? 'plain'}>{href === undefined ? words(type) : <a href={href}>{words(type)}</a>}</Badge>
);

export const EventView: FC<{ organizationId: string; event: OrganizationEvent }> = ({ organizationId, event }) => {
  switch (event.type) {
    case 'customer.created':
      return (
        <>
          New, on the plan <Code>{event.data.planId}</Code>
        </>
      );
    case 'customer.plan_changed':
      return (
        <>
          Moved from the plan <Code>{event.data.previousPlanId}</Code> to <Code>{event.data.planId}</Code>
        </>
      );
    case 'customer.replenished':
      return (
        <>
          {`A new period${until(event.data.periodEndsAt)}, on the plan `}
          <Code>{event.data.planId}</Code>
        </>
      );
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
            ? `$${event.data.balanceUsd} left, below $${event.data.belowUsd}`
            : `$${event.data.balanceUsd} left, lasts ${plural(event.data.daysLeft ?? 0, 'day')}, below ${event.data.belowDays}`}
        </>
      );
    case 'balance.exhausted':
      return <>{`Used up: $${event.data.balanceUsd}`}</>;
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
          <ModelName name={event.data.modelUsed} />
          {`: ${words(event.data.reason)}`}
        </>
      );
    case 'charge.failed':
      return <>{`$${event.data.amountUsd}: ${event.data.reason}`}</>;
    case 'webhook.disabled':
      return (
        <>
          <a href={webhookPath(organizationId, event.data.webhookId)}>{event.data.webhookId}</a>{' '}
          {event.data.reason === 'GONE' ? 'answered 410' : 'failed for five days'}
        </>
      );
    default:
      return <WatchedView event={event} />;
  }
};

function until(periodEndsAt: string | null): string {
  return periodEndsAt === null ? '' : `, until ${moment(Date.parse(periodEndsAt))} UTC`;
}

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
      | 'anomaly.detected'
      | 'model.switched'
      | 'model.switch_refused';
  }
>;

const WatchedView: FC<{ event: Watched }> = ({ event }) => {
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
    case 'model.switched': {
      const { mapping, from, to, reason } = event.data;
      return <>{`${mapping}: ${from} → ${to}. ${reason}`}</>;
    }
    case 'model.switch_refused': {
      const { mapping, model, reasons } = event.data;
      return <>{`${mapping}: ${model} stays. ${reasons.map(({ message }) => message).join('; ')}`}</>;
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
          {`${plural(event.data.changes, 'change')} ${event.data.changes === 1 ? 'waits' : 'wait'}, the oldest since `}
          <Time at={event.data.waitingSince} nowMs={Date.parse(event.timestamp)} />
        </>
      );
    case 'anomaly.detected':
      return <>{event.data.summary}</>;
  }
};

function priceChange({ source, before, after }: Extract<Watched, { type: 'price.changed' }>['data']): string {
  const whose = source === 'catalog' ? 'of the catalog' : 'own price';
  if (after === null) return `${whose}, removed`;
  return `${whose}, ${before === null ? 'set' : 'changed'}`;
}
