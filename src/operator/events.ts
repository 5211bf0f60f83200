/**
 * The operator's event log: who changed what, when, from what to what.
 */
import { and, desc, eq, lt } from 'drizzle-orm';
import type { z } from 'zod';
import { type Answer, accept } from '../contract/errors.ts';
import type { OperatorEvent } from '../contract/operator.ts';
import type { Env } from '../env.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { database } from '../storage/database.ts';
import { operatorEvents } from '../storage/schema.ts';

export async function listEvents(
  env: Env,
  organizationId: string | undefined,
  page: PageRequest,
): Promise<Answer<Page<z.infer<typeof OperatorEvent>>>> {
  const rows = await database(env.DB)
    .select()
    .from(operatorEvents)
    .where(
      and(
        organizationId === undefined ? undefined : eq(operatorEvents.organizationId, organizationId),
        page.after === null ? undefined : lt(operatorEvents.eventId, page.after),
      ),
    )
    .orderBy(desc(operatorEvents.eventId))
    .limit(page.limit + 1);
  const items = rows.map(({ atMs, ...row }) => ({ ...row, at: new Date(atMs).toISOString() }));
  return accept(
    'EVENTS_LISTED',
    pageOf(items, page.limit, (item) => item.eventId),
    Date.now(),
  );
}
