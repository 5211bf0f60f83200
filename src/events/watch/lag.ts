/**
 * Reports once that changes of the organization wait too long in its database's projectors. It reports again only after
 * none waited.
 */

import { findDatabaseName } from '../../config/database.ts';
import { projectorState } from '../../objects/projectors.ts';
import { MINUTE_MS } from '../../platform/time.ts';
import { type Look, memoryKey, type News, NO_NEWS } from './look.ts';

/** Deliveries take about a second; health shows changes that wait longer than five seconds. */
export const LAG_MS = 5 * MINUTE_MS;

const LAGGING = memoryKey('lagging');

export async function lagNews({ env, organizationId, nowMs, memory }: Look): Promise<News> {
  const database = await findDatabaseName(env, organizationId);
  const { waiting } = await projectorState(env, [database], { organizationId });
  const isTold = memory.get(LAGGING) !== null;
  if (waiting.oldestMs === null || waiting.oldestMs > nowMs - LAG_MS) return isTold ? { forget: [LAGGING] } : NO_NEWS;
  if (isTold) return NO_NEWS;
  const waitingSince = new Date(waiting.oldestMs).toISOString();
  return {
    events: [{ type: 'projection.lagging', atMs: nowMs, data: { waitingSince, changes: waiting.changes } }],
    remember: [{ key: LAGGING, value: waitingSince, untilMs: null }],
  };
}
