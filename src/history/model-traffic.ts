/**
 * The calls of some models in a period, from D1: their customers, and the usage with its conditions, in every component
 * that a vendor bills. The roll-ups have no cache writes, details or conditions, so the calls themselves are summed:
 * the newest first, in pages by their begin.
 */

import { type SQL, sql } from 'drizzle-orm';
import { type Database, database, prepare } from '../config/database.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import { type NanoUsd, nanoOfParts } from '../domain/money.ts';
import type { PricingMode } from '../domain/pricing.ts';
import { QUANTITY_SCALE } from '../domain/quantity.ts';
import type { Traffic } from '../domain/traffic-cost.ts';
import { type ServiceTier, type Speed, TOKEN_DETAILS, takeUsage } from '../domain/usage.ts';
import type { Env } from '../env.ts';
import { MODEL } from './roll-ups.ts';
import { calls, recordPart } from './schema/index.ts';
import { CALL_LENGTH_MAX_MS } from './unpriced-calls.ts';

/**
 * The most calls of the organization, of any model, that one query passes; slightly more if some began in the same
 * millisecond.
 */
const CALLS_PER_PAGE = 25_000;
/**
 * The most pages of one reading: if an organization has more calls in the period, only the newest 500,000 are summed.
 */
const PAGES_MAX = 20;

export interface TrafficQuery {
  organizationId: OrganizationId;
  fromMs: number;
  toMs: number;
  /** The names of the models in the roll-ups. */
  names: readonly string[];
  /** Sizes of prompts above which some price has other rates. */
  thresholds: readonly number[];
}

export interface Share {
  calls: number;
  costNanoUsd: NanoUsd;
}

/** The calls of one name. */
export interface NameTraffic {
  calls: number;
  /** By the conditions that decide the rates; without the calls in the next two counts. */
  traffic: Map<string, Traffic>;
  /** Calls whose usage was not reported. */
  unreported: number;
  /** Calls whose cached audio and image tokens the vendor does not report separately. */
  untold: number;
  customers: Map<CustomerId, Share>;
  /** Without calls that named no feature. */
  features: Map<string, Share>;
  usagePlanVersionIds: Set<string>;
}

const COUNTS = {
  inputTokens: 'input_tokens',
  cachedInputTokens: 'cached_input_tokens',
  cacheWriteInputTokens: 'cache_write_input_tokens',
  responseTokens: 'response_tokens',
  searches: 'searches',
  ...Object.fromEntries([...TOKEN_DETAILS, 'images', 'characters'].map((name) => [name, `usage ->> '$.${name}'`])),
};
/** Quantities that may have fractions. They are summed as whole thousandths. */
const FRACTIONS = {
  fileSearch: "usage ->> '$.toolUses.fileSearch'",
  codeMinutes: "usage ->> '$.toolUses.codeMinutes'",
  audioSeconds: "usage ->> '$.audioSeconds'",
};
const used = (expression: string) => `COALESCE(${expression}, 0)`;
const ANYTHING_USED = [...Object.values(COUNTS), ...Object.values(FRACTIONS), "usage ->> '$.audio'"]
  .map((expression) => `${used(expression)} > 0`)
  .join(' OR ');
const detail = (name: string) => used(`usage ->> '$.${name}'`);
const AUDIO_AND_IMAGES = `${detail('audioInputTokens')} - ${detail('cachedAudioInputTokens')}
  + ${detail('imageInputTokens')} - ${detail('cachedImageInputTokens')}`;
const TEXT = `${used('input_tokens')} - ${used('cached_input_tokens')} - ${used('cache_write_input_tokens')}`;
/**
 * The evidence in a call about its usage: enough to price it, too little, or none. A call that failed may have used
 * nothing.
 */
const EVIDENCE = `CASE
  WHEN pricing_snapshot_id = 'held' THEN 'unreported'
  WHEN NOT (${ANYTHING_USED}) AND (cost_nano_usd > 0 OR (cost_nano_usd IS NULL AND status = 'COMPLETED')) THEN 'unreported'
  WHEN ${AUDIO_AND_IMAGES} > ${TEXT} THEN 'untold'
  ELSE 'told' END`;
