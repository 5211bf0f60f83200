/**
 * What was sent to an endpoint, and is to be sent: a row for each event, with its last answer.
 */
import type { FC } from 'hono/jsx';
import { type Delivery, TEST_EVENT_TYPE, type Webhook } from '../contract/webhooks.ts';
import { ButtonForm, type FormSecrets } from '../ui/form.tsx';
import { words } from '../ui/format.ts';
import { Badge, Code, Count, Empty, Nothing, Time, type Tone } from '../ui/parts.tsx';
import { Table } from '../ui/table.tsx';
import { customerPath, eventPath, webhookPath } from './context.ts';

/** Of an answer, what a row shows; the whole excerpt is its title. */
const ANSWER_LENGTH = 120;

interface DeliveriesProps {
  organizationId: string;
  webhook: Webhook;
  items: Delivery[];
  /** Those of one more form. */
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
          // A test is in no list of events.
          cell: ({ type, eventId }) =>
            type === TEST_EVENT_TYPE ? words(type) : <a href={eventPath(organizationId, eventId)}>{words(type)}</a>,
        },
        {
          title: 'Customer',
          cell: ({ customerId }) =>
            customerId === null ? <Nothing /> : <a href={customerPath(organizationId, customerId)}>{customerId}</a>,
        },
        { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} nowMs={nowMs} brief /> },
        { title: 'Status', cell: (delivery) => <DeliveryState delivery={delivery} /> },
        { title: 'Attempts', cell: (delivery) => <Attempts delivery={delivery} nowMs={nowMs} /> },
        { title: 'Answer', cell: (delivery) => <Answer delivery={delivery} /> },
        {
          title: 'Next attempt',
          cell: (delivery) => <NextAttempt delivery={delivery} isOn={webhook.enabled} nowMs={nowMs} />,
        },
        {
          title: 'Do',
          cell: ({ eventId, type, customerId }) =>
            webhook.enabled ? (
              <ButtonForm
                action={webhookPath(organizationId, webhook.webhookId, 'deliveries', eventId, 'send')}
                secrets={secrets()}
              >
                Send again<span class="unseen">{`: ${words(type)} ${customerId ?? ''}, ${eventId}`}</span>
              </ButtonForm>
            ) : (
              <Nothing />
            ),
        },
      ]}
    />
  );

const STATES: Readonly<Record<Delivery['status'], readonly [Tone, string]>> = {
  PENDING: ['info', 'waiting'],
  DELIVERED: ['good', 'delivered'],
  GIVEN_UP: ['bad', 'given up'],
};

const DeliveryState: FC<{ delivery: Delivery }> = ({ delivery: { status, attempts } }) => {
  const [tone, text] = STATES[status];
  return status === 'PENDING' && attempts > 0 ? (
    <Badge tone="warn">failed, sent again</Badge>
  ) : (
    <Badge tone={tone}>{text}</Badge>
  );
};

const Attempts: FC<{ delivery: Delivery; nowMs: number }> = ({ delivery: { attempts, lastAttemptAt }, nowMs }) => (
  <>
    <Count value={attempts} />
    {lastAttemptAt !== null && (
      <span class="quiet hint">
        , last <Time at={lastAttemptAt} nowMs={nowMs} brief />
      </span>
    )}
  </>
);

const Answer: FC<{ delivery: Delivery }> = ({ delivery: { answerStatus, answer } }) => {
  if (answer === null) return <Nothing />;
  const shown = answer.length > ANSWER_LENGTH ? `${answer.slice(0, ANSWER_LENGTH)}…` : answer;
  return (
    <>
      {answerStatus === null ? 'none: ' : <Code>{answerStatus}</Code>} <span title={answer}>{shown}</span>
    </>
  );
};

const NextAttempt: FC<{ delivery: Delivery; isOn: boolean; nowMs: number }> = ({ delivery, isOn, nowMs }) => {
  const { status, nextAttemptAt } = delivery;
  if (status !== 'PENDING') return <Nothing />;
  if (!isOn) return <>when it is on</>;
  if (nextAttemptAt === null) return <>after an earlier one of the customer</>;
  return Date.parse(nextAttemptAt) <= nowMs ? <>now</> : <Time at={nextAttemptAt} nowMs={nowMs} brief />;
};
