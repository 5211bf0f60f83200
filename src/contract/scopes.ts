/**
 * Scopes, key prefixes, and the rights of legacy prefixes (contract section 5, items 2 to 4).
 */
import { z } from 'zod';

export const SCOPES = [
  'usage:read',
  'usage:write',
  'customers:read',
  'customers:write',
  'gateway:invoke',
  'compression:invoke',
  'events:read',
  'webhooks:write',
  'embeds:read',
] as const;

export type Scope = (typeof SCOPES)[number];

export const Scope = z.enum(SCOPES).describe('One permission; none implies another');

/** The scope that must be on a key of its own. */
export const EMBED_SCOPE = 'embeds:read' satisfies Scope;

export const SERVER_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== EMBED_SCOPE);

/** Parts of scopes that only legacy prefixes have. */
export type LegacyGrant = 'customers:provision' | 'meters:increment';

export const KEY_PREFIXES = ['utk-', 'ck-', 'ak-', 'cmp-', 'gk-', 'ek-'] as const;

export type KeyPrefix = (typeof KEY_PREFIXES)[number];

/** The permissions of keys without stored scopes. */
export const LEGACY_PERMISSIONS: Record<Exclude<KeyPrefix, 'utk-'>, readonly (Scope | LegacyGrant)[]> = {
  'ck-': ['usage:read', 'usage:write', 'customers:provision'],
  'ak-': ['usage:read', 'usage:write', 'customers:read', 'customers:write'],
  'cmp-': ['compression:invoke', 'meters:increment'],
  'gk-': ['gateway:invoke'],
  'ek-': [EMBED_SCOPE],
};

/** A prefix and 43 characters of base64url. */
export const API_KEY_PATTERN = /^(utk-|ck-|ak-|cmp-|gk-|ek-)[A-Za-z0-9_-]{43}$/;
