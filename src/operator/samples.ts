/**
 * Stored samples: operators list, read, export and delete them.
 */

import { complete } from '../contract/complete.ts';
import { type Answer, accept, badRequest, refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import type { Sample, SampleFilter, SampleListItem, SampleSelection } from '../contract/samples.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import {
  findSample,
  findSamples,
  readPayloads,
  deleteSample as removeSample,
  type SamplePlace,
  type SampleRow,
} from '../history/samples.ts';
import { makePage } from '../platform/page.ts';
import { exportStream } from './export-stream.ts';
import { change, list, read } from './operation.ts';
import { findOrganization, noOrganization } from './organization.ts';

/** The rows of samples that an export holds at a time. */
const EXPORT_ROWS = 100;

const noSample = () => refuse('NOT_FOUND', 'no such sample');

export const listSamples = list(operations.listSamples, async ({ env, params, query, page: { after, limit } }) => {
  const place = after === null ? null : parseSamplePlace(after);
  if (after !== null && !place)
    return badRequest({ path: 'cursor', message: 'must be the nextCursor of an earlier page' });
  const nowMs = Date.now();
  const rows = await findSamples(env, params.org, selectSamples(query), {
    order: 'newest',
    after: place,
    limit,
    nowMs,
  });
  const page = makePage(rows, limit, ({ receivedAtMs, sampleId }) => `${receivedAtMs} ${sampleId}`);
  return { ...page, items: page.items.map(present) };
});

/** The position that a cursor stands for; no sample's id contains a space. */
function parseSamplePlace(cursor: string): SamplePlace | null {
  const [, at, sampleId] = /^(\d{1,15}) (\S+)$/.exec(cursor) ?? [];
  return at === undefined || sampleId === undefined ? null : { receivedAtMs: Number(at), sampleId };
}

export const readSample = read(operations.readSample, async ({ env, params: { org, sampleId } }) => {
  const row = await findSample(env, org, sampleId, Date.now());
  return row ? { ...present(row), ...complete(JSON.parse(row.payload) as Sample) } : noSample();
});

/**
 * One line of JSON per sample. Rows and payloads are read as fast as the client reads the answer, a bounded part at a
 * time.
 */
export async function exportSamples(
  env: Env,
  organizationId: OrganizationId,
  query: SampleFilter,
): Promise<Answer<ReadableStream<Uint8Array>, 'SAMPLES_EXPORTED', 'NOT_FOUND'>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const nowMs = Date.now();
  const lines = exportLines(env, organizationId, selectSamples(query), nowMs);
  return accept('SAMPLES_EXPORTED', await exportStream(lines, organizationId), nowMs);
}

async function* exportLines(
  env: Env,
  organizationId: OrganizationId,
  filter: SampleSelection,
  nowMs: number,
): AsyncGenerator<string, void> {
  let after: SamplePlace | null = null;
  for (;;) {
    const rows: SampleRow[] = await findSamples(env, organizationId, filter, {
      order: 'newest',
      after,
      limit: EXPORT_ROWS,
      nowMs,
    });
    for (let from = 0; from < rows.length; ) {
      const { read, samples: some } = await readPayloads(env, organizationId, rows.slice(from));
      // The payload is an object with at least `input`; it passes on unread.
      for (const { row, payload } of some) yield `${JSON.stringify(present(row)).slice(0, -1)},${payload.slice(1)}\n`;
      from += read;
    }
    after = rows.at(-1) ?? null;
    if (after === null) return;
  }
}

/** The event records that the sample existed, and none of its content. */
export const deleteSample = change(operations.deleteSample, {
  action: 'sample.delete',
  subject: ({ params }) => params.sampleId,
  decide: async ({ env, params: { org, sampleId }, nowMs }) => {
    const row = await findSample(env, org, sampleId, nowMs);
    if (!row) return noSample();
    const { receivedAt, expiresAt, payloadBytes } = present(row);
    // The sample may be in another database than the event.
    await removeSample(env, org, sampleId);
    return { before: { receivedAt, expiresAt, payloadBytes }, after: null, data: { sampleId } };
  },
});

function selectSamples({ from, to, customerId, feature, provider, model, environment }: SampleFilter): SampleSelection {
  const at = (instant: string | undefined) => (instant === undefined ? undefined : Date.parse(instant));
  return { customerId, feature, provider, model, environment, fromMs: at(from), toMs: at(to) };
}

function present(row: SampleRow): SampleListItem {
  return {
    sampleId: row.sampleId,
    receivedAt: new Date(row.receivedAtMs).toISOString(),
    expiresAt: new Date(row.expiresAtMs).toISOString(),
    retentionDays: row.retentionDays,
    policyVersion: row.policyVersion,
    decisionId: row.decisionId,
    decisionPolicyVersion: row.decisionPolicyVersion,
    customerId: row.customerId,
    feature: row.feature,
    environment: row.environment,
    tags: row.tags,
    provider: row.provider,
    model: row.model,
    latencyMs: row.latencyMs,
    payloadBytes: row.payloadBytes,
  };
}
