/**
 * Use case: store a call for review. The same id with the same content is one sample, no matter how often it is sent.
 */

import { accept, refuse } from '../contract/errors.ts';
import { closedFeature } from '../contract/key-limits.ts';
import type { AnswerTo } from '../contract/operations.ts';
import type { StoreSampleRequest } from '../contract/samples.ts';
import { insertSample, type SampleQuota } from '../history/samples.ts';
import { DAY_MS } from '../platform/time.ts';
import type { Caller } from './caller.ts';
import { explicitKey, hashPayload } from './idempotency.ts';

/** This word stands in place of a sample's id in the operator's routes. */
const RESERVED_ID = 'export';

/** The wait until the hourly housekeeping frees space. */
const RETRY_AFTER_SECONDS = 3600;

export async function storeSample(
  { env, organization, limits }: Caller,
  request: StoreSampleRequest,
  headerKey: string | null,
): Promise<AnswerTo<'storeSample'>> {
  const closed = closedFeature(limits, request.feature);
  if (closed) return closed;
  const { sampleId: chosen, ...described } = request;
  const sampleId = chosen ?? explicitKey(headerKey, request) ?? crypto.randomUUID();
  if (sampleId === RESERVED_ID) {
    const message = `must not be ${RESERVED_ID}`;
    return refuse('BAD_REQUEST', `sampleId: ${message}`, { members: { details: [{ path: 'sampleId', message }] } });
  }
  const {
    customerId,
    feature,
    environment,
    tags = [],
    provider,
    model,
    latencyMs,
    input,
    output,
    usage,
    error,
  } = described;
  const { version: policyVersion, policy } = organization.sampling;
  const payload = JSON.stringify({ input, output, usage, error });
  const fingerprint = await hashPayload(described);
  const receivedAtMs = Date.now();
  const inserted = await insertSample(
    env,
    {
      organizationId: organization.organizationId,
      sampleId,
      fingerprint,
      receivedAtMs,
      expiresAtMs: receivedAtMs + policy.retentionDays * DAY_MS,
      retentionDays: policy.retentionDays,
      policyVersion,
      decisionId: described.decisionId,
      decisionPolicyVersion: described.policyVersion,
      customerId,
      feature,
      environment,
      tags,
      provider,
      model,
      latencyMs,
      payloadBytes: new TextEncoder().encode(payload).byteLength,
      payload,
    },
    organization.sampleBytesMax,
  );
  if (inserted.row === null) return quotaExceeded(inserted.quota);
  const { row, existed } = inserted;
  if (row.fingerprint !== fingerprint)
    return refuse('IDEMPOTENCY_KEY_CONFLICT', 'sampleId: the sample is stored with another content');
  const data = {
    sampleId,
    receivedAt: new Date(row.receivedAtMs).toISOString(),
    expiresAt: new Date(row.expiresAtMs).toISOString(),
    retentionDays: row.retentionDays,
    policyVersion: row.policyVersion,
  };
  return { ...accept('SAMPLE_STORED', data, row.receivedAtMs), replayed: existed };
}

function quotaExceeded({ usedBytes, maxBytes }: SampleQuota) {
  const message = `the sample does not fit: the organization's samples take ${usedBytes} of ${maxBytes} bytes; space returns as samples expire`;
  return refuse('QUOTA_EXCEEDED', message, {
    members: { usedBytes, maxBytes },
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
