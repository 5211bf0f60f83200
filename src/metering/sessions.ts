/**
 * Use cases: short-lived tokens for browsers. A token has a safe subset of its key's permissions, and ends with the
 * key.
 */

import { currentCatalog } from '../config/catalog.ts';
import type { Credential } from '../config/credentials.ts';
import { type SessionClaims, signSession } from '../config/session-token.ts';
import { accept, type Refused } from '../contract/errors.ts';
import { closedFeature } from '../contract/key-limits.ts';
import type { AnswerTo } from '../contract/operations.ts';
import {
  CLIENT_SCOPES,
  type ClientScope,
  type ClientSessionData,
  type ClientSessionRequest,
  type EmbedSessionRequest,
  SESSION_SECONDS,
} from '../contract/sessions.ts';
import type { CustomerId } from '../domain/ids.ts';
import { ServiceUnavailable } from '../platform/unavailable.ts';
import type { Caller } from './caller.ts';
import { keyModelLimit } from './key-limits.ts';

interface Customer {
  customerId: CustomerId;
  customerUserId?: string | undefined;
}

export async function createClientSession(
  caller: Caller,
  credential: Credential,
  request: ClientSessionRequest,
): Promise<AnswerTo<'createClientSession'>> {
  const { feature, tags, models } = request;
  const closed = closedFeature(caller.limits, feature) ?? (await closedModels(caller, models));
  if (closed) return closed;
  const issued = await issue(caller, credential, request, {
    kind: 'client',
    scopes: clientScopes(credential),
    feature,
    tags,
    models,
  });
  return accept('CLIENT_SESSION_CREATED', issued, Date.now());
}

/**
 * A session can do no more than its key, whatever it names. A name that the key does not open at all would be refused
 * in each call of the session.
 */
async function closedModels(
  caller: Caller,
  models: readonly string[] = [],
): Promise<Refused<'MODEL_NOT_ALLOWED'> | null> {
  if (!caller.limits?.models || models.length === 0) return null;
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const limit = keyModelLimit(caller, catalog, Date.now());
  const closed = models.findIndex((name) => limit && !limit.open.allowsAny(name));
  return limit && closed >= 0 ? limit.refuse(models[closed] ?? '', `models.${closed}`) : null;
}

export async function createEmbedSession(
  caller: Caller,
  credential: Credential,
  request: EmbedSessionRequest,
  origin: string,
): Promise<AnswerTo<'createEmbedSession'>> {
  const { origins, theme, variant } = request;
  const issued = await issue(caller, credential, request, {
    kind: 'embed',
    scopes: ['embeds:read'],
    embed: { origins, theme, variant },
  });
  // The token is in the fragment, which browsers do not send: logs contain addresses with their query.
  const embedUrl = `${origin}/embed#token=${encodeURIComponent(issued.token)}`;
  return accept('EMBED_SESSION_CREATED', { ...issued, embedUrl }, Date.now());
}

/** The permissions of a session, from the key's present permissions. */
function clientScopes({ permissions }: Credential): ClientScope[] {
  return (Object.keys(CLIENT_SCOPES) as (keyof typeof CLIENT_SCOPES)[])
    .filter((scope) => permissions.has(scope))
    .map((scope) => CLIENT_SCOPES[scope]);
}

async function issue(
  { env, organization }: Caller,
  { keyId }: Credential,
  { customerId, customerUserId }: Customer,
  what: Omit<SessionClaims, 'keyId' | 'organizationId' | 'customerId' | 'customerUserId'>,
): Promise<ClientSessionData> {
  if (!env.SESSION_SECRET) throw new ServiceUnavailable('SESSION_SECRET is not configured, so there are no sessions');
  const nowMs = Date.now();
  const { organizationId } = organization;
  const claims = { ...what, keyId, organizationId, customerId, customerUserId: customerUserId ?? null };
  return {
    token: await signSession(env.SESSION_SECRET, claims, nowMs, SESSION_SECONDS),
    tokenType: 'Bearer',
    // The token counts whole seconds.
    expiresAt: new Date((Math.floor(nowMs / 1000) + SESSION_SECONDS) * 1000).toISOString(),
    expiresIn: SESSION_SECONDS,
    scopes: what.scopes,
    customerId,
    customerUserId: customerUserId ?? null,
  };
}
