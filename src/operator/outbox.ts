/**
 * Changes that D1 refused: operators list them, and send them again. The projectors hold these changes.
 */

import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { ResentOutbox, SetAsideChange } from '../contract/outbox.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { ask } from '../objects/addresses.ts';
import { projectorsOf } from '../objects/projectors.ts';
import { cursorOf, type Page, type PageRequest } from '../platform/page.ts';
import { databaseNameOf } from '../storage/database.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

/** A place in the list: a projector, and the last of its changes that was listed. */
interface Place {
  projector: number;
  place: number;
}

export async function listOutbox(
  env: Env,
  organizationId: OrganizationId,
  { after, limit }: PageRequest,
): Promise<Answer<Page<SetAsideChange>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const from = after === null ? { projector: 0, place: 0 } : placeOf(after);
  if (!from) {
    const message = 'must be the nextCursor of an earlier page';
    return refuse('BAD_REQUEST', `cursor: ${message}`, { members: { details: [{ path: 'cursor', message }] } });
  }
  const items: SetAsideChange[] = [];
  let last: Place | null = null;
  const database = await databaseNameOf(env, organizationId);
  for (const [projector, address] of projectorsOf(env, database).entries()) {
    if (projector < from.projector) continue;
    const afterPlace = projector === from.projector ? from.place : 0;
    // One more than is shown tells whether there are more.
    const rowsMax = limit - items.length + 1;
    const changes = await ask(address, (object) => object.listSetAside(organizationId, afterPlace, rowsMax));
    for (const { place, customerId, kind, id, atMs, reason } of changes) {
      if (items.length === limit) return listed({ items, nextCursor: last && cursorAt(last) });
      items.push({ customerId, kind, id, setAsideAt: new Date(atMs).toISOString(), reason });
      last = { projector, place };
    }
  }
  return listed({ items, nextCursor: null });
}

/**
 * Sends all changes of the organization's customers again that D1 refused. What is refused again is set aside again.
 */
export function resendOutbox(request: OperatorRequest, organizationId: OrganizationId): Promise<Answer<ResentOutbox>> {
  return commitChange<ResentOutbox>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const code = 'OUTBOX_RESENT';
    const database = await databaseNameOf(request.env, organizationId);
    const resent = await Promise.all(
      projectorsOf(request.env, database).map((address) =>
        ask(address, (object) => object.resendSetAside(organizationId)),
      ),
    );
    const data = {
      rows: resent.reduce((sum, { rows }) => sum + rows, 0),
      customers: new Set(resent.flatMap(({ customerIds }) => customerIds)).size,
      more: resent.some(({ more }) => more),
    };
    if (data.rows === 0) return accept(code, data, nowMs);
    return {
      action: 'outbox.resend',
      organizationId,
      subject: organizationId,
      before: null,
      after: data,
      statements: [],
      replaces: false,
      code,
      data,
    };
  });
}

function listed(page: Page<SetAsideChange>): Answer<Page<SetAsideChange>> {
  return accept('OUTBOX_LISTED', page, Date.now());
}

function cursorAt({ projector, place }: Place): string {
  return cursorOf(`${projector} ${place}`);
}

function placeOf(cursor: string): Place | null {
  const [, projector, place] = /^(\d{1,3}) (\d{1,15})$/.exec(cursor) ?? [];
  return projector === undefined ? null : { projector: Number(projector), place: Number(place) };
}
