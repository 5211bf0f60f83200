/**
 * An event of an organization in words: its type as a badge, and what it says.
 */
import type { FC } from 'hono/jsx';
import type { EventType, OrganizationEvent } from '../contract/events.ts';
import { count, moment, words } from '../ui/format.ts';
import { Badge, Code, type Tone } from '../ui/parts.tsx';
import { webhookPath } from './context.ts';

const TONES: Partial<Record<EventType, Tone>> = {
  'meter.threshold_reached': 'warn',
  'meter.recovered': 'good',
  'balance.low': 'warn',
  'balance.exhausted': 'bad',
  'call.denied': 'bad',
  'charge.failed': 'bad',
  'webhook.disabled': 'bad',
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
      return <>{`$${event.data.balanceUsd} left, below $${event.data.belowUsd}`}</>;
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
    case 'charge.failed':
      return <>{`$${event.data.amountUsd}: ${event.data.reason}`}</>;
    case 'webhook.disabled':
      return (
        <>
          <a href={webhookPath(organizationId, event.data.webhookId)}>{event.data.webhookId}</a>{' '}
          {event.data.reason === 'GONE' ? 'answered 410' : 'failed for five days'}
        </>
      );
  }
};

function until(periodEndsAt: string | null): string {
  return periodEndsAt === null ? '' : `, until ${moment(Date.parse(periodEndsAt))} UTC`;
}
