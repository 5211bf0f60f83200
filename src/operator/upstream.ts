/**
 * The daily import of an upstream catalog: it is read, merged with the curated one, and published where that is safe.
 *
 * Only what passes validation and the bound on change is published; anything else becomes an operator event, for a
 * person to decide. Without a configured address there is no import. A failure changes nothing but the event log.
 */

import { changeBound } from '../catalog/importers/bound.ts';
import { readLiteLlm } from '../catalog/importers/litellm.ts';
import { mergeImport } from '../catalog/importers/merge.ts';
import { readModelsDev } from '../catalog/importers/models-dev.ts';
import type { OperatorAction } from '../contract/operator-actions.ts';
import type { Env } from '../env.ts';
import type { CronOutcome } from '../objects/service-figures.ts';
import { errorText, log } from '../platform/log.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { publishCatalog } from './catalog.ts';
import { commitChange, type OperatorRequest } from './change.ts';

const FORMATS = {
  'models.dev': { read: readModelsDev, label: 'models.dev' },
  litellm: { read: readLiteLlm, label: 'LiteLLM' },
} as const;

const FETCH_TIMEOUT_MS = 30_000;
/** A larger file is not accepted as a catalog. */
const BYTES_MAX = 20 * 1024 * 1024;
/** For the event log. */
const ACTOR = 'upstream import';

type Defer = (work: Promise<unknown>) => void;

/** Imports from `CATALOG_UPSTREAM_URL`. What went wrong is in the event log too; it throws only where that cannot be written. */
export async function importUpstream(env: Env, nowMs: number, defer: Defer): Promise<CronOutcome> {
  if (!env.CATALOG_UPSTREAM_URL) return { ok: true, message: 'switched off: CATALOG_UPSTREAM_URL is not set' };
  const request = requestOf(env, `upstream-${new Date(nowMs).toISOString()}`);
  try {
    const imported = await importFrom(env, env.CATALOG_UPSTREAM_URL, request, nowMs, defer);
    if (!imported.ok) await leaveEvent(request, 'catalog.upstream_held', imported.message);
    return imported;
  } catch (error) {
    log('error', 'upstream_import_failed', {}, error);
    await leaveEvent(request, 'catalog.upstream_failed', errorText(error));
    return { ok: false, message: errorText(error) };
  }
}

/** Whether the import was published, or had nothing new; else why not. */
async function importFrom(
  env: Env,
  url: string,
  request: OperatorRequest,
  nowMs: number,
  defer: Defer,
): Promise<CronOutcome & { message: string }> {
  const format = FORMATS[env.CATALOG_UPSTREAM_FORMAT ?? 'models.dev'];
  const upstream = format.read(JSON.parse(await download(url)));
  const { catalog } = await currentCatalog(env, defer);
  const date = new Date(nowMs).toISOString().slice(0, 'yyyy-mm-dd'.length);
  const { models, report } = mergeImport(catalog.models, upstream, { sourceLabel: format.label, date });
  const { added, repriced, limits, capabilities } = report;
  if (added.length + repriced.length + limits.length + capabilities.length === 0)
    return { ok: true, message: 'nothing new' };
  const tooMuch = changeBound(report, catalog.models);
  if (tooMuch !== null) return { ok: false, message: tooMuch };
  const published = await publishCatalog(request, { models, transitions: [...catalog.transitions] }, defer);
  return published.ok
    ? { ok: true, message: `published ${published.data.version}` }
    : { ok: false, message: published.refusal.message };
}

async function download(url: string): Promise<string> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    headers: { Accept: 'application/json' },
  });
  if (!response.ok) throw new Error(`the upstream catalog answered ${response.status}`);
  if (Number(response.headers.get('Content-Length') ?? 0) > BYTES_MAX)
    throw new Error(`the upstream catalog has more than ${BYTES_MAX} bytes`);
  const text = await response.text();
  if (text.length > BYTES_MAX) throw new Error(`the upstream catalog has more than ${BYTES_MAX} characters`);
  return text;
}

function requestOf(env: Env, correlationId: string): OperatorRequest {
  return { env, actor: ACTOR, correlationId, idempotencyKey: null, operationId: 'importUpstream', input: null };
}

async function leaveEvent(request: OperatorRequest, action: OperatorAction, reason: string): Promise<void> {
  await commitChange(request, async () => ({
    action,
    organizationId: null,
    subject: 'catalog',
    before: null,
    after: { reason },
    statements: [],
    replaces: false,
    code: 'EVENT_LEFT',
    data: null,
  }));
}
