/**
 * Commands to the objects of batches: the object of one request, and the object of a customer with all of the
 * customer's requests. Plain data.
 */

import type { BeginCallRequest } from '../contract/calls.ts';
import type { Capability } from '../domain/plan.ts';
import type { Tier } from '../domain/tiers.ts';
import type { UnpricedTiers } from './customer-commands.ts';

/** A request for a batch, as its object takes it. */
export interface BatchCommand {
  organizationId: string;
  /** The object's own name, and the batch's at the vendor. */
  requestName: string;
  /** The caller sent a key, so a retry under it gets the stored answer. */
  keyed: boolean;
  fingerprint: string;
  begin: BeginCallRequest;
  inputFileId: string;
  /** The body of the vendor's request, as JSON. */
  body: string;
  /** Ours, where the vendor has none. */
  requestId: string;
}

/** An answer that can be stored. */
export interface BatchAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Calls by tier, and those of them that can search. */
export type Lines = Partial<Record<Tier | 'search', number>>;

/** What a batch is going to run. */
export interface BatchInput {
  lines: Lines;
  /** What any of the lines asks for beside text. */
  needs: Capability[];
  /** The tiers for which credit must not pay. */
  unpriced: UnpricedTiers;
  /** Where all lines name the same model. */
  model: string | undefined;
}

/** A batch to be admitted beside the customer's other batches. */
export interface BatchToAdmit extends Pick<BatchInput, 'lines' | 'needs' | 'unpriced'> {
  organizationId: string;
  requestName: string;
  begin: BeginCallRequest;
}
