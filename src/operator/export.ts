/**
 * The export of an organization's history: from D1 and the archive alike, one day at a time, as fast as the client
 * reads it.
 */

import type { ExportHistoryQuery } from '../contract/archive.ts';
import { type Answer, accept } from '../contract/errors.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { dayRows } from '../history/archive/day-rows.ts';
import { FOCUS_HEADER, focusLines, type Payer, type Period } from '../history/archive/focus.ts';
import { formatRow } from '../history/archive/members.ts';
import { closedBeforeMs } from '../history/archive/run.ts';
import { DAY_MS } from '../platform/time.ts';
import { exportStream } from './export-stream.ts';
import { findOrganization, noOrganization } from './organization.ts';

export async function exportHistory(
  env: Env,
  organizationId: OrganizationId,
  { format, from, to }: ExportHistoryQuery,
): Promise<Answer<ReadableStream<Uint8Array>, 'HISTORY_EXPORTED', 'NOT_FOUND'>> {
  const organization = await findOrganization(env, organizationId);
  if (!organization) return noOrganization();
  const period = { fromMs: Date.parse(from), toMs: Date.parse(to) };
  const text = format === 'focus' ? focusText(env, organization, period) : jsonText(env, organizationId, period);
  return accept('HISTORY_EXPORTED', await exportStream(text, organizationId), Date.now());
}

async function* jsonText(
  env: Env,
  organizationId: OrganizationId,
  { fromMs, toMs }: Period,
): AsyncGenerator<string, void> {
  for (let dayMs = fromMs; dayMs < toMs; dayMs += DAY_MS)
    for await (const rows of dayRows(env, { organizationId, dayMs })) yield rows.map(formatRow).join('');
}

/** A call counts at its end, and is listed under the day on which it began. */
async function* focusText(env: Env, payer: Payer, period: Period): AsyncGenerator<string, void> {
  yield FOCUS_HEADER;
  const { organizationId } = payer;
  for (let dayMs = closedBeforeMs(env, period.fromMs); dayMs < period.toMs; dayMs += DAY_MS)
    for await (const rows of dayRows(env, { organizationId, dayMs }))
      yield rows.map((row) => focusLines(row, payer, period)).join('');
}
