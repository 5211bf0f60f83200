/**
 * The operator's event log: who changed what, when, from what to what.
 */
import type { z } from 'zod';
import { type Answer, accept } from '../contract/errors.ts';
import type { OperatorEvent } from '../contract/operator.ts';
import type { Env } from '../env.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { findEvents } from '../storage/events.ts';

export async function listEvents(
  env: Env,
  organizationId: string | undefined,
  page: PageRequest,
): Promise<Answer<Page<z.infer<typeof OperatorEvent>>>> {
  const rows = await findEvents(env, organizationId, page.after, page.limit);
  const items = rows.map(({ atMs, ...row }) => ({ ...row, at: new Date(atMs).toISOString() }));
  return accept(
    'EVENTS_LISTED',
    pageOf(items, page.limit, (item) => item.eventId),
    Date.now(),
  );
}
