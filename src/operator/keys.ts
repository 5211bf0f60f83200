/**
 * API keys: shown once when they are created, edited without rotation, rotated with an overlap, revoked for good. They
 * may be limited to models and features. Only their SHA-256 is stored.
 */
import type { z } from 'zod';
import { type Answer, accept, badRequest, refuse } from '../contract/errors.ts';
import type {
  CreatedKey,
  CreateKeyRequest,
  Key,
  RotatedKey,
  RotateKeyRequest,
  UpdateKeyRequest,
} from '../contract/operator.ts';
import { EMBED_SCOPE, type KeyPrefix, type Scope, SERVER_SCOPES } from '../contract/scopes.ts';
import type { Env } from '../env.ts';
import { createApiKey } from '../platform/api-key.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { HOUR_MS } from '../platform/time.ts';
import { findKey, findKeys, insertKey, type KeyRow, updateKeyRow } from '../storage/keys.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

type Created = z.infer<typeof CreatedKey>;

const HINT_LENGTH = 4;

const noKey = () => refuse('NOT_FOUND', 'no such key');

export function createKey(
  request: OperatorRequest,
  organizationId: string,
  body: z.infer<typeof CreateKeyRequest>,
): Promise<Answer<Created>> {
  return commitChange(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const scopes = body.scopes ? unique(body.scopes) : body.prefix === 'utk-' ? [...SERVER_SCOPES] : null;
    const broken = scopes && brokenScopeRule(body.prefix, scopes);
    if (broken) return badScopes(broken);
    const expiresAtMs = body.expiresAt === undefined ? null : Date.parse(body.expiresAt);
    if (expiresAtMs !== null && expiresAtMs <= nowMs) return isPast();
    const { prefix, name } = body;
    const limits = { models: listed(body.models), features: listed(body.features) };
    const useless = uselessLimit(prefix, limits);
    if (useless) return useless;
    const { key, row } = await newKey({ organizationId, prefix, name, scopes, ...limits, expiresAtMs }, nowMs);
    return {
      action: 'key.create',
      organizationId,
      subject: row.keyId,
      before: null,
      after: present(row),
      statements: [insertKey(request.env, row)],
      replaces: false,
      code: 'KEY_CREATED',
      data: presentCreated(key, row),
    };
  });
}

/** A new key like an earlier one, which works until the overlap is over, or until its own earlier end. */
export function rotateKey(
  request: OperatorRequest,
  organizationId: string,
  keyId: string,
  { overlapHours }: z.infer<typeof RotateKeyRequest>,
): Promise<Answer<z.infer<typeof RotatedKey>>> {
  return commitChange(request, async (nowMs) => {
    const before = await findKey(request.env, organizationId, keyId);
    if (!before) return noKey();
    if (before.revokedAtMs !== null) return refuse('CONFLICT', 'the key is revoked');
    if (before.expiresAtMs !== null && before.expiresAtMs <= nowMs) return refuse('CONFLICT', 'the key has expired');
    const { prefix, name, scopes, models, features } = before;
    const like = { organizationId, prefix: prefix as KeyPrefix, name, scopes, models, features, expiresAtMs: null };
    const { key, row } = await newKey(like, nowMs);
    const expiresAtMs = Math.min(before.expiresAtMs ?? Infinity, nowMs + overlapHours * HOUR_MS);
    const previous = { ...before, expiresAtMs };
    return {
      action: 'key.rotate',
      organizationId,
      subject: keyId,
      before: present(before),
      after: { ...present(previous), rotatedTo: row.keyId },
      statements: [insertKey(request.env, row), updateKeyRow(request.env, before, { expiresAtMs })],
      replaces: true,
      code: 'KEY_ROTATED',
      data: { ...presentCreated(key, row), previous: { keyId, expiresAt: new Date(expiresAtMs).toISOString() } },
    };
  });
}

type NewKey = Pick<KeyRow, 'organizationId' | 'name' | 'scopes' | 'models' | 'features' | 'expiresAtMs'> & {
  prefix: KeyPrefix;
};

async function newKey(of: NewKey, nowMs: number): Promise<{ key: string; row: KeyRow }> {
  const key = createApiKey(of.prefix);
  const row = {
    ...of,
    keyId: `key_${crypto.randomUUID()}`,
    keyHash: await sha256Hex(key),
    hint: key.slice(-HINT_LENGTH),
    hasChecksum: true,
    createdAtMs: nowMs,
    revokedAtMs: null,
    lastUsedAtMs: null,
  };
  return { key, row };
}

