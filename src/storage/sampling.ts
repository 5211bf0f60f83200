/**
 * Sampling policies under the version that follows from their content.
 */
import { canonicalJson } from '../domain/canonical.ts';
import type { SamplingPolicy } from '../domain/sampling.ts';
import { sha256Hex } from '../platform/hash.ts';

export interface VersionedPolicy {
  version: string;
  policy: SamplingPolicy;
}

/** 64 bits tell the policies of an organization apart. */
const VERSION_DIGITS = 16;

export async function versionedPolicy(policy: SamplingPolicy): Promise<VersionedPolicy> {
  return { version: `sp_${(await sha256Hex(canonicalJson(policy))).slice(0, VERSION_DIGITS)}`, policy };
}
