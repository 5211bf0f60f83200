/**
 * The catalog in use: the published one from KV, parsed once per isolate, with the built-in copy as the fallback.
 *
 * KV holds an immutable document per version and a pointer to the current one, with the document's SHA-256. The pointer
 * is read again in the background; a request waits for KV only while the isolate has no catalog yet. A defect of the
 * catalog in use is its `problem`, which makes every answer from it degraded.
 *
 * KV also holds the shutdown dates that lists report. If they cannot be read, the earlier ones stay, and nothing is
 * degraded: they decide nothing.
 */

import { BUILT_IN_CATALOG } from '../catalog/built-in.ts';
import type { Catalog } from '../catalog/model.ts';
import type { SourceFacts } from '../catalog/news.ts';
import { withReportedEnds } from '../catalog/reported-ends.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Env } from '../env.ts';
import { sha256Hex } from '../platform/hash.ts';
import { remember } from '../platform/isolate-memory.ts';
import { log } from '../platform/log.ts';
import { DAY_MS } from '../platform/time.ts';
import { withTimeout } from '../platform/timeout.ts';

export interface CatalogInUse {
  catalog: Catalog;
  source: 'built-in' | 'published';
  /** SHA-256 of the document. */
  hash: string;
  /** The defect of this catalog; `null` if it has none. */
  problem: string | null;
}

interface Pointer {
  version: string;
  hash: string;
  publishedAtMs: number;
}

/** The shutdown dates of a list that the catalog lacks. */
export interface ReportingList {
  /** The whole address. Its query may be a secret, so it is never shown. */
  address: string;
  facts: SourceFacts[];
}

const CURRENT_KEY = 'catalog:current';
const REPORTED_KEY = 'reported-ends';
const documentKey = (version: string) => `catalog:${version}`;

/** The pointer is read again after this time. */
const REFRESH_MS = 10_000;
/** A KV that does not answer counts as failed. */
const KV_TIMEOUT_MS = 2_000;
const NONE_REPORTED = '[]';
/** The lifecycles of an older catalog are not reliable. */
const AGE_MAX_DAYS = 90;

interface Held {
  inUse: CatalogInUse;
  /** The catalog as it was released, without the reports of lists. */
  released: Catalog;
  /** The reports of lists, as KV has them. */
  reported: string;
  checkedAtMs: number;
}

/** One per KV binding, so in production one per isolate. */
const held = remember(() => new WeakMap<KVNamespace, Held>());

/** The catalog in use. `defer` keeps the background refresh alive beyond the request. */
export async function currentCatalog(env: Env, defer: (work: Promise<unknown>) => void): Promise<CatalogInUse> {
  const known = held.value.get(env.KV);
  if (!known) return refresh(env.KV);
  if (Date.now() - known.checkedAtMs >= REFRESH_MS) {
    known.checkedAtMs = Date.now();
    defer(refresh(env.KV));
  }
  return known.inUse;
}

/** The catalog in use if this isolate has read it recently; `null` otherwise. */
export function catalogInMemory(env: Env, nowMs: number): CatalogInUse | null {
  const known = held.value.get(env.KV);
  return known && nowMs - known.checkedAtMs < REFRESH_MS ? known.inUse : null;
}

/** The catalog in use. It is read again if the isolate has not looked for a while, and no request waits for that. */
export async function latestCatalog(env: Env): Promise<CatalogInUse> {
  return catalogInMemory(env, Date.now()) ?? refresh(env.KV);
}

/** The contents of a release, built in or published; `null` if it is no longer kept. */
export async function readRelease(env: Env, version: string): Promise<Pick<Catalog, 'models' | 'transitions'> | null> {
  if (version === BUILT_IN_CATALOG.version) return BUILT_IN_CATALOG;
  const text = await withTimeout(env.KV.get(documentKey(version)), KV_TIMEOUT_MS, 'KV');
  return text === null ? null : (JSON.parse(text) as Pick<Catalog, 'models' | 'transitions'>);
}

/** Stores a document and makes it the current one. The document of a version never changes. */
export async function storeCatalog(env: Env, catalog: Catalog): Promise<CatalogInUse> {
  const text = JSON.stringify({ version: catalog.version, models: catalog.models, transitions: catalog.transitions });
  const pointer: Pointer = {
    version: catalog.version,
    hash: await sha256Hex(text),
    publishedAtMs: catalog.publishedAtMs,
  };
  await env.KV.put(documentKey(catalog.version), text);
  await env.KV.put(CURRENT_KEY, JSON.stringify(pointer));
  const reported = held.value.get(env.KV)?.reported ?? NONE_REPORTED;
  return hold(env.KV, { catalog, source: 'published', hash: pointer.hash, problem: null }, reported);
}

/** The reports of lists at the last read. */
export async function readReportingLists(env: Env): Promise<ReportingList[]> {
  return JSON.parse(await readReported(env.KV)) as ReportingList[];
}

