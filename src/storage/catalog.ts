/**
 * The catalog in use: the published one from KV, parsed once per isolate, with the built-in copy as the fallback.
 *
 * KV holds an immutable document per version and a pointer to the current one, with the document's SHA-256. The pointer
 * is read again in the background; a request waits for KV only while the isolate has no catalog yet. What is wrong
 * with the catalog in use is its `problem`, which makes every answer from it degraded.
 */

import { BUILT_IN_CATALOG } from '../catalog/built-in.ts';
import type { Catalog } from '../catalog/model.ts';
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
  /** What is wrong with this catalog; `null` where nothing is. */
  problem: string | null;
}

interface Pointer {
  version: string;
  hash: string;
  publishedAtMs: number;
}

const CURRENT_KEY = 'catalog:current';
const documentKey = (version: string) => `catalog:${version}`;

/** The pointer is read again after this time. */
const REFRESH_MS = 10_000;
/** A KV that does not answer counts as failed. */
const KV_TIMEOUT_MS = 2_000;
/** The lifecycles of an older catalog are not reliable. */
const AGE_MAX_DAYS = 90;

interface Held {
  inUse: CatalogInUse;
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

/** The catalog in use, which is read again where the isolate has not looked for a while: nobody waits for it. */
export async function latestCatalog(env: Env): Promise<CatalogInUse> {
  return catalogInMemory(env, Date.now()) ?? refresh(env.KV);
}

/** What a release had, built in or published; `null` where it is no longer kept. */
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
  return hold(env.KV, { catalog, source: 'published', hash: pointer.hash, problem: null });
}

/** Whether a document of this version exists. */
export async function isVersionTaken(env: Env, version: string): Promise<boolean> {
  return version === BUILT_IN_CATALOG.version || (await env.KV.get(documentKey(version))) !== null;
}

async function refresh(kv: KVNamespace): Promise<CatalogInUse> {
  const known = held.value.get(kv)?.inUse;
  const published = known?.source === 'published' ? { ...known, problem: null } : null;
  try {
    const pointer = await withTimeout(kv.get<Pointer>(CURRENT_KEY, 'json'), KV_TIMEOUT_MS, 'KV');
    if (!pointer) return hold(kv, await builtIn(null));
    if (published?.catalog.version === pointer.version && published.hash === pointer.hash) return hold(kv, published);
    const text = await withTimeout(kv.get(documentKey(pointer.version)), KV_TIMEOUT_MS, 'KV');
    if (text === null || (await sha256Hex(text)) !== pointer.hash) {
      const problem = `the published catalog ${pointer.version} ${text === null ? 'is missing' : 'does not match its hash'}`;
      log('error', 'catalog_corrupt', { version: pointer.version });
      return hold(
        kv,
        published ? { ...published, problem } : await builtIn(`${problem}; the built-in catalog is in use`),
      );
    }
    const document = JSON.parse(text) as Pick<Catalog, 'version' | 'models' | 'transitions'>;
    return hold(kv, {
      catalog: { ...document, publishedAtMs: pointer.publishedAtMs },
      source: 'published',
      hash: pointer.hash,
      problem: null,
    });
  } catch (error) {
    log('warn', 'catalog_not_read', {}, error);
    // A published catalog that was read before is still the right one, unless what was read now is not valid.
    const problem = error instanceof SyntaxError ? 'what KV has of the published catalog is not valid JSON' : null;
    return hold(
      kv,
      published
        ? { ...published, problem }
        : await builtIn('the catalog store could not be read; the built-in catalog is in use'),
    );
  }
}

/**
 * Remembers what is in use. The same catalog stays the same object, so that what is derived from it can be cached with
 * it.
 */
function hold(kv: KVNamespace, found: CatalogInUse): CatalogInUse {
  const known = held.value.get(kv)?.inUse;
  const problem = found.problem ?? ageProblem(found.catalog);
  const same = known?.catalog === found.catalog && known.hash === found.hash && known.problem === problem;
  const inUse = same ? known : { ...found, problem };
  held.value.set(kv, { inUse, checkedAtMs: Date.now() });
  return inUse;
}

const builtInHash = remember<string | undefined>(() => undefined);
/** One object, as the built-in catalog is. */
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
