/**
 * The webhooks of an organization: their list, and the forms that register and change one.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { WEBHOOKS_MAX, type Webhook, type WebhookDetail } from '../../contract/webhooks.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { listWebhooks, putWebhook, readWebhook, registerWebhook, webhookOrigin } from '../../operator/webhooks.ts';
import { Form, type FormState, Submit } from '../../ui/form.tsx';
import { plural } from '../../ui/format.ts';
import { Card, Code, Empty, Nothing, Time } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath, webhookInPath, webhookPath } from '../context.ts';
import { mayOpen } from '../page-roles.tsx';
import { refused } from '../refused.tsx';
import { bodyIn, storedIn } from '../schema-form.tsx';
import { load, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { wasShown } from '../shown-once.tsx';
import { text } from '../submitted.ts';
import { WebhookFields } from '../webhook-form.tsx';
import { secretPage, typesInWords, WebhookState, webhookCrumbs, whyDisabled } from '../webhook-view.tsx';

export function mountWebhooks(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/webhooks', async (c) => {
    const answer = await load(c, listWebhooks, { page: { limit: WEBHOOKS_MAX, after: null } });
    if (!answer.ok) return refused(c, answer.refusal);
    const items = await Promise.all(
      answer.data.items.map(({ webhookId }) => load(c, readWebhook, { params: { webhookId } })),
    );
    // A webhook that was deleted since the list was read is omitted.
    const found = items.flatMap((item) => (item.ok ? [item.data] : []));
    const isFailing = c.req.query('failing') === 'true';
    return listPage(
      c,
      isFailing ? found.filter(({ disabled, failingSince }) => disabled !== null || failingSince !== null) : found,
      isFailing,
    );
  });

  app.get('/organizations/:org/new-webhook', (c) =>
    newPage(c, { values: { format: 'standard', enabled: 'on' }, details: [] }),
  );

  app.post('/organizations/:org/webhooks', async (c) => {
    const { fields } = c.get('submitted');
    const answer = await send(c, registerWebhook, {
      params: { webhookId: text(fields, 'webhookId') },
      body: bodyIn(registerWebhook, fields),
    });
    if (!answer.ok) return newPage(c, wrong(c, answer.refusal));
    const { secret = '' } = answer.data;
    return secretPage(
      c,
      'Your new webhook',
      answer.data,
      secret,
      wasShown(answer),
      'Every request to the endpoint is signed with it.',
    );
  });

  app.get('/organizations/:org/webhooks/:webhookId/edit', async (c) => {
    const webhook = await load(c, readWebhook);
    if (!webhook.ok) return refused(c, webhook.refusal);
    return editPage(c, webhook.data, storedIn(putWebhook, { ...webhook.data, url: '' }));
  });

  app.post('/organizations/:org/webhooks/:webhookId/edit', async (c) => {
    const before = await load(c, readWebhook);
    if (!before.ok) return refused(c, before.refusal);
    const body = { url: before.data.url, ...bodyIn(putWebhook, c.get('submitted').fields) };
    const answer = await send(c, putWebhook, { body });
    if (!answer.ok) return editPage(c, before.data, wrong(c, answer.refusal));
    const { organizationId, webhookId } = webhookInPath(c);
    return c.redirect(`${webhookPath(organizationId, webhookId)}?done=webhook`, 303);
  });
}

function listPage(c: ConsoleContext, items: WebhookDetail[], isFailing: boolean) {
  const { organizationId } = c.get('organization');
  const create = organizationPath(organizationId, 'new-webhook');
  return page(
    c,
    {
      title: 'Webhooks',
      sub: 'Endpoints that the events of this organization are sent to, signed.',
      actions: (
        <>
          <a class="button" href={organizationPath(organizationId, 'alerts')}>
            Alerts
          </a>
          <a class="button primary" href={create}>
            New webhook
          </a>
        </>
      ),
    },
    <Card>
      {isFailing && (
        <p class="tags">
          <a class="badge" href={organizationPath(organizationId, 'webhooks')} title="Remove filter">
            Failing ×
          </a>
        </p>
      )}
      {items.length === 0 && isFailing ? (
        <Empty title="No webhook fails">Every endpoint accepts its events.</Empty>
      ) : items.length === 0 ? (
        <Empty title="No webhook yet">
          A webhook tells an application, or a channel in Slack, what happens to customers: a limit that fills up, a
          balance that runs low, a denied call. Callmeter sends each event there as it happens.{' '}
          <a href={create}>Register the first webhook</a>.
        </Empty>
      ) : (
        <Webhooks organizationId={organizationId} items={items} nowMs={Date.now()} />
      )}
    </Card>,
  );
}

const Webhooks: FC<{ organizationId: OrganizationId; items: WebhookDetail[]; nowMs: number }> = ({
  organizationId,
  items,
  nowMs,
}) => (
  <Table
    caption="Webhooks"
    rows={items}
    total={plural(items.length, 'webhook')}
    columns={[
      {
        title: 'Webhook',
        heading: true,
        cell: ({ webhookId }) => <a href={webhookPath(organizationId, webhookId)}>{webhookId}</a>,
      },
      { title: 'Host', cell: (webhook) => <Code>{new URL(webhook.url).host}</Code> },
      { title: 'Events', cell: ({ types }) => typesInWords(types) },
      {
        title: 'State',
        cell: (webhook) => (
          <span>
            <WebhookState webhook={webhook} />
            {webhook.disabled && ` ${whyDisabled(webhook.disabled)}`}
          </span>
        ),
      },
      {
        title: 'Failing since',
        cell: ({ failingSince }) => (failingSince === null ? <Nothing /> : <Time at={failingSince} nowMs={nowMs} />),
      },
    ]}
  />
);

function newPage(c: ConsoleContext, state: FormState) {
  const { organizationId } = c.get('organization');
  const path = organizationPath(organizationId, 'webhooks');
  const isListOpen = mayOpen(c.get('session').operator.role, path);
  return page(
    c,
    {
      title: 'New webhook',
      status: state.details.length > 0 ? 400 : 200,
      crumbs: isListOpen ? [{ text: 'Webhooks', href: path }] : [],
    },
    <Card>
      <Form of={registerWebhook} action={path} secrets={formSecrets(c)} state={state}>
        <WebhookFields edited={null} />
        <Submit {...(isListOpen && { back: path })}>Create webhook</Submit>
      </Form>
    </Card>,
  );
}

function editPage(c: ConsoleContext, webhook: Webhook, state: FormState) {
  const { organizationId } = c.get('organization');
  const { webhookId } = webhook;
  const path = webhookPath(organizationId, webhookId);
  return page(
    c,
    {
      title: 'Edit webhook',
      status: state.details.length > 0 ? 400 : 200,
      sub: webhookOrigin(webhook),
      crumbs: webhookCrumbs(organizationId, webhookId),
    },
    <Card>
      <Form
        of={putWebhook}
        action={webhookPath(organizationId, webhookId, 'edit')}
        secrets={formSecrets(c)}
        state={state}
      >
        <WebhookFields edited={webhook} />
        <Submit back={path}>Save webhook</Submit>
      </Form>
    </Card>,
  );
}
