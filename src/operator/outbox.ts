/**
 * Changes that D1 refused: operators list them, and send them again. The projectors hold these changes.
 */

import { findDatabaseName } from '../config/database.ts';
import { badRequest } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import type { SetAsideChange } from '../contract/outbox.ts';
import { ask } from '../objects/addresses.ts';
import { listProjectors } from '../objects/projectors.ts';
import { encodeCursor } from '../platform/page.ts';
import { change, list } from './operation.ts';

/** A position in the list: a projector, and the last of its changes that was listed. */
interface Place {
  projector: number;
  place: number;
}

export const listOutbox = list(operations.listOutbox, async ({ env, params: { org }, page: { after, limit } }) => {
  const from = after === null ? { projector: 0, place: 0 } : parseCursor(after);
  if (!from) return badRequest({ path: 'cursor', message: 'must be the nextCursor of an earlier page' });
  const items: SetAsideChange[] = [];
  let last: Place | null = null;
  const database = await findDatabaseName(env, org);
  for (const [projector, address] of listProjectors(env, database).entries()) {
    if (projector < from.projector) continue;
    const afterPlace = projector === from.projector ? from.place : 0;
    // One more than is shown, to know whether more exist.
    const rowsMax = limit - items.length + 1;
    const changes = await ask(address, (object) => object.listSetAside(org, afterPlace, rowsMax));
    for (const { place, customerId, kind, id, atMs, reason } of changes) {
      if (items.length === limit) return { items, nextCursor: last && cursorAt(last) };
      items.push({ customerId, kind, id, setAsideAt: new Date(atMs).toISOString(), reason });
      last = { projector, place };
    }
  }
  return { items, nextCursor: null };
});

/**
 * Sends all changes of the organization's customers that D1 refused again. A change that is refused again is set aside
 * again.
 */
export const resendOutbox = change(operations.resendOutbox, {
  action: 'outbox.resend',
  subject: ({ organization }) => organization.organizationId,
  decide: async ({ env, params: { org } }) => {
    const database = await findDatabaseName(env, org);
    const resent = await Promise.all(
      listProjectors(env, database).map((address) => ask(address, (object) => object.resendSetAside(org))),
    );
    const data = {
      rows: resent.reduce((sum, { rows }) => sum + rows, 0),
      customers: new Set(resent.flatMap(({ customerIds }) => customerIds)).size,
      more: resent.some(({ more }) => more),
    };
    return data.rows === 0 ? { unchanged: data } : { before: null, after: data, data };
  },
});

function cursorAt({ projector, place }: Place): string {
  return encodeCursor(`${projector} ${place}`);
}

function parseCursor(cursor: string): Place | null {
  const [, projector, place] = /^(\d{1,3}) (\d{1,15})$/.exec(cursor) ?? [];
  return projector === undefined ? null : { projector: Number(projector), place: Number(place) };
}
