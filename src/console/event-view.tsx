/**
 * An event of an organization in words: its type as a badge, and its sentence.
 */

import type { FC } from 'hono/jsx';
import type { EventType } from '../contract/event-data.ts';
import type { OrganizationEvent } from '../contract/events.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { eventSentence } from '../events/sentences.ts';
import { words } from '../ui/format.ts';
import { Badge, type Tone } from '../ui/parts.tsx';
import { type Names, Sentence } from './mentions.tsx';

const TONES: Partial<Record<EventType, Tone>> = {
  'meter.threshold_reached': 'warn',
  'meter.recovered': 'good',
  'balance.low': 'warn',
  'balance.exhausted': 'bad',
  'balance.overdrawn': 'bad',
  'call.denied': 'bad',
  'customer.storage_high': 'bad',
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

export const EventView: FC<{ organizationId: OrganizationId; event: OrganizationEvent }> = ({
  organizationId,
  event,
}) => <Sentence parts={eventSentence(event)} organizationId={organizationId} names={NO_NAMES} />;

/** Events hold the ids of plans, which operators choose; the linked pages show their names. */
const NO_NAMES: Names = new Map();
