/**
 * Sampling policies, each with the version that follows from its content.
 */

import { canonicalJson } from '../domain/canonical.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { DEFAULT_SAMPLING_POLICY, type SamplingPolicy } from '../domain/sampling.ts';
import type { Env } from '../env.ts';
import { sha256Hex } from '../platform/hash.ts';
import { findOrganizationRow } from './organizations.ts';

export interface VersionedPolicy {
  version: string;
  policy: SamplingPolicy;
}

/** 64 bits are enough to distinguish the policies of an organization. */
const VERSION_DIGITS = 16;

export async function versionedPolicy(policy: SamplingPolicy): Promise<VersionedPolicy> {
  return { version: `sp_${(await sha256Hex(canonicalJson(policy))).slice(0, VERSION_DIGITS)}`, policy };
}

/** The sampling policy in force. */
export async function readSamplingPolicy(env: Env, organizationId: OrganizationId): Promise<VersionedPolicy> {
  return versionedPolicy((await findOrganizationRow(env, organizationId))?.sampling ?? DEFAULT_SAMPLING_POLICY);
}
