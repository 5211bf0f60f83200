/**
 * The webhooks of an organization, changed by the operator or by the organization's own key. A change is in force when
 * it is acknowledged: an endpoint's object reads its webhook before each request.
 *
 * The path of an address is often a secret. If the operator registered the address, the organization sees neither the
 * path nor the answers from there, because answers may repeat it.
 */

import { sealWebhookSecret } from '../config/webhook-secrets.ts';
import {
  countWebhooks,
  deleteWebhook as deleteRow,
  findWebhook,
  findWebhooks,
  insertWebhook,
  updateWebhook,
  type WebhookRow,
} from '../config/webhooks.ts';
import { badRequest, refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import { type Delivery, PREVIOUS_SECRET_HOURS, WEBHOOKS_MAX, type Webhook } from '../contract/webhooks.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { WebhookKey } from '../domain/webhook-delivery.ts';
import { checkWebhookUrl } from '../events/webhooks/address.ts';
import { newSecret } from '../events/webhooks/signature.ts';
import { findLastPlace } from '../history/organization-events.ts';
import { ask } from '../objects/addresses.ts';
import type { DeliveryRow } from '../objects/webhook-commands.ts';
import { webhookEndpoint } from '../objects/webhook-endpoints.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { log } from '../platform/log.ts';
import { makePage } from '../platform/page.ts';
import { HOUR_MS, isoTimeOrNull } from '../platform/time.ts';
import { type ChangeRequest, change, type Decided, list, type Requester, read } from './operation.ts';

type Reader = Requester['by'];

const noWebhook = () => refuse('NOT_FOUND', 'no such webhook');
const switchedOff = () => refuse('CONFLICT', 'the webhook is disabled');

type Put = typeof operations.putWebhook;

const put = {
  action: 'webhook.put',
  subject: ({ params }: { params: Params }) => params.webhookId,
  // A webhook that is enabled again continues with its waiting events.
  afterwards: (request: Pick<Requester, 'env'> & { params: Params }) => wake(request),
} as const;

/** Registers a webhook, or changes an existing one. */
export const putWebhook = change(operations.putWebhook, {
  ...put,
  decide: async (request) => decidePut(request, await findWebhook(request.env, webhookKey(request.params))),
});

/**
 * Registers a webhook, and leaves an existing one unchanged. It counts once, as a POST does: its secret is shown once.
 */
export const registerWebhook = change(
  { ...operations.putWebhook, method: 'POST' },
  {
    ...put,
    decide: async (request) => {
      if (await findWebhook(request.env, webhookKey(request.params)))
        return refuse('CONFLICT', 'webhookId: is the id of another webhook');
      return decidePut(request, null);
    },
  },
);

async function decidePut(
  { env, by, origin, params, body, nowMs }: ChangeRequest<Put>,
  before: WebhookRow | null,
): Promise<Decided<Put>> {
  const webhook = webhookKey(params);
  const { url, types = null, description = null, enabled = true, format = 'standard' } = body;
  if (!before && (await countWebhooks(env, params.org)) >= WEBHOOKS_MAX)
    return refuse('CONFLICT', `an organization has at most ${WEBHOOKS_MAX} webhooks`);
  // If the organization sends back the address that it read, it means the operator's present address.
  const keepsAddress = before !== null && isHidden(before, by) && url === webhookOrigin(before);
  const allowed = keepsAddress ? { ok: true as const } : checkWebhookUrl(url, by);
  if (!allowed.ok) return badRequest({ path: 'url', message: allowed.reason });
  // From then on, the organization sees the answers.
  if (before && isHidden(before, by) && !keepsAddress)
    await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.forgetAnswers());
  // Messages link to the console at the address that the operator used.
  const address = { url, registeredBy: by, consoleOrigin: by === 'operator' ? origin : null };
  const changed = {
    ...(!keepsAddress && address),
    types: types && [...new Set(types)],
    description,
    enabled,
    format,
    disabledAtMs: enabled ? null : (before?.disabledAtMs ?? null),
    disabledReason: enabled ? null : (before?.disabledReason ?? null),
    updatedAtMs: nowMs,
  };
  const secret = before ? null : newSecret();
  const after: WebhookRow = before
    ? { ...before, ...changed }
    : {
        ...webhook,
        ...address,
        ...changed,
        sealedSecret: await sealWebhookSecret(env, webhook, secret ?? ''),
        previousSealedSecret: null,
        previousUntilMs: null,
        afterPlace: await findLastPlace(env, params.org),
        createdAtMs: nowMs,
      };
  return {
    before: before && logged(before, nowMs),
    after: logged(after, nowMs),
    statements: [before ? updateWebhook(env, webhook, changed) : insertWebhook(env, after)],
    data: { ...present(after, nowMs, by), secret: secret ?? undefined },
  };
}

