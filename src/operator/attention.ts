/**
 * The items that need a person's attention, for the first organizations and for the service as a whole: one item for
 * each kind and organization.
 *
 * All readings run at once. A reading that fails is listed as not read, and the others are shown. Counts stop at a
 * bound, so that the cost of the whole does not grow with the number of calls.
 */

import { findDatabaseName } from '../config/database.ts';
import { findEvents } from '../config/events.ts';
import { findWatchedWebhooks } from '../config/webhooks.ts';
import {
  ANOMALIES_DAYS,
  ATTENTION_KINDS,
  ATTENTION_MEANINGS,
  ATTENTION_ORGANIZATIONS_MAX,
  type Attention,
  type AttentionItem,
  type AttentionKind,
  CATALOG_NEWS_DAYS,
  DENIED_HOURS,
  FAILED_CHARGES_DAYS,
  NEAR_LIMIT_SHARE,
  UNPRICED_DAYS,
} from '../contract/attention.ts';
import type { EventType } from '../contract/event-data.ts';
import { RADAR_HORIZON_DAYS } from '../contract/model-radar.ts';
import { operations } from '../contract/operations.ts';
import type { Health, Organization } from '../contract/operator.ts';
import { WEBHOOKS_MAX } from '../contract/webhooks.ts';
import { asOrganizationId, type OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import {
  COUNTED_MAX,
  type Counting,
  countDeniedSince,
  countEventsSince,
  countNearLimit,
  countUnpricedSince,
} from '../history/attention.ts';
import { ask } from '../objects/addresses.ts';
import { webhookEndpoint } from '../objects/webhook-endpoints.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { log } from '../platform/log.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../platform/time.ts';
import { withTimeout } from '../platform/timeout.ts';
import { radarView, readEndingModels } from '../readings/radar/read-radar.ts';
import { checkHealth } from './health.ts';
import { IMPORT_SUBJECT } from './import-events.ts';
import { read } from './operation.ts';
import { findOrganization, noOrganization } from './organization.ts';
import { listOrganizationPage } from './organizations.ts';

/** A slower reading is not awaited. */
const READING_MS_MAX = 3_000;
/** The most webhooks that can exist; each of them is asked. */
const ENDPOINTS_MAX = ATTENTION_ORGANIZATIONS_MAX * WEBHOOKS_MAX;

/**
 * The time since which each kind is counted: the same in every link and count of a minute, and of a day for calls
 * without a price.
 */
function attentionSince(nowMs: number) {
  const minuteMs = nowMs - (nowMs % MINUTE_MS);
  return {
    unpricedMs: nowMs - (nowMs % DAY_MS) - (UNPRICED_DAYS - 1) * DAY_MS,
    deniedMs: minuteMs - DENIED_HOURS * HOUR_MS,
    failedChargesMs: minuteMs - FAILED_CHARGES_DAYS * DAY_MS,
    anomaliesMs: minuteMs - ANOMALIES_DAYS * DAY_MS,
    catalogNewsMs: minuteMs - CATALOG_NEWS_DAYS * DAY_MS,
  };
}

export const readAttention = read(operations.readAttention, async ({ env, defer, query: { organizationId } }) => {
  const nowMs = Date.now();
  const health = checkHealth(env, defer);
  if (organizationId !== undefined) {
    const organization = await findOrganization(env, organizationId);
    if (!organization) return noOrganization();
    return gatherAttention(env, defer, { organizations: [organization], health, nowMs });
  }
  const all = { limit: ATTENTION_ORGANIZATIONS_MAX, after: null };
  const { items: organizations, nextCursor } = await listOrganizationPage(env, all);
  const isMore = nextCursor !== null;
  return gatherAttention(env, defer, { organizations, isMore, health, nowMs });
});

interface Scope {
  organizations: readonly Organization[];
  /** More organizations exist than these. */
  isMore?: boolean;
  health: Promise<Health>;
  nowMs: number;
}

/** A count for an organization, or for the service if that is `null`. */
interface Counted {
  organizationId: OrganizationId | null;
  count: number;
  isMore?: boolean;
}

interface Reading {
  kind: AttentionKind;
  /** Empty means the service as a whole. */
  organizationIds: readonly OrganizationId[];
  read: () => Promise<Counted[]>;
}

/** For a caller that already has the organizations and the health of the service. */
export async function gatherAttention(
  env: Env,
  defer: (work: Promise<unknown>) => void,
  { organizations, isMore = false, health, nowMs }: Scope,
): Promise<Attention> {
  const readings = [
    ...(await organizationReadings(env, defer, organizations, nowMs)),
    ...serviceReadings(env, health, nowMs),
  ];
  const notRead: Attention['notRead'] = [];
  const found = await Promise.all(
    readings.map(async ({ kind, organizationIds, read }) => {
      try {
        const counted = await withTimeout(read(), READING_MS_MAX, kind);
        return counted.filter(({ count }) => count > 0).map((one) => ({ kind, ...one }));
      } catch (error) {
        log('warn', 'attention_not_read', { kind }, error);
        const ids = organizationIds.length === 0 ? [null] : organizationIds;
        notRead.push(...ids.map((organizationId) => ({ kind, organizationId })));
        return [];
      }
    }),
  );
  const names = new Map(organizations.map(({ organizationId, name }) => [organizationId, name]));
  const place = ({ kind, organizationId }: { kind: AttentionKind; organizationId: OrganizationId | null }) =>
    ATTENTION_KINDS.indexOf(kind) * (organizations.length + 1) +
    organizations.findIndex((one) => one.organizationId === organizationId);
  const inOrder = (a: Parameters<typeof place>[0], b: Parameters<typeof place>[0]) => place(a) - place(b);
  return {
    asOf: new Date(nowMs).toISOString(),
    items: found
      .flat()
      .sort(inOrder)
      .map(
        ({ kind, organizationId, count, isMore: more = false }): AttentionItem => ({
          kind,
          organizationId,
          organizationName: organizationId === null ? null : (names.get(organizationId) ?? null),
          count,
          isMore: more,
          meaning: ATTENTION_MEANINGS[kind],
          list: listPath(kind, organizationId ?? asOrganizationId(''), nowMs),
        }),
      ),
    notRead: notRead.sort(inOrder),
    lookedAt: { organizations: organizations.length, isMore, kinds: [...ATTENTION_KINDS] },
  };
}

async function organizationReadings(
  env: Env,
  defer: (work: Promise<unknown>) => void,
  organizations: readonly Organization[],
  nowMs: number,
): Promise<Reading[]> {
  if (organizations.length === 0) return [];
  const since = attentionSince(nowMs);
  const ids = organizations.map(({ organizationId }) => organizationId);
  const named = await Promise.all(ids.map(async (id) => ({ id, database: await findDatabaseName(env, id) })));
  const byDatabase = [...Map.groupBy(named, ({ database }) => database)].map(
    ([database, some]): Counting => ({ database, organizationIds: some.map(({ id }) => id) }),
  );
  const counted = (kind: AttentionKind, count: (of: Counting) => Promise<Map<OrganizationId, number>>): Reading[] =>
    byDatabase.map((of) => ({
      kind,
      organizationIds: of.organizationIds,
      read: async () => [...(await count(of))].map(([organizationId, found]) => bounded(organizationId, found)),
    }));
  const events = (type: EventType, fromMs: number) => (of: Counting) => countEventsSince(env, of, type, fromMs);
  const view = radarView(env, defer, RADAR_HORIZON_DAYS, nowMs);
  return [
    ...counted('UNPRICED_CALLS', (of) => countUnpricedSince(env, of, since.unpricedMs)),
    ...organizations.map(
      (organization): Reading => ({
        kind: 'ENDING_MODELS',
        organizationIds: [organization.organizationId],
        read: async () => {
          const { organizationId } = organization;
          const models = await readEndingModels(env, { organizationId, retention: organization }, (await view).view);
          return [{ organizationId, count: models.length }];
        },
      }),
    ),
    ...counted('CUSTOMERS_NEAR_LIMIT', (of) => countNearLimit(env, of, NEAR_LIMIT_SHARE, nowMs)),
    ...counted('DENIED_CALLS', (of) => countDeniedSince(env, of, since.deniedMs)),
    ...counted('FAILED_CHARGES', events('charge.failed', since.failedChargesMs)),
    ...counted('ANOMALIES', events('anomaly.detected', since.anomaliesMs)),
    { kind: 'FAILING_WEBHOOKS', organizationIds: ids, read: () => readFailingWebhooks(env, ids) },
  ];
}

function bounded(organizationId: OrganizationId, found: number): Counted {
  return { organizationId, count: Math.min(found, COUNTED_MAX), isMore: found > COUNTED_MAX };
}

async function readFailingWebhooks(env: Env, organizationIds: readonly OrganizationId[]): Promise<Counted[]> {
  const webhooks = await findWatchedWebhooks(env, organizationIds, ENDPOINTS_MAX);
  const failing = await Promise.all(
    webhooks.map(async (webhook) => {
      if (!webhook.enabled) return true;
      const { failingSinceMs } = await ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.state());
      return failingSinceMs !== null;
    }),
  );
  return organizationIds.map((organizationId) => ({
    organizationId,
    count: webhooks.filter((webhook, index) => webhook.organizationId === organizationId && failing[index]).length,
  }));
}