/** Audio whose tokens are not known. */
const UNTOLD_AUDIO = `CASE WHEN ${detail('audioInputTokens')} + ${detail('audioOutputTokens')} = 0 THEN ${detail('audio')} ELSE 0 END`;
const SUMS = sql.raw(
  [
    ...Object.entries(COUNTS).map(([name, expression]) => `TOTAL(${expression}) AS ${name}`),
    ...Object.entries(FRACTIONS).map(
      ([name, expression]) => `TOTAL(ROUND((${expression}) * ${QUANTITY_SCALE})) AS ${name}`,
    ),
    `TOTAL(${UNTOLD_AUDIO}) AS audio`,
  ].join(', '),
);
const CONDITION = (name: string) => `COALESCE(usage ->> '$.${name}', priced ->> '$.${name}', '')`;

type TrafficRow = Record<string, number> & {
  name: string;
  evidence: 'told' | 'untold' | 'unreported';
  mode: PricingMode;
  serviceTier: ServiceTier | '';
  region: string;
  speed: Speed | '';
  promptTokensAbove: number;
  calls: number;
};

interface ShareRow {
  name: string;
  customerId: CustomerId;
  feature: string;
  usagePlanVersionId: string;
  calls: number;
  costUsd: string;
  costRestNanoUsd: string;
}

/** By name; a name without calls is left out. */
export async function readModelTraffic(env: Env, query: TrafficQuery): Promise<Map<string, NameTraffic>> {
  const found = new Map<string, NameTraffic>();
  if (query.names.length === 0) return found;
  const db = await database(env, query.organizationId);
  let beforeMs = query.toMs;
  for (let page = 0; page < PAGES_MAX && beforeMs > query.fromMs - CALL_LENGTH_MAX_MS; page += 1) {
    const sinceMs = await pageStart(db, query, beforeMs);
    const among = amongCalls(query, { sinceMs, beforeMs });
    const [traffic, shares] = await db.$client.batch([
      prepare(db, trafficQuery(query, among)),
      prepare(db, sharesQuery(among)),
    ]);
    for (const row of (traffic?.results ?? []) as TrafficRow[]) addTraffic(trafficOfName(found, row.name), row);
    for (const row of (shares?.results ?? []) as ShareRow[]) addShare(trafficOfName(found, row.name), row);
    beforeMs = sinceMs;
  }
  return found;
}

/**
 * The beginning of a page that ends before an instant: the page has about `CALLS_PER_PAGE` calls, or is the last one.
 */
async function pageStart(db: Database, { organizationId, fromMs }: TrafficQuery, beforeMs: number): Promise<number> {
  const firstMs = fromMs - CALL_LENGTH_MAX_MS;
  const [row] = await db.all<{ startedAtMs: number }>(sql`SELECT started_at_ms AS startedAtMs FROM ${calls}
    WHERE organization_id = ${organizationId} AND started_at_ms >= ${firstMs} AND started_at_ms < ${beforeMs}
    ORDER BY started_at_ms DESC LIMIT 1 OFFSET ${CALLS_PER_PAGE - 1}`);
  return row?.startedAtMs ?? firstMs;
}

/** Calls that count in the roll-ups of the period, found by the index of their begin. */
function amongCalls(
  { organizationId, fromMs, toMs, names }: TrafficQuery,
  { sinceMs, beforeMs }: { sinceMs: number; beforeMs: number },
): SQL {
  return sql`${calls} WHERE organization_id = ${organizationId} AND started_at_ms >= ${sinceMs} AND started_at_ms < ${beforeMs}
    AND COALESCE(finished_at_ms, started_at_ms) >= ${fromMs} AND COALESCE(finished_at_ms, started_at_ms) < ${toMs}
    AND status <> 'IN_PROGRESS' AND reversed_at_ms IS NULL
    AND ${sql.raw(MODEL)} IN (SELECT value FROM json_each(${JSON.stringify(names)}))`;
}

