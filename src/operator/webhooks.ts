/**
 * The webhooks of an organization, as the operator or the organization's own key changes them. A change is in force when it
 * is acknowledged: an endpoint's object reads its webhook before each request.
 *
 * The path of an address is often a secret. The organization does not read that of an address which the operator
 * registered, nor what was answered there, because answers may repeat it.
 */
import { type Answer, accept, badRequest, refuse } from '../contract/errors.ts';
import {
  type DeletedWebhook,
  type Delivery,
  PREVIOUS_SECRET_HOURS,
  type ReplayRequest,
  type RotatedWebhook,
  type SavedWebhook,
  type SentAgain,
  type SetWebhookRequest,
  type StartedReplay,
  type TestedWebhook,
  WEBHOOKS_MAX,
  type Webhook,
  type WebhookDetail,
} from '../contract/webhooks.ts';
import type { WebhookKey } from '../domain/webhook-delivery.ts';
import type { Env } from '../env.ts';
import { ask } from '../objects/addresses.ts';
import type { DeliveryRow } from '../objects/webhook-commands.ts';
import { webhookEndpoint } from '../objects/webhook-endpoints.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { log } from '../platform/log.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { HOUR_MS } from '../platform/time.ts';
import { findLastPlace } from '../storage/organization-events.ts';
import { sealWebhookSecret } from '../storage/webhook-secrets.ts';
import {
  countWebhooks,
  deleteWebhook,
  findWebhook,
  findWebhooks,
  insertWebhook,
  updateWebhook,
  type WebhookRow,
} from '../storage/webhooks.ts';
import { checkWebhookUrl } from '../webhooks/address.ts';
import { newSecret } from '../webhooks/signature.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

/** Who registers a webhook: the operator, with the origin at which the console was reached, or the organization itself. */
export type Registrar = { by: 'operator'; consoleOrigin: string } | { by: 'tenant' };

type Reader = Registrar['by'];

const noWebhook = () => refuse('NOT_FOUND', 'no such webhook');
const switchedOff = () => refuse('CONFLICT', 'the webhook is disabled');

/** With `onlyNew`, a webhook that is there already is left as it is, and the answer is a refusal. */
export async function putWebhook(
  request: OperatorRequest,
  webhook: WebhookKey,
  { url, types = null, description = null, enabled = true, format = 'standard' }: SetWebhookRequest,
  registrar: Registrar,
  { onlyNew = false } = {},
): Promise<Answer<SavedWebhook>> {
  const { env } = request;
  const reader = registrar.by;
  const answer = await commitChange<SavedWebhook>(request, async (nowMs) => {
    const { organizationId, webhookId } = webhook;
    if (!(await findOrganization(env, organizationId))) return noOrganization();
    const before = await findWebhook(env, webhook);
    if (before && onlyNew) return refuse('CONFLICT', 'webhookId: is the id of another webhook');
    if (!before && (await countWebhooks(env, organizationId)) >= WEBHOOKS_MAX)
      return refuse('CONFLICT', `an organization has at most ${WEBHOOKS_MAX} webhooks`);
    // What the organization read of the operator's address, and sends back, means the address that is there.
    const keepsAddress = before !== null && isHidden(before, reader) && url === originOf(before);
    const allowed = keepsAddress ? { ok: true as const } : checkWebhookUrl(url, registrar.by);
    if (!allowed.ok) return badRequest({ path: 'url', message: allowed.reason });
    // From here on the organization reads what is answered.
    if (before && isHidden(before, reader) && !keepsAddress)
      await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.forgetAnswers());
    const address = {
      url,
      registeredBy: registrar.by,
      consoleOrigin: registrar.by === 'operator' ? registrar.consoleOrigin : null,
    };
    const change = {
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
      ? { ...before, ...change }
      : {
          ...webhook,
          ...address,
          ...change,
          sealedSecret: await sealWebhookSecret(env, webhook, secret ?? ''),
          previousSealedSecret: null,
          previousUntilMs: null,
          afterPlace: await findLastPlace(env, organizationId),
          createdAtMs: nowMs,
        };
    return {
      action: 'webhook.put',
      organizationId,
      subject: webhookId,
      before: before && logged(before, nowMs),
      after: logged(after, nowMs),
      statements: [before ? updateWebhook(env, webhook, change) : insertWebhook(env, after)],
      replaces: false,
      code: 'WEBHOOK_SAVED',
      data: { ...present(after, nowMs, reader), ...(secret !== null && { secret }) },
    };
  });
  // One that is switched on again goes on with what waits.
  if (answer.ok) await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.wake(webhook));
  return answer;
}

