/**
 * Commands of batches: to the object of one request for a batch, and to the object of its customer. Plain data.
 */

import type { BeginCallRequest } from '../contract/calls.ts';
import type { Refused } from '../contract/errors.ts';
import type { KeyLimits } from '../contract/key-limits.ts';
import type { BatchDenial, BatchToHold, LinesByTier } from '../domain/batch-hold.ts';
import type { Gap } from '../domain/bound.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Capability } from '../domain/plan.ts';
import type { Tier } from '../domain/tiers.ts';
import type { BeginCommand, Provisioning } from './customer-commands.ts';

/** A request for a batch, in the form that its object takes. */
export interface BatchCommand {
  organizationId: OrganizationId;
  /** The object's own name, and the batch's at the vendor. */
  requestName: string;
  /** The caller sent a key, so a retry under it gets the stored answer. */
  keyed: boolean;
  fingerprint: string;
  begin: BeginCallRequest;
  inputFileId: string;
  /** The limits of the API key, with everything that the names of its models stand for; absent without limits. */
  limit?: { limits: KeyLimits; models: readonly string[] };
  /** The body of the vendor's request, as JSON. */
  body: string;
  /** Callmeter's id of the request, if the vendor has none. */
  requestId: string;
}

/** An answer that can be stored. */
export interface BatchAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The work that a batch asks for. */
export interface BatchInput {
  lines: LinesByTier;
  /** The searches that the lines can make; a line without a bound counts as one. */
  searches: number;
  /** The capabilities besides text that any of the lines asks for. */
  needs: Capability[];
  /** The first line of each tier for which credit does not pay. */
  closed: ClosedLines;
  /** The first line that can make any number of searches. */
  unboundedSearch?: ClosedLine | undefined;
  /** The line that asks for the most answers, if that is more than one. */
  mostAnswers?: AnswersOfLine | undefined;
  /** The model, if all lines name the same one. */
  model: string | undefined;
}

/** The most batches of one customer that have a hold at a time. */
export const BATCHES_MAX = 1_000;

/** A batch wants to begin. */
export interface HoldBatchCommand extends Provisioning, Pick<BatchInput, 'unboundedSearch' | 'mostAnswers'> {
  requestName: string;
  batch: BatchToHold;
  closed: ClosedLines;
}

/** The number of text answers that a line asks for, and the field of its body that does. */
export interface AnswersOfLine {
  line: number;
  count: number;
  param: string;
}

/** A line for which credit or the allowance does not pay, and the reason. */
export interface ClosedLine {
  line: number;
  gap: Gap;
}

export type ClosedLines = Partial<Record<Tier, ClosedLine>>;

export type BatchAdmission = { ok: true } | { ok: false; denial: BatchDenial } | Refused;

/** A line of a batch that has a hold for it. */
export interface BatchLine {
  requestName: string;
  tier: Tier;
}

/** A batch is over, or never began. */
export interface EndBatchCommand {
  organizationId: OrganizationId;
  requestName: string;
  /** The most lines that ran but whose answers cannot be read; `null` if there are none. */
  unread: {
    linesMax: number;
    begin: Omit<BeginCommand, 'key'>;
    providerUsed: string;
    modelUsed: string | undefined;
  } | null;
}