export async function readKey(env: Env, organizationId: string, keyId: string): Promise<Answer<Key>> {
  const row = await findKey(env, organizationId, keyId);
  return row ? accept('KEY_READ', present(row), Date.now()) : noKey();
}

export async function listKeys(env: Env, organizationId: string, page: PageRequest): Promise<Answer<Page<Key>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const rows = await findKeys(env, organizationId, page.after, page.limit);
  return accept(
    'KEYS_LISTED',
    pageOf(rows.map(present), page.limit, (item) => item.keyId),
    Date.now(),
  );
}

export function updateKey(
  request: OperatorRequest,
  organizationId: string,
  keyId: string,
  body: z.infer<typeof UpdateKeyRequest>,
): Promise<Answer<Key>> {
  return commitChange(request, async (nowMs) => {
    const before = await findKey(request.env, organizationId, keyId);
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
    const change = {
      ...(body.name !== undefined && { name: body.name }),
      ...(scopes && { scopes }),
      ...limits,
      ...(expiresAtMs !== undefined && { expiresAtMs }),
    };
    const after = { ...before, ...change };
    return {
      action: 'key.update',
      organizationId,
      subject: keyId,
      before: present(before),
      after: present(after),
      statements: [updateKeyRow(request.env, before, change)],
      replaces: true,
      code: 'KEY_UPDATED',
      data: present(after),
    };
  });
}

export function revokeKey(request: OperatorRequest, organizationId: string, keyId: string): Promise<Answer<Key>> {
  return commitChange(request, async (nowMs) => {
    const before = await findKey(request.env, organizationId, keyId);
    if (!before) return noKey();
    if (before.revokedAtMs !== null) return accept('KEY_REVOKED', present(before), nowMs);
    const after = { ...before, revokedAtMs: nowMs };
    return {
      action: 'key.revoke',
      organizationId,
      subject: keyId,
      before: present(before),
      after: present(after),
      statements: [updateKeyRow(request.env, before, { revokedAtMs: nowMs })],
      replaces: true,
      code: 'KEY_REVOKED',
      data: present(after),
    };
  });
}

/** An `ek-` key holds the embed scope alone, and no other key may hold it. */
function brokenScopeRule(prefix: KeyPrefix, scopes: readonly Scope[]): string | null {
  if (prefix === 'ek-')
    return scopes.every((scope) => scope === EMBED_SCOPE) ? null : `an ek- key has only the scope ${EMBED_SCOPE}`;
  return scopes.includes(EMBED_SCOPE) ? `only a dedicated ek- key may have ${EMBED_SCOPE}` : null;
}

/** A key that only opens the widget spends nothing: a limit would seem to restrict what the widget shows. */
function uselessLimit(prefix: KeyPrefix, { models, features }: Partial<Pick<KeyRow, 'models' | 'features'>>) {
  const path = models ? 'models' : features ? 'features' : null;
  return prefix === 'ek-' && path !== null
    ? badRequest({ path, message: 'an ek- key runs no models and begins no calls, so there is nothing to limit' })
    : null;
}

function badScopes(message: string) {
  return refuse('BAD_REQUEST', `scopes: ${message}`, { members: { details: [{ path: 'scopes', message }] } });
}

/** A key that is to end at once is revoked, which is acknowledged when it works nowhere any more. */
function isPast() {
  const message = 'must be in the future; revoke the key to end it now';
  return refuse('BAD_REQUEST', `expiresAt: ${message}`, { members: { details: [{ path: 'expiresAt', message }] } });
}

function presentCreated(key: string, { keyId, prefix, scopes, models, features, expiresAtMs }: KeyRow): Created {
  return {
    ...{ keyId, key, prefix: prefix as KeyPrefix, scopes },
    ...(models && { models }),
    ...(features && { features }),
    ...(expiresAtMs !== null && { expiresAt: new Date(expiresAtMs).toISOString() }),
  };
}

function present(row: KeyRow): Key {
  const { keyId, name, prefix, hint, scopes, models, features, createdAtMs } = row;
  const instantOf = (atMs: number | null) => (atMs === null ? null : new Date(atMs).toISOString());
  return {
    keyId,
    name,
    prefix: prefix as KeyPrefix,
    hint,
    scopes,
    models,
    features,
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: instantOf(row.expiresAtMs),
    lastUsedAt: instantOf(row.lastUsedAtMs),
    revokedAt: instantOf(row.revokedAtMs),
  };
}

function listed(names: string[] | null | undefined): string[] | null {
  return names ? unique(names) : null;
}

function unique<Name extends string>(names: Name[]): Name[] {
  return [...new Set(names)];
}
