/**
 * Actions of an operator on a webhook, each on its own page that states the effect first: a new secret, sending the
 * events of a period again, deletion.
 */
import type { Hono } from 'hono';
import { EVENT_RETENTION_DAYS } from '../../contract/events.ts';
import { PREVIOUS_SECRET_HOURS, type WebhookDetail } from '../../contract/webhooks.ts';
import { deleteWebhook, readWebhook, replayWebhook, rotateWebhook } from '../../operator/webhooks.ts';
import { DAY_MS, MINUTE_MS } from '../../platform/time.ts';
import { BLANK, Form, type FormSecrets, type FormState, Submit } from '../../ui/form.tsx';
import { Card, Code, Notice, Time } from '../../ui/parts.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath, webhookInPath, webhookPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { BodyFields, bodyIn, storedIn } from '../schema-form.tsx';
import { load, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { wasShown } from '../shown-once.tsx';
import { secretPage, typesInWords, webhookCrumbs } from '../webhook-view.tsx';

const BASE = '/organizations/:org/webhooks/:webhookId';

export function mountWebhookActions(app: Hono<ConsoleEnv>): void {
  app.get(`${BASE}/rotate`, rotatePage);

  app.post(`${BASE}/rotate`, async (c) => {
    const webhook = await load(c, readWebhook);
    if (!webhook.ok) return refused(c, webhook.refusal);
    const answer = await send(c, rotateWebhook);
    if (!answer.ok) return refused(c, answer.refusal);
    const { secret, previousSecretUntil } = answer.data;
    return secretPage(
      c,
      'The new secret',
      webhook.data,
      secret,
      wasShown(answer),
      <>
        Requests are signed with it from now on. The previous secret also signs until{' '}
        <Time at={previousSecretUntil} nowMs={Date.now()} />: give the endpoint the new one before that.
      </>,
    );
  });

  app.get(`${BASE}/replay`, (c) => {
    const toMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const period = { from: new Date(toMs - DAY_MS).toISOString(), to: new Date(toMs).toISOString() };
    return replayPage(c, storedIn(replayWebhook, period));
  });

  app.post(`${BASE}/replay`, async (c) => {
    const answer = await send(c, replayWebhook, { body: bodyIn(replayWebhook, c.get('submitted').fields) });
    if (!answer.ok) return replayPage(c, wrong(c, answer.refusal));
    const { organizationId, webhookId } = webhookInPath(c);
    return c.redirect(`${webhookPath(organizationId, webhookId)}?done=webhook-replay`, 303);
  });

  app.get(`${BASE}/delete`, deletePage);

  app.post(`${BASE}/delete`, async (c) => {
    const answer = await send(c, deleteWebhook);
    if (!answer.ok) return refused(c, answer.refusal);
    return c.redirect(`${organizationPath(webhookInPath(c).organizationId, 'webhooks')}?done=webhook-deleted`, 303);
  });
}

/** The page of an action, below the webhook's own. If the webhook does not exist, the page offers nothing. */
async function actionPage(
  c: ConsoleContext,
  title: string,
  { details }: FormState,
  content: (webhook: WebhookDetail, path: string, secrets: FormSecrets) => unknown,
) {
  const webhook = await load(c, readWebhook);
  if (!webhook.ok) return refused(c, webhook.refusal);
  const { organizationId, webhookId } = webhookInPath(c);
  const path = webhookPath(organizationId, webhookId);
  const crumbs = webhookCrumbs(organizationId, webhookId);
  return page(
    c,
    { title, status: details.length > 0 ? 400 : 200, crumbs },
    <Card>{content(webhook.data, path, formSecrets(c)) as never}</Card>,
  );
}

function rotatePage(c: ConsoleContext) {
  return actionPage(c, 'Rotate the secret', BLANK, ({ webhookId, previousSecretUntil }, path, secrets) => (
    <Form of={rotateWebhook} action={`${path}/rotate`} secrets={secrets}>
      <p>
        From now on, requests to <Code>{webhookId}</Code> are signed with a new secret, which is shown once. The current
        one also signs for another {PREVIOUS_SECRET_HOURS} hours: give the endpoint the new one within that time.
      </p>
      {previousSecretUntil !== null && (
        <Notice tone="warn" title="The secret before the current one stops at once.">
          Without another rotation it signs until <Time at={previousSecretUntil} nowMs={Date.now()} />.
        </Notice>
      )}
      <Submit back={path}>Rotate the secret</Submit>
    </Form>
  ));
}

function replayPage(c: ConsoleContext, state: FormState) {
  return actionPage(c, 'Replay a period', state, ({ webhookId, types }, path, secrets) => (
    <Form of={replayWebhook} action={`${path}/replay`} secrets={secrets} state={state}>
      <p>
        Sends <Code>{webhookId}</Code> the events of a period again, the oldest of each customer first. That includes
        events that it has taken already, and events from before it was registered. They keep their ids, so an endpoint
        that remembers ids does nothing twice.
        {types !== null && ` Only the types that it gets are sent: ${typesInWords(types)}.`}
      </p>
      <div class="columns">
        <BodyFields
          of={replayWebhook}
          overrides={{ to: { hint: `Events before this time. They are kept for ${EVENT_RETENTION_DAYS} days.` } }}
        />
      </div>
      <Submit back={path}>Send them again</Submit>
    </Form>
  ));
}

function deletePage(c: ConsoleContext) {
  return actionPage(c, 'Delete webhook', BLANK, ({ webhookId, pending }, path, secrets) => (
    <Form of={deleteWebhook} action={`${path}/delete`} secrets={secrets}>
      <p>
        Nothing is sent to <Code>{webhookId}</Code> any more. Its secret and its list of deliveries are deleted
        {pending > 0 && ', and so are the events that wait for it'}. The organization's events stay. This cannot be
        undone. To keep the webhook and send nothing, <a href={`${path}/edit`}>disable it</a>.
      </p>
      <Submit back={path} danger>
        Delete webhook
      </Submit>
    </Form>
  ));
}
