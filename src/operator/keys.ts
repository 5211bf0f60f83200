/**
 * API keys: shown once at their creation, edited without rotation, rotated with an overlap, revoked for good. They may
 * be limited to models and features. Only their SHA-256 is stored.
 */

import { findKey, findKeys, insertKey, type KeyRow, updateKeyRow } from '../config/keys.ts';
import type { Complete } from '../contract/complete.ts';
import { badRequest, refuse } from '../contract/errors.ts';
import { type DataOf, operations } from '../contract/operations.ts';
import type { Key } from '../contract/operator.ts';
import { EMBED_SCOPE, type KeyPrefix, type Scope, SERVER_SCOPES } from '../contract/scopes.ts';
import { asKeyId, type OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { createApiKey } from '../platform/api-key.ts';
import { sha256Hex } from '../platform/hash.ts';
import { makePage, type Page, type PageRequest } from '../platform/page.ts';
import { HOUR_MS, isoTimeOrNull } from '../platform/time.ts';
import { change, list, read } from './operation.ts';

const HINT_LENGTH = 4;

const noKey = () => refuse('NOT_FOUND', 'no such key');

export const createKey = change(operations.createKey, {
  action: 'key.create',
  subject: (_request, { keyId }) => keyId,
  decide: async ({ env, params: { org }, body, nowMs }) => {
    const scopes = body.scopes ? unique(body.scopes) : body.prefix === 'utk-' ? [...SERVER_SCOPES] : null;
    const broken = scopes && brokenScopeRule(body.prefix, scopes);
    if (broken) return badScopes(broken);
    const expiresAtMs = body.expiresAt === undefined ? null : Date.parse(body.expiresAt);
    if (expiresAtMs !== null && expiresAtMs <= nowMs) return isPast();
    const { prefix, name } = body;
    const limits = { models: listed(body.models), features: listed(body.features) };
    const useless = uselessLimit(prefix, limits);
    if (useless) return useless;
    const { key, row } = await newKey({ organizationId: org, prefix, name, scopes, ...limits, expiresAtMs }, nowMs);
    return { before: null, after: present(row), statements: [insertKey(env, row)], data: presentCreated(key, row) };
  },
});

/** A new key like an earlier one. The earlier key works until the overlap is over, or until its own earlier end. */
export const rotateKey = change(operations.rotateKey, {
  action: 'key.rotate',
  subject: ({ params }) => params.keyId,
  decide: async ({ env, params: { org, keyId }, body: { overlapHours }, nowMs }) => {
    const before = await findKey(env, org, keyId);
    if (!before) return noKey();
    if (before.revokedAtMs !== null) return refuse('CONFLICT', 'the key is revoked');
    if (before.expiresAtMs !== null && before.expiresAtMs <= nowMs) return refuse('CONFLICT', 'the key has expired');
    const { prefix, name, scopes, models, features } = before;
    const like = {
      organizationId: org,
      prefix: prefix as KeyPrefix,
      name,
      scopes,
      models,
      features,
      expiresAtMs: null,
    };
    const { key, row } = await newKey(like, nowMs);
    const expiresAtMs = Math.min(before.expiresAtMs ?? Infinity, nowMs + overlapHours * HOUR_MS);
    const previous = { ...before, expiresAtMs };
    return {
      before: present(before),
      after: { ...present(previous), rotatedTo: row.keyId },
      statements: [insertKey(env, row), updateKeyRow(env, before, { expiresAtMs })],
      replaces: true,
      data: { ...presentCreated(key, row), previous: { keyId, expiresAt: new Date(expiresAtMs).toISOString() } },
    };
  },
});

type NewKey = Pick<KeyRow, 'organizationId' | 'name' | 'scopes' | 'models' | 'features' | 'expiresAtMs'> & {
  prefix: KeyPrefix;
};

async function newKey(of: NewKey, nowMs: number): Promise<{ key: string; row: KeyRow }> {
  const key = createApiKey(of.prefix);
  const row = {
    ...of,
    keyId: asKeyId(`key_${crypto.randomUUID()}`),
    keyHash: await sha256Hex(key),
    hint: key.slice(-HINT_LENGTH),
    hasChecksum: true,
    createdAtMs: nowMs,
    revokedAtMs: null,
    lastUsedAtMs: null,
  };
  return { key, row };
}

export const readKey = read(operations.readKey, async ({ env, params: { org, keyId } }) => {
  const row = await findKey(env, org, keyId);
  return row ? present(row) : noKey();
});

/** A page of an organization's keys, for the list and the search. */
export async function listKeyPage(
  env: Env,
  organizationId: OrganizationId,
  { after, limit }: PageRequest,
): Promise<Page<Key>> {
  const rows = await findKeys(env, organizationId, after, limit);
  return makePage(rows.map(present), limit, ({ keyId }) => keyId);
}

export const listKeys = list(operations.listKeys, ({ env, params, page }) => listKeyPage(env, params.org, page));

export const updateKey = change(operations.updateKey, {
  action: 'key.update',
  subject: ({ params }) => params.keyId,
  decide: async ({ env, params: { org, keyId }, body, nowMs }) => {
    const before = await findKey(env, org, keyId);
    if (!before) return noKey();
    if (before.revokedAtMs !== null) return refuse('CONFLICT', 'the key is revoked');
    const expiresAtMs = body.expiresAt == null ? body.expiresAt : Date.parse(body.expiresAt);
    if (expiresAtMs != null && expiresAtMs <= nowMs) return isPast();
    const scopes = body.scopes && unique(body.scopes);
    const broken = scopes && brokenScopeRule(before.prefix as KeyPrefix, scopes);
    if (broken) return badScopes(broken);
    const limits = {
      ...(body.models !== undefined && { models: listed(body.models) }),
      ...(body.features !== undefined && { features: listed(body.features) }),
    };
    const useless = uselessLimit(before.prefix as KeyPrefix, limits);
    if (useless) return useless;
    const changed = {
      ...(body.name !== undefined && { name: body.name }),
      ...(scopes && { scopes }),
      ...limits,
      ...(expiresAtMs !== undefined && { expiresAtMs }),
    };
    return replaced(env, before, changed);
  },
});

export const revokeKey = change(operations.revokeKey, {
  action: 'key.revoke',
  subject: ({ params }) => params.keyId,
  decide: async ({ env, params: { org, keyId }, nowMs }) => {
    const before = await findKey(env, org, keyId);
    if (!before) return noKey();
    if (before.revokedAtMs !== null) return { unchanged: present(before) };
    return replaced(env, before, { revokedAtMs: nowMs });
  },
});

function replaced(env: Env, before: KeyRow, changed: Parameters<typeof updateKeyRow>[2]) {
  const after = present({ ...before, ...changed });
  return {
    before: present(before),
    after,
    statements: [updateKeyRow(env, before, changed)],
    replaces: true,
    data: after,
  };
}

/** An `ek-` key holds the embed scope alone, and no other key may hold it. */
function brokenScopeRule(prefix: KeyPrefix, scopes: readonly Scope[]): string | null {
  if (prefix === 'ek-')
    return scopes.every((scope) => scope === EMBED_SCOPE) ? null : `an ek- key has only the scope ${EMBED_SCOPE}`;
  return scopes.includes(EMBED_SCOPE) ? `only a dedicated ek- key may have ${EMBED_SCOPE}` : null;
}

/** A key that only opens the widget spends nothing: a limit on it would seem to restrict the widget's content. */
function uselessLimit(prefix: KeyPrefix, { models, features }: Partial<Pick<KeyRow, 'models' | 'features'>>) {
  const path = models ? 'models' : features ? 'features' : null;
  return prefix === 'ek-' && path !== null
    ? badRequest({ path, message: 'an ek- key runs no models and begins no calls, so there is nothing to limit' })
    : null;
}

const badScopes = (message: string) => badRequest({ path: 'scopes', message });

/** A key that is to end at once is revoked instead: that is acknowledged only when the key works nowhere any more. */
const isPast = () => badRequest({ path: 'expiresAt', message: 'must be in the future; revoke the key to end it now' });

function presentCreated(
  key: string,
  { keyId, prefix, scopes, models, features, expiresAtMs }: KeyRow,
): Complete<DataOf<typeof operations.createKey>> {
  return {
    ...{ keyId, key, prefix: prefix as KeyPrefix, scopes },
    models: models ?? undefined,
    features: features ?? undefined,
    expiresAt: expiresAtMs === null ? undefined : new Date(expiresAtMs).toISOString(),
  };
}

function present(row: KeyRow): Key {
  const { keyId, name, prefix, hint, scopes, models, features, createdAtMs } = row;
  return {
    keyId,
    name,
    prefix: prefix as KeyPrefix,
    hint,
    scopes,
    models,
    features,
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: isoTimeOrNull(row.expiresAtMs),
    lastUsedAt: isoTimeOrNull(row.lastUsedAtMs),
    revokedAt: isoTimeOrNull(row.revokedAtMs),
  };
}

function listed(names: string[] | null | undefined): string[] | null {
  return names ? unique(names) : null;
}

function unique<Name extends string>(names: Name[]): Name[] {
  return [...new Set(names)];
}
