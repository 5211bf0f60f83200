/**
 * Past and waiting deliveries to an endpoint: a row for each event, with its last answer.
 */

import type { FC } from 'hono/jsx';
import { type Delivery, TEST_EVENT_TYPE, type Webhook } from '../contract/webhooks.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { sendDelivery } from '../operator/webhooks.ts';
import { ButtonForm, type FormSecrets } from '../ui/form.tsx';
import { words } from '../ui/format.ts';
import { Badge, Code, Count, Empty, Nothing, Time, type Tone } from '../ui/parts.tsx';
import { Table } from '../ui/table.tsx';
import { customerPath, eventPath, webhookPath } from './context.ts';

/** The most characters of an answer in a row; its title holds the whole excerpt. */
const ANSWER_LENGTH = 80;

interface DeliveriesProps {
  organizationId: OrganizationId;
  webhook: Webhook;
  items: Delivery[];
  /** Returns the hidden fields of one more form. */
  secrets: () => FormSecrets;
  nowMs: number;
}

export const Deliveries: FC<DeliveriesProps> = ({ organizationId, webhook, items, secrets, nowMs }) =>
  items.length === 0 ? (
    <Empty title="Nothing sent yet">The next event appears here with its answer. A test event shows it now.</Empty>
  ) : (
    <Table
      caption="Deliveries"
      rows={items}
      columns={[
        {
          title: 'Event',
          heading: true,
          // No list of events has a test event.
          cell: ({ type, eventId }) =>
            type === TEST_EVENT_TYPE ? words(type) : <a href={eventPath(organizationId, eventId)}>{words(type)}</a>,
        },
        {
          title: 'Customer',
          cell: ({ customerId }) =>
            customerId === null ? <Nothing /> : <a href={customerPath({ organizationId, customerId })}>{customerId}</a>,
        },
        { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} nowMs={nowMs} brief /> },
        {
          title: 'Status',
          cell: (delivery) => <DeliveryState delivery={delivery} isOn={webhook.enabled} nowMs={nowMs} />,
        },
        { title: 'Attempts', cell: (delivery) => <Attempts delivery={delivery} nowMs={nowMs} /> },
        { title: 'Answer', cell: (delivery) => <Answer delivery={delivery} /> },
        ...(webhook.enabled
          ? [
              {
                title: 'Actions',
                cell: ({ eventId, type, customerId }: Delivery) => (
                  <ButtonForm
                    of={sendDelivery}
                    action={webhookPath(organizationId, webhook.webhookId, 'deliveries', eventId, 'send')}
                    secrets={secrets()}
                  >
                    Send again<span class="unseen">{`: ${words(type)} ${customerId ?? ''}, ${eventId}`}</span>
                  </ButtonForm>
                ),
              },
            ]
          : []),
      ]}
    />
  );

const STATES: Readonly<Record<Delivery['status'], readonly [Tone, string]>> = {
  PENDING: ['info', 'waiting'],
  DELIVERED: ['good', 'delivered'],
  GIVEN_UP: ['bad', 'given up'],
};

// Each cell is one element: on a narrow screen a cell is a grid.

const DeliveryState: FC<{ delivery: Delivery; isOn: boolean; nowMs: number }> = ({ delivery, isOn, nowMs }) => {
  const [tone, text] = STATES[delivery.status];
  if (delivery.status !== 'PENDING') return <Badge tone={tone}>{text}</Badge>;
  const hasFailed = delivery.attempts > 0;
  return (
    <span>
      <Badge tone={hasFailed ? 'warn' : tone}>{hasFailed ? 'failed' : text}</Badge>{' '}
      <span class="quiet hint">
        {isOn ? <NextAttempt at={delivery.nextAttemptAt} nowMs={nowMs} /> : 'until the webhook is enabled'}
      </span>
    </span>
  );
};

const NextAttempt: FC<{ at: string | null; nowMs: number }> = ({ at, nowMs }) => {
  if (at === null) return <>for an earlier event</>;
  if (Date.parse(at) <= nowMs) return <>next attempt now</>;
  return (
    <>
      next attempt <Time at={at} nowMs={nowMs} brief />
    </>
  );
};

const Attempts: FC<{ delivery: Delivery; nowMs: number }> = ({ delivery: { attempts, lastAttemptAt }, nowMs }) => (
  <span>
    <Count value={attempts} />
    {lastAttemptAt !== null && (
      <span class="quiet hint">
        , last <Time at={lastAttemptAt} nowMs={nowMs} brief />
      </span>
    )}
  </span>
);

const Answer: FC<{ delivery: Delivery }> = ({ delivery: { answerStatus, answer } }) => {
  if (answer === null) return <Nothing />;
  const shown = answer.length > ANSWER_LENGTH ? `${answer.slice(0, ANSWER_LENGTH)}…` : answer;
  return (
    <span>
      {answerStatus === null ? 'none: ' : <Code>{answerStatus}</Code>} <span title={answer}>{shown}</span>
    </span>
  );
};
