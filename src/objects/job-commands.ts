/**
 * Commands to the objects of jobs (moving subscriptions to a plan's newest version, pricing calls that lacked a price,
 * estimating what compression would have saved) and to the directory of call ids. Plain data.
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

/** A job that gives calls without a price the one that was in force when they ended. */
export interface RepricingCommand {
  jobId: string;
  organizationId: OrganizationId;
  /** Calls that ended in this period, its end not included. */
  fromMs: number;
  toMs: number;
  /** Only calls of this model; `null`: of all. */
  modelKey: string | null;
  /** Nothing is changed. */
  dryRun: boolean;
  /** Who asked for it. */
  by: string;
}

/** A job that estimates what a compression profile would have saved. */
export interface EstimateCommand {
  jobId: string;
  organizationId: OrganizationId;
  /** Of the request: tells a retry from another job under the same key. */
  fingerprint: string;
  filter: SampleSelection;
  profile: CompressionProfile;
}

/** Which customer owns a call id. */
export interface Claim {
  customerId: CustomerId;
  claimedAtMs: number;
  /** Made with the token of this request, which may release it. */
  fresh: boolean;
  /** It cannot be released. */
  final: boolean;
}