export async function listWebhooks(
  env: Env,
  organizationId: string,
  { after, limit }: PageRequest,
  reader: Reader = 'operator',
): Promise<Answer<Page<Webhook>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const nowMs = Date.now();
  const rows = await findWebhooks(env, organizationId, after, limit);
  const items = rows.map((row) => present(row, nowMs, reader));
  return accept(
    'WEBHOOKS_LISTED',
    pageOf(items, limit, ({ webhookId }) => webhookId),
    nowMs,
  );
}

export async function readWebhook(
  env: Env,
  webhook: WebhookKey,
  reader: Reader = 'operator',
): Promise<Answer<WebhookDetail>> {
  if (!(await findOrganization(env, webhook.organizationId))) return noOrganization();
  const row = await findWebhook(env, webhook);
  if (!row) return noWebhook();
  const { pending, failingSinceMs } = await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.state());
  const nowMs = Date.now();
  const shown = present(row, nowMs, reader);
  return accept('WEBHOOK_READ', { ...shown, pending, failingSince: instantOf(failingSinceMs) }, nowMs);
}

export async function removeWebhook(request: OperatorRequest, webhook: WebhookKey): Promise<Answer<DeletedWebhook>> {
  const { env } = request;
  const answer = await change<DeletedWebhook>(request, webhook, (row, nowMs) => ({
    action: 'webhook.delete',
    before: logged(row, nowMs),
    after: null,
    statements: [deleteWebhook(env, webhook)],
    code: 'WEBHOOK_DELETED',
    data: { webhookId: webhook.webhookId },
  }));
  // The object forgets what it has. Where it cannot be told, its next alarm finds that the webhook is gone.
  if (answer.ok)
    await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.wake(webhook)).catch((error: unknown) =>
      log('warn', 'webhook_not_forgotten', { webhookId: webhook.webhookId }, error),
    );
  return answer;
}

export function rotateWebhook(request: OperatorRequest, webhook: WebhookKey): Promise<Answer<RotatedWebhook>> {
  const { env } = request;
  return change<RotatedWebhook>(request, webhook, async (row, nowMs) => {
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
      action: 'webhook.rotate',
      before: logged(row, nowMs),
      after: logged({ ...row, ...rotated }, nowMs),
      statements: [updateWebhook(env, webhook, rotated)],
      code: 'WEBHOOK_ROTATED',
      data: { webhookId: webhook.webhookId, secret, previousSecretUntil },
    };
  });
}

export function testWebhook(
  request: OperatorRequest,
  webhook: WebhookKey,
  reader: Reader = 'operator',
): Promise<Answer<TestedWebhook>> {
  return change<TestedWebhook>(request, webhook, async (row) => {
    if (!row.enabled) return switchedOff();
    const tested = await ask(webhookEndpoint(request.env, webhook), (endpoint) => endpoint.sendTest(webhook));
    if (!tested) return switchedOff();
    const { eventId, delivered, answerStatus } = tested;
    const answer = isHidden(row, reader) ? null : tested.answer;
    return {
      action: 'webhook.test',
      before: null,
      after: { eventId, delivered, answerStatus },
      statements: [],
      code: 'WEBHOOK_TESTED',
      data: { webhookId: webhook.webhookId, eventId, delivered, answerStatus, answer },
    };
  });
}

export function replayWebhook(
  request: OperatorRequest,
  webhook: WebhookKey,
  { from, to }: ReplayRequest,
): Promise<Answer<StartedReplay>> {
  return change<StartedReplay>(request, webhook, async ({ enabled }) => {
    if (!enabled) return switchedOff();
    const [afterId, beforeId] = [from, to].map((at) => eventIdsFrom(Date.parse(at))) as [string, string];
    const hasStarted = await ask(webhookEndpoint(request.env, webhook), (endpoint) =>
      endpoint.replay(webhook, afterId, beforeId),
    );
    if (!hasStarted) return refuse('CONFLICT', 'too many running replays of the webhook; retry when one has ended');
    return {
      action: 'webhook.replay',
      before: null,
      after: { from, to },
      statements: [],
      code: 'WEBHOOK_REPLAY_STARTED',
      data: { webhookId: webhook.webhookId, from, to },
    };
  });
}

