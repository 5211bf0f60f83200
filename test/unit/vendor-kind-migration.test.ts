/**
 * Promise: an older vendor without a kind gets the kind that keeps its behaviour, and no other.
 */

import { expect, test } from 'vitest';
import { listVendors } from '../../src/config/vendors.ts';
import { asOrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { asD1, MIGRATION_NAMES, migrate, openD1 } from '../support/d1.ts';

const MIGRATION = '0012_vendor_kind.sql';

test('four whole names are kinds, and every other vendor stays compatible, whatever its address', async () => {
  using db = openD1(MIGRATION_NAMES.slice(0, MIGRATION_NAMES.indexOf(MIGRATION)));
  db.exec("INSERT INTO organizations (organization_id, name, created_at_ms) VALUES ('one', 'One', 0)");
  const insert = db.prepare(
    `INSERT INTO vendor_credentials (organization_id, provider, base_url, sealed_key, key_hint, use_reported_cost, updated_at_ms)
     VALUES ('one', ?, ?, '', '', 0, 0)`,
  );
  const stored = [
    ['anthropic', 'https://api.anthropic.com/v1', 'anthropic'],
    ['azure', 'https://proxy.example.com/v1', 'azure'],
    ['azure-north', 'https://north.openai.azure.com/openai/v1', 'compatible'],
    ['google', 'https://generativelanguage.googleapis.com/v1beta', 'google'],
    ['openai', 'https://openrouter.ai/api/v1', 'openai'],
    ['openai-eu', 'https://eu.api.openai.com/v1', 'compatible'],
    ['openrouter', 'https://openrouter.ai/api/v1', 'compatible'],
  ] as const;
  for (const [provider, baseUrl] of stored) insert.run(provider, baseUrl);
  for (const name of MIGRATION_NAMES.slice(MIGRATION_NAMES.indexOf(MIGRATION))) migrate(db, name);
  const vendors = await listVendors({ DB: asD1(db) } as Env, asOrganizationId('one'));
  expect(vendors.map(({ provider, baseUrl, kind }) => [provider, baseUrl, kind])).toEqual(stored);
});
