/**
 * The catalog, as operators read and publish it.
 *
 * A publication is validated as a whole. Its prices are recorded in D1 before anybody can be charged by them; then the
 * immutable document and the pointer go to KV, and the event comes last. If a publication stops halfway, send it again.
 */
import { diffCatalogs } from '../catalog/diff.ts';
import { statusOn } from '../catalog/lifecycle.ts';
import type { Catalog, CatalogModel, CatalogRates } from '../catalog/model.ts';
import { priceSnapshots } from '../catalog/prices.ts';
import { allReportedEnds } from '../catalog/reported-ends.ts';
import { validateCatalog } from '../catalog/validate.ts';
import { type CatalogInUse, currentCatalog, isVersionTaken, storeCatalog } from '../config/catalog.ts';
import { inForceFromMs, listPriceSnapshots, type PriceSnapshotRow, recordPriceSnapshots } from '../config/prices.ts';
import { type CatalogInfo, REPORTED_ENDS_MAX } from '../contract/catalog.ts';
import { type Complete, complete } from '../contract/complete.ts';
import { refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import type { Env } from '../env.ts';
import { utcDay } from '../platform/time.ts';
import { change, read } from './operation.ts';

/** The most problems that one answer lists. */
const PROBLEMS_SHOWN_MAX = 20;
/** The most releases of one day that get a version of their own. */
const RELEASES_PER_DAY_MAX = 1_000;

export const readCatalog = read(operations.readCatalog, async ({ env, defer }) =>
  presentCatalog(await currentCatalog(env, defer), Date.now()),
);

export interface RecordedPrice extends Pick<PriceSnapshotRow, 'snapshotId' | 'catalogVersion' | 'effectiveFrom'> {
  recordedAtMs: number;
  /** The time at which it came into force. */
  beginMs: number;
  rates: CatalogRates;
}

/** The prices of a model in the catalog so far, in the order in which they came into force, for the console. */
export async function listRecordedPrices(env: Env, modelKey: string): Promise<RecordedPrice[]> {
  const rows = await listPriceSnapshots(env, modelKey);
  return rows.map((row) => ({ ...row, beginMs: inForceFromMs(row), rates: row.rates as CatalogRates }));
}

/** Also publishes the catalog that the daily import has merged. */
export const publishCatalog = change(operations.publishCatalog, {
  action: 'catalog.publish',
  subject: (_, { version }) => version,
  decide: async ({ env, body: document, defer, nowMs }) => {
    const problems = validateCatalog(document);
    if (problems.length > 0) {
      const details = problems
        .slice(0, PROBLEMS_SHOWN_MAX)
        .map(({ modelKey, field, message }) => ({ path: `${modelKey} ${field}`, message }));
      const more = problems.length > details.length ? `; and ${problems.length - details.length} more` : '';
      return refuse('BAD_REQUEST', details.map(({ path, message }) => `${path}: ${message}`).join('; ') + more, {
        members: { details },
      });
    }
    const before = await currentCatalog(env, defer);
    const version = await freeVersion(env, document.version, nowMs);
    if (version === null)
      return refuse('CONFLICT', `version: ${document.version} is published already, and a version never changes`);
    const catalog: Catalog = {
      version,
      publishedAtMs: nowMs,
      models: document.models,
      transitions: document.transitions ?? before.catalog.transitions,
    };
    await recordPriceSnapshots(env, await priceSnapshots(catalog), nowMs);
    const published = await storeCatalog(env, catalog);
    const differences = diffCatalogs(before.catalog, catalog);
    return {
      before: { version: before.catalog.version, hash: before.hash },
      after: { version, hash: published.hash, differences },
      data: { ...presentCatalog(published, nowMs), differences: complete(differences) },
    };
  },
});

/**
 * The version that the document asks for, otherwise the next free one of the day; `null` if the requested one is taken.
 */
async function freeVersion(env: Env, requested: string | undefined, nowMs: number): Promise<string | null> {
  if (requested !== undefined) return (await isVersionTaken(env, requested)) ? null : requested;
  const day = utcDay(nowMs);
  for (let release = 0; release < RELEASES_PER_DAY_MAX; release += 1) {
    const version = release === 0 ? day : `${day}.${release}`;
    if (!(await isVersionTaken(env, version))) return version;
  }
  return null;
}

function presentCatalog({ catalog, source, hash, problem }: CatalogInUse, nowMs: number): Complete<CatalogInfo> {
  const day = utcDay(nowMs);
  const count = (holds: (model: CatalogModel) => boolean) => catalog.models.filter(holds).length;
  const checked = catalog.models.map(({ lifecycle }) => lifecycle.source.checkedAt).sort();
  return {
    version: catalog.version,
    publishedAt: new Date(catalog.publishedAtMs).toISOString(),
    source,
    hash,
    models: catalog.models.length,
    prices: count(({ pricing }) => pricing !== undefined),
    active: count((model) => statusOn(model, day) === 'ACTIVE'),
    deprecated: count((model) => statusOn(model, day) === 'DEPRECATED'),
    retired: count((model) => statusOn(model, day) === 'RETIRED'),
    sourceDates: { oldest: checked[0] ?? day, newest: checked.at(-1) ?? day },
    problem: problem ?? undefined,
    reportedEnds: allReportedEnds(catalog, day).slice(0, REPORTED_ENDS_MAX),
  };
}