export const listWebhooks = list(operations.listWebhooks, async ({ env, by, params, page: { after, limit } }) => {
  const nowMs = Date.now();
  const rows = await findWebhooks(env, params.org, after, limit);
  const items = rows.map((row) => present(row, nowMs, by));
  return makePage(items, limit, ({ webhookId }) => webhookId);
});

export const readWebhook = read(operations.readWebhook, async ({ env, by, params }) => {
  const webhook = webhookKey(params);
  const row = await findWebhook(env, webhook);
  if (!row) return noWebhook();
  const { pending, failingSinceMs } = await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.state());
  return { ...present(row, Date.now(), by), pending, failingSince: isoTimeOrNull(failingSinceMs) };
});

export const deleteWebhook = change(operations.deleteWebhook, {
  action: 'webhook.delete',
  subject: ({ params }) => params.webhookId,
  decide: async ({ env, params, nowMs }) => {
    const webhook = webhookKey(params);
    const row = await findWebhook(env, webhook);
    if (!row) return noWebhook();
    return {
      before: logged(row, nowMs),
      after: null,
      statements: [deleteRow(env, webhook)],
      data: { webhookId: webhook.webhookId },
    };
  },
  // The object forgets its events. If it cannot be told, its next alarm finds that the webhook is gone.
  afterwards: (request) =>
    wake(request).catch((error: unknown) =>
      log('warn', 'webhook_not_forgotten', { webhookId: request.params.webhookId }, error),
    ),
});

export const rotateWebhook = change(operations.rotateWebhook, {
  action: 'webhook.rotate',
  subject: ({ params }) => params.webhookId,
  decide: async ({ env, params, nowMs }) => {
    const webhook = webhookKey(params);
    const row = await findWebhook(env, webhook);
    if (!row) return noWebhook();
    const secret = newSecret();
    const previousUntilMs = nowMs + PREVIOUS_SECRET_HOURS * HOUR_MS;
    const rotated = {
      sealedSecret: await sealWebhookSecret(env, webhook, secret),
      previousSealedSecret: row.sealedSecret,
      previousUntilMs,
      updatedAtMs: nowMs,
    };
    const previousSecretUntil = new Date(previousUntilMs).toISOString();
    return {
      before: logged(row, nowMs),
      after: logged({ ...row, ...rotated }, nowMs),
      statements: [updateWebhook(env, webhook, rotated)],
      data: { webhookId: webhook.webhookId, secret, previousSecretUntil },
    };
  },
});

export const testWebhook = change(operations.testWebhook, {
  action: 'webhook.test',
  subject: ({ params }) => params.webhookId,
  decide: async ({ env, by, params }) => {
    const webhook = webhookKey(params);
    const row = await findWebhook(env, webhook);
    if (!row) return noWebhook();
    if (!row.enabled) return switchedOff();
    const tested = await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.sendTest(webhook));
    if (!tested) return switchedOff();
    const { eventId, delivered, answerStatus } = tested;
    const answer = isHidden(row, by) ? null : tested.answer;
    return {
      before: null,
      after: { eventId, delivered, answerStatus },
      data: { webhookId: webhook.webhookId, eventId, delivered, answerStatus, answer },
    };
  },
});

export const replayWebhook = change(operations.replayWebhook, {
  action: 'webhook.replay',
  subject: ({ params }) => params.webhookId,
  decide: async ({ env, params, body: { from, to } }) => {
    const webhook = webhookKey(params);
    const row = await findWebhook(env, webhook);
    if (!row) return noWebhook();
    if (!row.enabled) return switchedOff();
    const [afterId, beforeId] = [from, to].map((at) => eventIdsFrom(Date.parse(at))) as [string, string];
    const hasStarted = await ask(webhookEndpoint(env, webhook), (endpoint) =>
      endpoint.replay(webhook, afterId, beforeId),
    );
    if (!hasStarted) return refuse('CONFLICT', 'too many running replays of the webhook; retry when one has ended');
    return { before: null, after: { from, to }, data: { webhookId: webhook.webhookId, from, to } };
  },
});