function trafficQuery({ thresholds }: TrafficQuery, among: SQL): SQL {
  return sql`WITH ran AS MATERIALIZED (
      SELECT ${sql.raw(MODEL)} AS name, pricing_mode, status, cost_nano_usd, pricing_snapshot_id, input_tokens, cached_input_tokens,
        cache_write_input_tokens, response_tokens, searches, ${recordPart('usage')} AS usage,
        ${recordPart('conditions')} AS priced
      FROM ${among})
    SELECT name, ${sql.raw(EVIDENCE)} AS evidence, pricing_mode AS mode, COALESCE(usage ->> '$.serviceTier', '') AS serviceTier,
      ${sql.raw(CONDITION('region'))} AS region, COALESCE(usage ->> '$.speed', '') AS speed,
      COALESCE((SELECT MAX(value) FROM json_each(${JSON.stringify(thresholds)}) WHERE value < input_tokens), 0) AS promptTokensAbove,
      COUNT(*) AS calls, ${SUMS}
    FROM ran GROUP BY 1, 2, 3, 4, 5, 6, 7`;
}

function sharesQuery(among: SQL): SQL {
  return sql`SELECT ${sql.raw(MODEL)} AS name, customer_id AS customerId, COALESCE(feature, '') AS feature,
      usage_plan_version_id AS usagePlanVersionId, COUNT(*) AS calls,
      CAST(SUM(COALESCE(cost_nano_usd, 0) / 1000000000) AS TEXT) AS costUsd,
      CAST(SUM(COALESCE(cost_nano_usd, 0) % 1000000000) AS TEXT) AS costRestNanoUsd
    FROM ${among} GROUP BY 1, 2, 3, 4`;
}

function trafficOfName(found: Map<string, NameTraffic>, name: string): NameTraffic {
  const known = found.get(name);
  if (known) return known;
  const created: NameTraffic = {
    ...{ calls: 0, traffic: new Map(), unreported: 0, untold: 0 },
    ...{ customers: new Map(), features: new Map(), usagePlanVersionIds: new Set() },
  };
  found.set(name, created);
  return created;
}

function addTraffic(of: NameTraffic, row: TrafficRow): void {
  const { evidence, mode, serviceTier, region, speed, promptTokensAbove } = row;
  of.calls += row.calls;
  if (evidence === 'unreported') of.unreported += row.calls;
  if (evidence === 'untold') of.untold += row.calls;
  if (evidence !== 'told') return;
  const key = JSON.stringify([mode, serviceTier, region, speed, promptTokensAbove]);
  const earlier = of.traffic.get(key)?.usage;
  const sum = (name: string, before = 0) => before + (row[name] ?? 0);
  const fraction = (name: string, before = 0) =>
    (Math.round(before * QUANTITY_SCALE) + (row[name] ?? 0)) / QUANTITY_SCALE;
  const { usage } = takeUsage({
    inputTokens: sum('inputTokens', earlier?.inputTokens),
    cachedInputTokens: sum('cachedInputTokens', earlier?.cachedInputTokens),
    cacheWriteInputTokens: sum('cacheWriteInputTokens', earlier?.cacheWriteInputTokens),
    responseTokens: sum('responseTokens', earlier?.responseTokens),
    searches: sum('searches', earlier?.searches),
    images: sum('images', earlier?.images),
    characters: sum('characters', earlier?.characters),
    ...Object.fromEntries(TOKEN_DETAILS.map((name) => [name, sum(name, earlier?.[name])])),
    audio: sum('audio', earlier?.audio),
    audioSeconds: fraction('audioSeconds', earlier?.audioSeconds),
    toolUses: {
      fileSearch: fraction('fileSearch', earlier?.toolUses?.fileSearch),
      codeMinutes: fraction('codeMinutes', earlier?.toolUses?.codeMinutes),
    },
    ...(serviceTier !== '' && { serviceTier }),
    ...(region !== '' && { region }),
    ...(speed !== '' && { speed }),
  });
  of.traffic.set(key, { mode, usage, promptTokensAbove });
}

function addShare(of: NameTraffic, row: ShareRow): void {
  const share = { calls: row.calls, costNanoUsd: nanoOfParts(row.costUsd, row.costRestNanoUsd) };
  addTo(of.customers, row.customerId, share);
  if (row.feature !== '') addTo(of.features, row.feature, share);
  of.usagePlanVersionIds.add(row.usagePlanVersionId);
}

/** Adds a share to an entry of a map. */
export function addTo<Key extends string>(
  shares: Map<Key, Share>,
  key: Key,
  { calls: more, costNanoUsd }: Share,
): void {
  const before = shares.get(key);
  shares.set(key, {
    calls: (before?.calls ?? 0) + more,
    costNanoUsd: (before?.costNanoUsd ?? 0n) + costNanoUsd,
  });
}
