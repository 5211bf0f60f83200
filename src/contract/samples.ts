/**
 * Samples on the wire: calls that applications store for review (contract 4.14).
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { BodyIdempotency } from './calls.ts';
import { branded, customerId, idempotencyKey, instant, ListQuery, TAGS_MAX, TEXT_LENGTH_MAX, text } from './fields.ts';
import { resolveIdentity } from './identity.ts';

/** 300 KiB as received (contract section 8). */
export const SAMPLE_BYTES_MAX = 300 * 1024;

const label = text(TEXT_LENGTH_MAX);
const environment = text(100);
const model = text(300);

/** Any JSON value. */
const payload = z.unknown();

const StoreSampleBody = BodyIdempotency.extend({
  sampleId: idempotencyKey.optional().describe('Stable id for retries; default the idempotency key, else it is made'),
  decisionId: text(255).optional().describe('The decision by which the call was chosen'),
  policyVersion: text(255).optional().describe('The policy version of that decision'),
  customerId: customerId.optional(),
  feature: label.optional().describe('Feature of the application that called'),
  environment: environment.optional().describe('For example production'),
  tags: z.array(label).max(TAGS_MAX).optional().describe('Labels of the sample'),
  provider: label.describe('Vendor that ran the call'),
  model: model.optional().describe('Model that ran'),
  input: payload.refine((value) => value !== undefined, 'is required').describe('What went to the model: any JSON'),
  output: payload.optional().describe('What came back: any JSON'),
  usage: payload.optional().describe('Usage as the vendor reported it: any JSON'),
  error: payload.optional().describe('What went wrong: any JSON'),
  latencyMs: z.number().nonnegative().max(1_000_000_000).optional().describe('How long the call took'),
});

export const StoreSampleRequest = z.preprocess(resolveIdentity, StoreSampleBody);
export type StoreSampleRequest = z.infer<typeof StoreSampleBody>;

export const StoredSample = z.object({
  sampleId: z.string().describe('The sample'),
  receivedAt: instant.describe('When it was received'),
  expiresAt: instant.describe('When it expires'),
  retentionDays: z.number().int().describe('Days of retention, by the policy in force when it was received'),
  policyVersion: z.string().describe('Hash of the policy'),
});

export type StoredSample = z.infer<typeof StoredSample>;

const SampleFilter = z.object({
  customerId: customerId.optional().describe('Only this customer'),
  feature: label.optional().describe('Only this feature'),
  provider: label.optional().describe('Only this vendor'),
  model: model.optional().describe('Only this model'),
  environment: environment.optional().describe('Only this environment'),
  from: instant.optional().describe('Received at this instant or later'),
  to: instant.optional().describe('Received before this instant'),
});

export type SampleFilter = z.infer<typeof SampleFilter>;

/** A rule for `refine`: a period ends after its start. */
export function endsAfterStart({ from, to }: { from?: string | undefined; to?: string | undefined }): boolean {
  return from === undefined || to === undefined || Date.parse(from) < Date.parse(to);
}

export const ENDS_AFTER_START = { path: ['to'], error: 'must be after from' };

export const ExportSamplesQuery = SampleFilter.refine(endsAfterStart, ENDS_AFTER_START);
export const ListSamplesQuery = ListQuery.extend(SampleFilter.shape).refine(endsAfterStart, ENDS_AFTER_START);

export const SampleListItem = StoredSample.extend({
  decisionId: z.string().nullable().describe('The decision by which the call was chosen'),
  decisionPolicyVersion: z.string().nullable().describe('The policy version of that decision'),
  customerId: branded<CustomerId>(z.string()).nullable().describe('The customer'),
  feature: z.string().nullable().describe('Feature of the application'),
  environment: z.string().nullable().describe('Environment'),
  tags: z.array(z.string()).describe('Labels'),
  provider: z.string().describe('Vendor'),
  model: z.string().nullable().describe('Model'),
  latencyMs: z.number().nullable().describe('How long the call took'),
  payloadBytes: z.number().int().describe('Size of input, output, usage and error as JSON'),
});

export type SampleListItem = z.infer<typeof SampleListItem>;

export const Sample = SampleListItem.extend({
  input: z.unknown().describe('What went to the model'),
  output: z.unknown().optional().describe('What came back'),
  usage: z.unknown().optional().describe('Usage as the vendor reported it'),
  error: z.unknown().optional().describe('What went wrong'),
});

export type Sample = z.infer<typeof Sample>;

export const DeletedSample = z.object({ sampleId: z.string().describe('The sample that is gone') });

export interface SampleSelection {
  customerId?: CustomerId | undefined;
  feature?: string | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  environment?: string | undefined;
  /** Received in [fromMs, toMs). */
  fromMs?: number | undefined;
  toMs?: number | undefined;
}
