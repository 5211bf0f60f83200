/**
 * A projector's delivery: the pages that wait go to D1, a bounded part at a time. Pages that come meanwhile are left to
 * the next delivery, so that they gather again.
 *
 * A part is one D1 transaction (`src/history/projection.ts`): sending it twice, or late, changes nothing, so the
 * delivery may be interrupted anywhere. While D1 answers, pages go there from memory. What it does not take is stored, and
 * the alarm sends what is stored with a capped backoff. A stored part that D1 refuses for its content is halved until one
 * change is refused; that one is set aside, and the others are delivered.
 */

import { namedDatabase } from '../../src/config/database.ts';
import { recordServiceEvent } from '../../src/config/events.ts';
import type { OrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { projectionStatements } from '../../src/history/projection.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import { wakeWatches } from '../../src/objects/watches.ts';
import type { DatabaseName } from '../../src/platform/database-name.ts';
import { errorText, log } from '../../src/platform/log.ts';
import { withTimeout } from '../../src/platform/timeout.ts';
import { PART_LENGTH_MAX } from './pages.ts';
import { refusalReason } from './refusal.ts';
import type { ProjectorStore } from './store.ts';

/** Changes in one D1 transaction. */
const CHANGES_MAX = 2_000;
/** Transactions of one alarm, refused ones included; the next alarm continues. */
const PARTS_MAX = 50;
/** A D1 that does not answer counts as away. */
const D1_TIMEOUT_MS = 15_000;
/** Customers wait while their pages are in memory: what D1 does not have after this is stored. */
const GATHERED_MS_MAX = 3_000;
const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;
/** A customer's refused changes beyond this number are not written to the event log; the list of them is complete. */
const LOGGED_MAX = 100;

export interface DeliveryContext {
  store: ProjectorStore;
  env: Env;
  objectId: string;
  now: () => number;
}

/** A change that was set aside now, for the event log. */
interface Refused {
  page: ProjectionPage;
  reason: string;
}

/** Sends the pages in memory, and answers their customers part by part. What D1 did not take is stored, and the alarm delivers it. */
export async function deliverGathered(context: DeliveryContext): Promise<void> {
  const { store, env, now } = context;
  const { gathered } = store;
  const organizationIds = new Set<OrganizationId>();
  const untilMs = now() + GATHERED_MS_MAX;
  try {
    for (const part of gathered.parts(CHANGES_MAX, PART_LENGTH_MAX)) {
      if (now() >= untilMs) {
        store.storeGathered(now());
        break;
      }
      const { database, sinceMs } = part[0].handOver;
      const pages = part.map(({ handOver }) => JSON.parse(handOver.page) as ProjectionPage);
      await withTimeout(sendPages(env, database, pages, now()), untilMs - now(), 'D1');
      store.delivered(pages, sinceMs, now());
      gathered.answer(part);
      for (const { organizationId } of pages) organizationIds.add(organizationId);
    }
  } catch (error) {
    if (refusalReason(error) === null) noteFailure(context, error);
    store.storeGathered(now());
  }
  await wakeWatches(env, organizationIds, now());
}

async function sendPages(
  env: Env,
  database: DatabaseName,
  pages: readonly ProjectionPage[],
  nowMs: number,
): Promise<void> {
  const db = namedDatabase(env, database).$client;
  const statements = projectionStatements(db, pages, nowMs);
  if (statements.length > 0) await db.batch(statements);
}

/** Returns the number of failures in a row. */
function noteFailure({ store, objectId, now }: DeliveryContext, error: unknown): number {
  const failures = store.delivery.failures + 1;
  store.delivery = { failures, lastError: errorText(error) };
  store.log.deliveryFailed(now());
  log('warn', 'delivery_failed', { objectId, failures }, error);
  return failures;
}

/** Sends what is stored. Never throws for what D1 does: a failure is recorded, and the next attempt is scheduled. */
export async function deliver(context: DeliveryContext): Promise<void> {
  const { store, now } = context;
  const refused: Refused[] = [];
  const organizationIds = new Set<OrganizationId>();
  try {
    const isDone = await deliverParts(context, refused, organizationIds);
    store.delivery = { failures: 0, lastError: null };
    if (!isDone) store.wakeAt(now());
  } catch (error) {
    const failures = noteFailure(context, error);
    store.wakeAt(now() + Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (failures - 1)));
  }
  await logRefused(context, refused);
  await wakeWatches(context.env, organizationIds, now());
}

/**
 * Returns whether everything was sent that waited at the beginning, and notes whose changes D1 has now. Throws where D1 is
 * away.
 */
async function deliverParts(
  { store, env, objectId, now }: DeliveryContext,
  refused: Refused[],
  organizationIds: Set<OrganizationId>,
): Promise<boolean> {
  const lastPlace = store.pages.lastPlace();
  if (lastPlace === 0) return true;
  const database = store.database();
  let changesMax = CHANGES_MAX;
  for (let parts = 0; parts < PARTS_MAX; parts += 1) {
    const part = store.pages.first(lastPlace, changesMax);
    if (part.pages.length === 0) return true;
    const reason = await refusalOf(withTimeout(sendPages(env, database, part.pages, now()), D1_TIMEOUT_MS, 'D1'));
    if (reason === null) {
      store.taken(part, now());
      for (const { organizationId } of part.pages) organizationIds.add(organizationId);
      changesMax = Math.min(CHANGES_MAX, changesMax * 2);
    } else if (part.changes > 1) changesMax = Math.ceil(part.changes / 2);
    else {
      const [page] = part.pages;
      const isNew = store.refused(part, reason, now());
      if (isNew && page && store.setAside.state(page).rows <= LOGGED_MAX) refused.push({ page, reason });
      log('warn', 'change_set_aside', { objectId, kind: page?.changes[0]?.kind, reason });
    }
  }
  return false;
}

/** Why D1 refused what it was sent; `null` where it took it. */
async function refusalOf(delivery: Promise<void>): Promise<string | null> {
  try {
    await delivery;
    return null;
  } catch (error) {
    const reason = refusalReason(error);
    if (reason === null) throw error;
    return reason;
  }
}

/** Best effort: the event log is in the database that refused the rows. */
async function logRefused({ env, objectId, now }: DeliveryContext, refused: readonly Refused[]): Promise<void> {
  try {
    for (const { page, reason } of refused) {
      const { organizationId, customerId, changes } = page;
      const after = { kind: changes[0]?.kind, id: changes[0]?.id, reason };
      const event = {
        action: 'outbox.set_aside' as const,
        organizationId,
        subject: customerId,
        correlationId: objectId,
        after,
      };
      await withTimeout(recordServiceEvent(env, event, now()), D1_TIMEOUT_MS, 'D1');
    }
  } catch (error) {
    log('warn', 'set_aside_not_logged', { objectId }, error);
  }
}