/**
 * Readings from the health of the service, which is one reading for all, and from what price and deprecation lists say
 * about the catalog.
 */
function serviceReadings(env: Env, health: Promise<Health>, nowMs: number): Reading[] {
  const count = (kind: AttentionKind, of: (health: Health) => number): Reading => ({
    kind,
    organizationIds: [],
    read: async () => [{ organizationId: null, count: of(await health) }],
  });
  return [
    count('LATE_REPORTS', ({ backlog }) => backlog.customers),
    count('REFUSED_CHANGES', ({ setAside }) => setAside.rows),
    count('LATE_ARCHIVE', ({ archive }) => (archive?.isLate ? archive.days : 0)),
    count('FULL_DATABASES', ({ d1 }) => {
      if (!d1) throw new Error('the sizes of the databases cannot be read');
      return d1.databases.filter(({ isNearlyFull }) => isNearlyFull).length;
    }),
    count('CATALOG', ({ catalog }) => catalog.warnings.length),
    {
      kind: 'CATALOG_NEWS',
      organizationIds: [],
      read: async () => {
        const fromId = eventIdsFrom(attentionSince(nowMs).catalogNewsMs);
        const told = await findEvents(
          env,
          { actions: ['catalog.news'], subject: IMPORT_SUBJECT, fromId },
          'newest',
          COUNTED_MAX,
        );
        return [{ organizationId: null, count: told.length }];
      },
    },
    count('BINDINGS', ({ checks }) => checks.filter(({ ok }) => !ok).length),
  ];
}