export const listDeliveries = list(operations.listDeliveries, async ({ env, by, params, page: { after, limit } }) => {
  const webhook = webhookKey(params);
  const row = await findWebhook(env, webhook);
  if (!row) return noWebhook();
  const before = after === null ? null : Number(after);
  if (before !== null && !Number.isSafeInteger(before))
    return badRequest({ path: 'cursor', message: 'must be the nextCursor of an earlier page' });
  const rows = await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.listDeliveries(before, limit + 1));
  const { items, nextCursor } = makePage<DeliveryRow>(rows, limit, ({ delivery }) => String(delivery));
  const hidden = isHidden(row, by) && { answer: null };
  return { items: items.map((item) => ({ ...presentDelivery(item), ...hidden })), nextCursor };
});

export const sendDelivery = change(operations.sendDelivery, {
  action: 'webhook.send_again',
  subject: ({ params }) => params.webhookId,
  decide: async ({ env, params }) => {
    const { eventId } = params;
    const webhook = webhookKey(params);
    const row = await findWebhook(env, webhook);
    if (!row) return noWebhook();
    if (!row.enabled) return switchedOff();
    const sent = await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.sendAgain(webhook, eventId));
    if (sent === 'off') return switchedOff();
    if (sent === 'unknown') return refuse('NOT_FOUND', 'no such event');
    if (sent === 'unwanted') return refuse('CONFLICT', 'the webhook does not get events of this type');
    return { before: null, after: { eventId }, data: { webhookId: webhook.webhookId, eventId } };
  },
});

interface Params {
  org: OrganizationId;
  webhookId: string;
}

function webhookKey({ org, webhookId }: Params): WebhookKey {
  return { organizationId: org, webhookId };
}

/** Makes the endpoint's object look at its webhook again. */
async function wake({ env, params }: Pick<Requester, 'env'> & { params: Params }): Promise<void> {
  const webhook = webhookKey(params);
  await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.wake(webhook));
}

/** Whether the address, and the answers from there, are the operator's secret. */
function isHidden({ registeredBy }: Pick<WebhookRow, 'registeredBy'>, reader: Reader): boolean {
  return reader === 'tenant' && registeredBy === 'operator';
}

/** The part of a webhook's address that is no secret. */
export const webhookOrigin = ({ url }: Pick<Webhook, 'url'>) => new URL(url).origin;

function present(row: WebhookRow, nowMs: number, reader: Reader): Webhook {
  const { webhookId, types, description, enabled, format, registeredBy, disabledAtMs, disabledReason } = row;
  const { previousUntilMs, createdAtMs, updatedAtMs } = row;
  return {
    webhookId,
    url: isHidden(row, reader) ? webhookOrigin(row) : row.url,
    types,
    description,
    enabled,
    format,
    registeredBy,
    disabled:
      disabledAtMs !== null && disabledReason !== null
        ? { at: new Date(disabledAtMs).toISOString(), reason: disabledReason }
        : null,
    previousSecretUntil: previousUntilMs !== null && nowMs < previousUntilMs ? isoTimeOrNull(previousUntilMs) : null,
    createdAt: new Date(createdAtMs).toISOString(),
    updatedAt: new Date(updatedAtMs).toISOString(),
  };
}

/** The form for the event log, which more people read: the path of an address is often a secret, as Slack's is. */
function logged(row: WebhookRow, nowMs: number): Omit<Webhook, 'url' | 'createdAt' | 'updatedAt'> & { host: string } {
  const { url: _, createdAt: __, updatedAt: ___, ...shown } = present(row, nowMs, 'operator');
  return { ...shown, host: webhookOrigin(row) };
}

function presentDelivery(row: DeliveryRow): Delivery {
  const { eventId, type, customerId, atMs, status, attempts, lastAttemptMs, nextAttemptMs, answerStatus, answer } = row;
  return {
    eventId,
    type,
    customerId,
    timestamp: new Date(atMs).toISOString(),
    status,
    attempts,
    lastAttemptAt: isoTimeOrNull(lastAttemptMs),
    nextAttemptAt: isoTimeOrNull(nextAttemptMs),
    answerStatus,
    answer,
  };
}
