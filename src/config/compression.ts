/**
 * The compression profile of an organization's prompts.
 */
import { type CompressionProfile, DEFAULT_COMPRESSION_PROFILE } from '../contract/compression.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { configDatabase } from './database.ts';
import { findOrganizationRow, updateOrganizationRow } from './organizations.ts';

export async function findProfile(env: Env, organizationId: OrganizationId): Promise<CompressionProfile> {
  return (await findOrganizationRow(env, organizationId))?.compressionProfile ?? DEFAULT_COMPRESSION_PROFILE;
}

export async function saveProfile(
  env: Env,
  organizationId: OrganizationId,
  profile: CompressionProfile,
): Promise<void> {
  await configDatabase(env).batch([updateOrganizationRow(env, organizationId, { compressionProfile: profile })]);
}
