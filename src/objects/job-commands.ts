/**
 * Commands to the objects of jobs (moving subscriptions to a plan's newest version, pricing calls that lacked a price,
 * estimating savings of compression) and to the directory of call ids. Plain data.
 */

import type { CompressionProfile } from '../contract/compression.ts';
import type { SampleSelection } from '../contract/samples.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import type { PlanVersion } from '../domain/plan.ts';

/** A job that moves every subscription of a plan to a version of it. */
export interface MigrationCommand {
  jobId: string;
  organizationId: OrganizationId;
  target: PlanVersion;
  when: 'NOW' | 'AT_NEXT_REPLENISH';
}

/** A job that gives each call without a price the price that was in force when it ended. */
export interface RepricingCommand {
  jobId: string;
  organizationId: OrganizationId;
  /** The calls that ended in this period; its end is exclusive. */
  fromMs: number;
  toMs: number;
  /** Only calls of this model; `null` means all. */
  modelKey: string | null;
  /** Changes nothing. */
  dryRun: boolean;
  /** The operator who asked for it. */
  by: string;
}

/** A job that estimates the savings of a compression profile. */
export interface EstimateCommand {
  jobId: string;
  organizationId: OrganizationId;
  /** The fingerprint of the request: it distinguishes a retry from another job under the same key. */
  fingerprint: string;
  filter: SampleSelection;
  profile: CompressionProfile;
}

/** The customer who owns a call id. */
export interface Claim {
  customerId: CustomerId;
  claimedAtMs: number;
  /** Made with the token of this request, which may release it. */
  fresh: boolean;
  /** It cannot be released. */
  final: boolean;
}