export async function listDeliveries(
  env: Env,
  webhook: WebhookKey,
  { after, limit }: PageRequest,
  reader: Reader = 'operator',
): Promise<Answer<Page<Delivery>>> {
  if (!(await findOrganization(env, webhook.organizationId))) return noOrganization();
  const row = await findWebhook(env, webhook);
  if (!row) return noWebhook();
  const before = after === null ? null : Number(after);
  if (before !== null && !Number.isSafeInteger(before))
    return badRequest({ path: 'cursor', message: 'must be the nextCursor of an earlier page' });
  const rows = await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.listDeliveries(before, limit + 1));
  const { items, nextCursor } = pageOf<DeliveryRow>(rows, limit, ({ delivery }) => String(delivery));
  const hidden = isHidden(row, reader) && { answer: null };
  const shown = items.map((item) => ({ ...presentDelivery(item), ...hidden }));
  return accept('DELIVERIES_LISTED', { items: shown, nextCursor }, Date.now());
}

export function sendAgain(request: OperatorRequest, webhook: WebhookKey, eventId: string): Promise<Answer<SentAgain>> {
  return change<SentAgain>(request, webhook, async ({ enabled }) => {
    if (!enabled) return switchedOff();
    const sent = await ask(webhookEndpoint(request.env, webhook), (endpoint) => endpoint.sendAgain(webhook, eventId));
    if (sent === 'off') return switchedOff();
    if (sent === 'unknown') return refuse('NOT_FOUND', 'no such event');
    if (sent === 'unwanted') return refuse('CONFLICT', 'the webhook does not get events of this type');
    return {
      action: 'webhook.send_again',
      before: null,
      after: { eventId },
      statements: [],
      code: 'DELIVERY_SENT_AGAIN',
      data: { webhookId: webhook.webhookId, eventId },
    };
  });
}

type Decided<Data> = Exclude<Awaited<ReturnType<Parameters<typeof commitChange<Data>>[1]>>, { ok: boolean }>;

/** A change of a webhook that is there. */
function change<Data>(
  request: OperatorRequest,
  webhook: WebhookKey,
  decide: (
    row: WebhookRow,
    nowMs: number,
  ) =>
    | Omit<Decided<Data>, 'organizationId' | 'subject' | 'replaces'>
    | Answer<Data>
    | Promise<Omit<Decided<Data>, 'organizationId' | 'subject' | 'replaces'> | Answer<Data>>,
): Promise<Answer<Data>> {
  const { organizationId, webhookId } = webhook;
  return commitChange<Data>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const row = await findWebhook(request.env, webhook);
    if (!row) return noWebhook();
    const decided = await decide(row, nowMs);
    return 'ok' in decided ? decided : { ...decided, organizationId, subject: webhookId, replaces: false };
  });
}

/** Whether the address, and what was answered there, is the operator's secret. */
function isHidden({ registeredBy }: Pick<WebhookRow, 'registeredBy'>, reader: Reader): boolean {
  return reader === 'tenant' && registeredBy === 'operator';
}

const originOf = ({ url }: Pick<WebhookRow, 'url'>) => new URL(url).origin;

function present(row: WebhookRow, nowMs: number, reader: Reader): Webhook {
  const { webhookId, types, description, enabled, format, registeredBy, disabledAtMs, disabledReason } = row;
  const { previousUntilMs, createdAtMs, updatedAtMs } = row;
  return {
    webhookId,
    url: isHidden(row, reader) ? originOf(row) : row.url,
    types,
    description,
    enabled,
    format,
    registeredBy,
    disabled:
      disabledAtMs !== null && disabledReason !== null
        ? { at: new Date(disabledAtMs).toISOString(), reason: disabledReason }
        : null,
    previousSecretUntil: previousUntilMs !== null && nowMs < previousUntilMs ? instantOf(previousUntilMs) : null,
    createdAt: new Date(createdAtMs).toISOString(),
    updatedAt: new Date(updatedAtMs).toISOString(),
  };
}

/** For the event log, which more people read: the path of an address is often a secret, as Slack's is. */
function logged(row: WebhookRow, nowMs: number): Omit<Webhook, 'url' | 'createdAt' | 'updatedAt'> & { host: string } {
  const { url: _, createdAt: __, updatedAt: ___, ...shown } = present(row, nowMs, 'operator');
  return { ...shown, host: originOf(row) };
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
    lastAttemptAt: instantOf(lastAttemptMs),
    nextAttemptAt: instantOf(nextAttemptMs),
    answerStatus,
    answer,
  };
}

function instantOf(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