/** The path of the operator API that lists the counted objects of an item. */
function listPath(kind: AttentionKind, organizationId: OrganizationId, nowMs: number): string {
  const { unpricedMs, deniedMs, failedChargesMs, anomaliesMs, catalogNewsMs } = attentionSince(nowMs);
  const iso = (atMs: number) => new Date(atMs).toISOString();
  const of = (path: string, query: Record<string, string> = {}) => {
    const asked = new URLSearchParams(query).toString();
    return `/operator/organizations/${organizationId}/${path}${asked && `?${asked}`}`;
  };
  switch (kind) {
    case 'UNPRICED_CALLS':
      return of('calls', { priced: 'false', from: iso(unpricedMs) });
    case 'ENDING_MODELS':
      return of('model-radar', { ending: 'true' });
    case 'CUSTOMERS_NEAR_LIMIT':
      return of('customers', { nearLimit: String(NEAR_LIMIT_SHARE) });
    case 'DENIED_CALLS':
      return of('calls', { status: 'NOT_ALLOWED', from: iso(deniedMs) });
    case 'FAILED_CHARGES':
      return of('events', { type: 'charge.failed', from: iso(failedChargesMs) });
    case 'ANOMALIES':
      return of('events', { type: 'anomaly.detected', from: iso(anomaliesMs) });
    case 'FAILING_WEBHOOKS':
      return of('webhooks');
    case 'CATALOG_NEWS':
      return `/operator/events?${new URLSearchParams({ action: 'catalog.news', from: iso(catalogNewsMs) })}`;
    default:
      return '/operator/health';
  }
}
