/**
 * Changes that D1 refused: operators list them, and send them again.
 *
 * The customers' objects hold these changes. Which objects have some is read from their announcements in KV, which may
 * be a minute behind.
 */
import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { ResentOutbox, SetAsideChange } from '../contract/outbox.ts';
import type { Env } from '../env.ts';
import { ask, customerById } from '../objects/addresses.ts';
import { cursorOf, type Page, type PageRequest } from '../platform/page.ts';
import { findSetAside } from '../storage/backlog.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

/** Objects that one request calls, and how many of them at the same time. */
const OBJECTS_MAX = 500;
const OBJECTS_AT_ONCE = 20;

/** A place in the list: an object, and the last of its changes that was listed. */
interface Place {
  objectId: string;
  place: number;
}

export async function listOutbox(
  env: Env,
  organizationId: string,
  { after, limit }: PageRequest,
): Promise<Answer<Page<SetAsideChange>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const from = after === null ? { objectId: '', place: 0 } : placeOf(after);
  if (!from) {
    const message = 'must be the nextCursor of an earlier page';
    return refuse('BAD_REQUEST', `cursor: ${message}`, { members: { details: [{ path: 'cursor', message }] } });
  }
  const left = (await findSetAside(env, organizationId)).filter((objectId) => objectId >= from.objectId);
  const items: SetAsideChange[] = [];
  let last: Place | null = null;
  for (const objectId of left.slice(0, OBJECTS_MAX)) {
    const afterPlace = objectId === from.objectId ? from.place : 0;
    // One more than is shown tells whether there are more.
    const changes = await readSetAside(env, organizationId, objectId, afterPlace, limit - items.length + 1);
    for (const { place, item } of changes) {
      if (items.length === limit) return listed({ items, nextCursor: last && cursorAt(last) });
      items.push(item);
      last = { objectId, place };
    }
  }
  const unread = left[OBJECTS_MAX];
  return listed({ items, nextCursor: unread === undefined ? null : cursorAt({ objectId: unread, place: 0 }) });
}

/**
 * Queues all changes of the organization's customers again that D1 refused. What is refused again is set aside again.
 */
export function resendOutbox(request: OperatorRequest, organizationId: string): Promise<Answer<ResentOutbox>> {
  return commitChange<ResentOutbox>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const code = 'OUTBOX_RESENT';
    const objectIds = await findSetAside(request.env, organizationId);
    const counts: number[] = [];
    for (let at = 0; at < Math.min(objectIds.length, OBJECTS_MAX); at += OBJECTS_AT_ONCE) {
      const some = objectIds.slice(at, Math.min(at + OBJECTS_AT_ONCE, OBJECTS_MAX));
      counts.push(...(await Promise.all(some.map((objectId) => resend(request.env, organizationId, objectId)))));
    }
    const data = {
      rows: counts.reduce((sum, count) => sum + count, 0),
      customers: counts.filter((count) => count > 0).length,
      more: objectIds.length > OBJECTS_MAX,
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

async function resend(env: Env, organizationId: string, objectId: string): Promise<number> {
  const address = customerById(env, objectId);
  return address ? ask(address, (customer) => customer.resendSetAside(organizationId)) : 0;
}

async function readSetAside(env: Env, organizationId: string, objectId: string, afterPlace: number, rowsMax: number) {
  const address = customerById(env, objectId);
  const found =
    address && (await ask(address, (customer) => customer.listSetAside({ organizationId, afterPlace, rowsMax })));
  if (!found) return [];
  const { customerId, changes } = found;
  return changes.map(({ place, kind, id, atMs, reason }) => ({
    place,
    item: { customerId, kind, id, setAsideAt: new Date(atMs).toISOString(), reason },
  }));
}

function listed(page: Page<SetAsideChange>): Answer<Page<SetAsideChange>> {
  return accept('OUTBOX_LISTED', page, Date.now());
}

function cursorAt({ objectId, place }: Place): string {
  return cursorOf(`${objectId} ${place}`);
}

function placeOf(cursor: string): Place | null {
  const [, objectId, place] = /^([0-9a-f]{64}) (\d{1,15})$/.exec(cursor) ?? [];
  return objectId === undefined ? null : { objectId, place: Number(place) };
}
