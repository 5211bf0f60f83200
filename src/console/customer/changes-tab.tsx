/**
 * Changes of a customer: the changes by operators, and the events that its organization received about it.
 */
import { readEvents } from '../../events/read-events.ts';
import { Card, Empty, Time } from '../../ui/parts.tsx';
import { renderChanges } from '../changes-view.tsx';
import { eventPath, organizationPath } from '../context.ts';
import { EventBadge, EventView } from '../event-view.tsx';
import type { Tab } from './tab.ts';

/** The most events on the tab; the page of events has the others. */
const EVENTS_MAX = 20;

export const changesTab: Tab = async ({ c, organizationId, customerId, nowMs }) => {
  const [changes, events] = await Promise.all([
    renderChanges(c, {
      organizationId,
      subject: { kind: 'customer', id: customerId },
      cursor: c.req.query('cursor'),
    }),
    readEvents(c.env, organizationId, { customerId }, { limit: EVENTS_MAX, after: null }),
  ]);
  const items = events.ok ? events.data.items : [];
  const all = `${organizationPath(organizationId, 'alerts')}?${new URLSearchParams({ customerId })}`;
  return (
    <div class="grid ragged">
      {changes}
      <Card title="Events" actions={<a href={all}>All events of this customer</a>}>
        {items.length === 0 ? (
          <Empty title="No events yet">
            A new period, a plan change, a limit that fills up and a balance that runs low appear here.
          </Empty>
        ) : (
          <ol class="timeline">
            {items.map((event) => (
              <li>
                <div>
                  <p>
                    <EventBadge type={event.type} href={eventPath(organizationId, event.eventId)} />{' '}
                    <EventView organizationId={organizationId} event={event} />
                  </p>
                  <p class="quiet hint">
                    <Time at={event.timestamp} nowMs={nowMs} />
                  </p>
                </div>
              </li>
            ))}
          </ol>
        )}
      </Card>
    </div>
  );
};
