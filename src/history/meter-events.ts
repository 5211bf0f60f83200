/**
 * Meter events in D1: those that the customers' objects no longer hold.
 */

import { and, between, eq } from 'drizzle-orm';
import { database } from '../config/database.ts';
import type { MeterEvent } from '../domain/custom-meter.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { MINUTE_MS } from '../platform/time.ts';
import { timeOfId } from '../platform/time-ordered-id.ts';
import { meterEvents } from './schema/index.ts';

/** The clocks of the machines that made the id and recorded the event differ by less. */
const CLOCKS_MS = MINUTE_MS;

/** `null` for an id that no event in D1 has. */
export async function findOldMeterEvent(
  env: Env,
  organizationId: OrganizationId,
  eventId: string,
): Promise<MeterEvent | null> {
  const atMs = timeOfId(eventId);
  if (atMs === null) return null;
  const [row] = await (await database(env, organizationId))
    .select({ record: meterEvents.record })
    .from(meterEvents)
    .where(
      and(
        eq(meterEvents.organizationId, organizationId),
        between(meterEvents.atMs, atMs - CLOCKS_MS, atMs + CLOCKS_MS),
        eq(meterEvents.eventId, eventId),
      ),
    );
  return row ? (row.record as MeterEvent) : null;
}