export async function storeReportingLists(env: Env, lists: readonly ReportingList[]): Promise<void> {
  const reported = JSON.stringify(lists);
  await env.KV.put(REPORTED_KEY, reported);
  const known = held.value.get(env.KV);
  if (known) hold(env.KV, { ...known.inUse, catalog: known.released }, reported);
}

/** Throws if KV has an invalid value. */
async function readReported(kv: KVNamespace): Promise<string> {
  const text = (await withTimeout(kv.get(REPORTED_KEY), KV_TIMEOUT_MS, 'KV')) ?? NONE_REPORTED;
  if (!Array.isArray(JSON.parse(text))) throw new Error('what KV has of reported ends is no list');
  return text;
}

/** Whether a document of this version exists. */
export async function isVersionTaken(env: Env, version: string): Promise<boolean> {
  return version === BUILT_IN_CATALOG.version || (await env.KV.get(documentKey(version))) !== null;
}

async function refresh(kv: KVNamespace): Promise<CatalogInUse> {
  const known = held.value.get(kv);
  const published =
    known?.inUse.source === 'published' ? { ...known.inUse, catalog: known.released, problem: null } : null;
  const earlier = known?.reported ?? NONE_REPORTED;
  const reading = readReported(kv).catch((error: unknown) => {
    log('warn', 'reported_ends_not_read', {}, error);
    return earlier;
  });
  try {
    const pointer = await withTimeout(kv.get<Pointer>(CURRENT_KEY, 'json'), KV_TIMEOUT_MS, 'KV');
    const reported = await reading;
    if (!pointer) return hold(kv, await builtIn(null), reported);
    if (published?.catalog.version === pointer.version && published.hash === pointer.hash)
      return hold(kv, published, reported);
    const text = await withTimeout(kv.get(documentKey(pointer.version)), KV_TIMEOUT_MS, 'KV');
    if (text === null || (await sha256Hex(text)) !== pointer.hash) {
      const problem = `the published catalog ${pointer.version} ${text === null ? 'is missing' : 'does not match its hash'}`;
      log('error', 'catalog_corrupt', { version: pointer.version });
      return hold(
        kv,
        published ? { ...published, problem } : await builtIn(`${problem}; the built-in catalog is in use`),
        reported,
      );
    }
    const document = JSON.parse(text) as Pick<Catalog, 'version' | 'models' | 'transitions'>;
    const catalog = { ...document, publishedAtMs: pointer.publishedAtMs };
    return hold(kv, { catalog, source: 'published', hash: pointer.hash, problem: null }, reported);
  } catch (error) {
    log('warn', 'catalog_not_read', {}, error);
    // A published catalog that was read before stays in use, unless the new one is not valid.
    const problem = error instanceof SyntaxError ? 'what KV has of the published catalog is not valid JSON' : null;
    return hold(
      kv,
      published
        ? { ...published, problem }
        : await builtIn('the catalog store could not be read; the built-in catalog is in use'),
      await reading,
    );
  }
}

/**
 * Remembers the catalog in use. The same catalog stays the same object, so values derived from it can be cached with
 * it.
 */
function hold(kv: KVNamespace, found: CatalogInUse, reported: string): CatalogInUse {
  const known = held.value.get(kv);
  const problem = found.problem ?? ageProblem(found.catalog);
  const same =
    known?.released === found.catalog &&
    known.reported === reported &&
    known.inUse.hash === found.hash &&
    known.inUse.problem === problem;
  const inUse = same ? known.inUse : { ...found, catalog: withReports(found.catalog, reported), problem };
  held.value.set(kv, { inUse, released: found.catalog, reported, checkedAtMs: Date.now() });
  return inUse;
}

function withReports(catalog: Catalog, reported: string): Catalog {
  const lists = JSON.parse(reported) as ReportingList[];
  return withReportedEnds(
    catalog,
    lists.flatMap(({ facts }) => facts),
  );
}

const builtInHash = remember<string | undefined>(() => undefined);
/** One object, like the built-in catalog. */
const STAND_IN: Catalog = { ...BUILT_IN_CATALOG, standsIn: true };

async function builtIn(problem: string | null): Promise<CatalogInUse> {
  builtInHash.value ??= await sha256Hex(
    canonicalJson({ models: BUILT_IN_CATALOG.models, transitions: BUILT_IN_CATALOG.transitions }),
  );
  return {
    catalog: problem === null ? BUILT_IN_CATALOG : STAND_IN,
    source: 'built-in',
    hash: builtInHash.value,
    problem,
  };
}

function ageProblem({ publishedAtMs }: Catalog): string | null {
  const ageDays = Math.floor((Date.now() - publishedAtMs) / DAY_MS);
  return ageDays > AGE_MAX_DAYS ? `the catalog is ${ageDays} days old` : null;
}
