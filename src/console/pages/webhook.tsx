/**
 * One webhook: the state of its endpoint, and its deliveries; with forms to send a test event, or single events again.
 */
import type { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import { type Delivery, TEST_EVENT_TYPE, type TestedWebhook, type WebhookDetail } from '../../contract/webhooks.ts';
import { listDeliveries, readWebhook, sendDelivery, testWebhook, webhookOrigin } from '../../operator/webhooks.ts';
import { type Page, pageRequest } from '../../platform/page.ts';
import { ButtonForm } from '../../ui/form.tsx';
import { count } from '../../ui/format.ts';
import { Card, Code, Facts, Nothing, Notice, Stat, Time } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { renderChanges } from '../changes-view.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath, webhookInPath, webhookPath } from '../context.ts';
import { Deliveries } from '../deliveries-view.tsx';
import { Live } from '../live.tsx';
import { refused } from '../refused.tsx';
import { load, send } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { FORMAT_WORDS } from '../webhook-form.tsx';
import { typesInWords, WebhookState, webhookCrumbs, whyDisabled } from '../webhook-view.tsx';

const PAGE_SIZE = 25;
const BASE = '/organizations/:org/webhooks/:webhookId';

export function mountWebhook(app: Hono<ConsoleEnv>): void {
  app.get(BASE, async (c) => {
    const { organizationId, webhookId } = webhookInPath(c);
    const asked = pageRequest({ limit: PAGE_SIZE, cursor: c.req.query('cursor') }) ?? { limit: PAGE_SIZE, after: null };
    const [webhook, deliveries] = await Promise.all([load(c, readWebhook), load(c, listDeliveries, { page: asked })]);
    if (!webhook.ok) return refused(c, webhook.refusal);
    if (!deliveries.ok) return refused(c, deliveries.refusal);
    const changes = await renderChanges(c, {
      organizationId,
      subject: { kind: 'webhook', id: webhookId },
      cursor: null,
    });
    return webhookPage(c, {
      webhook: webhook.data,
      deliveries: deliveries.data,
      isFirst: asked.after === null,
      changes,
    });
  });

  app.post(`${BASE}/test`, async (c) => {
    const answer = await send(c, testWebhook);
    return answer.ok ? testedPage(c, answer.data) : refused(c, answer.refusal);
  });

  app.post(`${BASE}/deliveries/:eventId/send`, async (c) => {
    const answer = await send(c, sendDelivery);
    if (!answer.ok) return refused(c, answer.refusal);
    const { organizationId, webhookId } = webhookInPath(c);
    return c.redirect(`${webhookPath(organizationId, webhookId)}?done=webhook-sent`, 303);
  });
}

interface Shown {
  webhook: WebhookDetail;
  deliveries: Page<Delivery>;
  isFirst: boolean;
  changes: Child;
}

function webhookPage(c: ConsoleContext, { webhook, deliveries, isFirst, changes }: Shown) {
  const { organizationId } = c.get('organization');
  const { webhookId, description, types, enabled, disabled } = webhook;
  const nowMs = Date.now();
  const to = (...rest: string[]) => webhookPath(organizationId, webhookId, ...rest);
  return page(
    c,
    {
      title: webhookId,
      sub: description ?? webhookOrigin(webhook),
      crumbs: [{ text: 'Webhooks', href: organizationPath(organizationId, 'webhooks') }],
      actions: (
        <>
          {enabled && (
            <>
              <ButtonForm of={testWebhook} action={to('test')} secrets={formSecrets(c)}>
                Send a test event
              </ButtonForm>
              <a class="button" href={to('replay')}>
                Replay
              </a>
            </>
          )}
          <a class="button primary" href={to('edit')}>
            Edit
          </a>
        </>
      ),
    },
    <>
      {disabled && (
        <Notice tone="bad" title="Callmeter disabled the webhook:">
          {whyDisabled(disabled)}, <Time at={disabled.at} nowMs={nowMs} />. Events wait until{' '}
          <a href={to('edit')}>you enable it again</a>.
        </Notice>
      )}
      <Live id="webhook">
        <dl class="stats">
          <Stat label="State" sub={disabled && whyDisabled(disabled)}>
            <WebhookState webhook={webhook} />
          </Stat>
          <Stat label="Event types">{types === null ? 'all' : count(types.length)}</Stat>
          <Stat label="Events waiting" sub="of those read for it so far">
            {count(webhook.pending)}
          </Stat>
          <Stat label="Failing since">
            {webhook.failingSince === null ? <Nothing /> : <Time at={webhook.failingSince} nowMs={nowMs} brief />}
          </Stat>
        </dl>
        <Card
          title="Deliveries"
          note="Newest first. Deliveries for one customer are sent in order. Finished deliveries are kept for 30 days."
        >
          <Deliveries
            organizationId={organizationId}
            webhook={webhook}
            items={deliveries.items}
            secrets={() => formSecrets(c)}
            nowMs={nowMs}
          />
          <Pager
            path={to()}
            query={{}}
            next={deliveries.nextCursor}
            first={isFirst}
            previous={readTrail(c.req.query(), deliveries.items.length)}
          />
        </Card>
      </Live>
      <div class="grid">
        <Card title="Configuration">
          <Configuration webhook={webhook} nowMs={nowMs} />
        </Card>
        <section class="card danger-zone" aria-label="Secret and deletion">
          <h2>Secret and deletion</h2>
          <p class="quiet">A new secret is shown once. The previous one also signs for 24 hours.</p>
          <div class="submit">
            <a class="button" href={to('rotate')}>
              Rotate the secret
            </a>
          </div>
          <p class="quiet">A deleted webhook gets no more events, and the events that wait for it are dropped.</p>
          <div class="submit">
            <a class="button" href={to('delete')}>
              Delete webhook
            </a>
          </div>
        </section>
        {changes}
      </div>
    </>,
  );
}

const Configuration: FC<{ webhook: WebhookDetail; nowMs: number }> = ({ webhook, nowMs }) => (
  <Facts
    items={[
      ['Address', <Code>{`${webhookOrigin(webhook)}/…`}</Code>],
      ['Events', typesInWords(webhook.types)],
      ['Format', FORMAT_WORDS[webhook.format]],
      ['Set by', webhook.registeredBy === 'operator' ? 'the operator' : 'a key of the organization'],
      [
        'Previous secret',
        webhook.previousSecretUntil === null ? undefined : (
          <>
            signs as well until <Time at={webhook.previousSecretUntil} nowMs={nowMs} />
          </>
        ),
      ],
      ['Registered', <Time at={webhook.createdAt} nowMs={nowMs} />],
      ['Changed', <Time at={webhook.updatedAt} nowMs={nowMs} />],
    ]}
  />
);

/** The page with the result of a test. */
function testedPage(c: ConsoleContext, { webhookId, eventId, delivered, answerStatus, answer }: TestedWebhook) {
  const { organizationId } = c.get('organization');
  const path = webhookPath(organizationId, webhookId);
  return page(
    c,
    {
      title: 'Test event',
      crumbs: webhookCrumbs(organizationId, webhookId),
    },
    <Card>
      {delivered ? (
        <Notice tone="good" title="Delivered.">
          The endpoint took the event.
        </Notice>
      ) : (
        <Notice tone="bad" title="Not delivered.">
          {answerStatus === null ? 'No answer came.' : 'The endpoint did not answer with 2xx.'} A test is not sent again
          by itself.
        </Notice>
      )}
      <Facts
        items={[
          ['Status', answerStatus ?? undefined],
          [
            answerStatus === null ? 'Why' : 'Answer',
            answerStatus === null ? answer : answer === '' ? 'empty' : <Code>{answer}</Code>,
          ],
          ['Event', <Code>{TEST_EVENT_TYPE}</Code>],
          ['Event id', <Code>{eventId}</Code>],
        ]}
      />
      <div class="submit">
        <ButtonForm of={testWebhook} action={`${path}/test`} secrets={formSecrets(c)}>
          Send another
        </ButtonForm>
        <a href={path}>Back to the webhook</a>
      </div>
    </Card>,
  );
}
