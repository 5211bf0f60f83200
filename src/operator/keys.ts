/**
 * API keys: shown once when they are created, edited without rotation, revoked for good. Only their SHA-256 is stored.
 */
import type { z } from 'zod';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { CreatedKey, CreateKeyRequest, Key, UpdateKeyRequest } from '../contract/operator.ts';
import { EMBED_SCOPE, type KeyPrefix, type Scope, SERVER_SCOPES } from '../contract/scopes.ts';
import type { Env } from '../env.ts';
import { createApiKey } from '../platform/api-key.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
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
    const key = createApiKey(body.prefix);
    const row = {
      keyId: `key_${crypto.randomUUID()}`,
      organizationId,
      keyHash: await sha256Hex(key),
      prefix: body.prefix,
      hint: key.slice(-HINT_LENGTH),
      name: body.name,
      scopes,
      hasChecksum: true,
      createdAtMs: nowMs,
      revokedAtMs: null,
    };
    return {
      action: 'key.create',
      organizationId,
      subject: row.keyId,
      before: null,
      after: present(row),
      statements: [insertKey(request.env, row)],
      replaces: false,
      code: 'KEY_CREATED',
      data: { keyId: row.keyId, key, prefix: body.prefix, scopes },
    };
  });
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
  return commitChange(request, async () => {
    const before = await findKey(request.env, organizationId, keyId);
    if (!before) return noKey();
    if (before.revokedAtMs !== null) return refuse('CONFLICT', 'the key is revoked');
    const scopes = body.scopes && unique(body.scopes);
    const broken = scopes && brokenScopeRule(before.prefix as KeyPrefix, scopes);
    if (broken) return badScopes(broken);
    const change = { ...(body.name !== undefined && { name: body.name }), ...(scopes && { scopes }) };
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
    return scopes.every((scope) => scope === EMBED_SCOPE) ? null : `an ek- key keeps ${EMBED_SCOPE} alone`;
  return scopes.includes(EMBED_SCOPE) ? `${EMBED_SCOPE} is kept on a dedicated ek- key` : null;
}

function badScopes(message: string) {
  return refuse('BAD_REQUEST', `scopes: ${message}`, { members: { details: [{ path: 'scopes', message }] } });
}

function present(row: KeyRow): Key {
  const { keyId, name, prefix, hint, scopes, createdAtMs, revokedAtMs } = row;
  return {
    keyId,
    name,
    prefix: prefix as KeyPrefix,
    hint,
    scopes,
    createdAt: new Date(createdAtMs).toISOString(),
    revokedAt: revokedAtMs === null ? null : new Date(revokedAtMs).toISOString(),
  };
}

function unique(scopes: Scope[]): Scope[] {
  return [...new Set(scopes)];
}
