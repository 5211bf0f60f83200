/**
 * The daily import of an upstream catalog: it is read, merged with the curated one, and published if that is safe.
 *
 * Only a catalog that passes validation and the bound on change is published; any other becomes an operator event, for
 * a person to decide. Without a configured address, the import does not run. A failure changes nothing but the event
 * log.
 */

import { changeBound } from '../catalog/importers/bound.ts';
import { readLiteLlm } from '../catalog/importers/litellm.ts';
import { mergeImport } from '../catalog/importers/merge.ts';
import { readModelsDev } from '../catalog/importers/models-dev.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { Env } from '../env.ts';
import type { CronOutcome } from '../objects/service-figures.ts';
import { errorText, log } from '../platform/log.ts';
import { utcDay } from '../platform/time.ts';
import { publishCatalog } from './catalog.ts';
import type { OperatorRequest } from './change.ts';
import { downloadJson } from './download.ts';
import { importRequest, importRequester, leaveEvent } from './import-events.ts';

const FORMATS = {
  'models.dev': { read: readModelsDev, label: 'models.dev' },
  litellm: { read: readLiteLlm, label: 'LiteLLM' },
} as const;

type Defer = (work: Promise<unknown>) => void;

/**
 * Imports from `CATALOG_UPSTREAM_URL`. The event log also has the problems; this throws only if the log cannot be
 * written.
 */
export async function importUpstream(env: Env, nowMs: number, defer: Defer): Promise<CronOutcome> {
  if (!env.CATALOG_UPSTREAM_URL) return { ok: true, message: 'disabled: CATALOG_UPSTREAM_URL is not set' };
  const request = importRequest(env, 'importUpstream', nowMs);
  try {
    const imported = await importFrom(env, env.CATALOG_UPSTREAM_URL, request, nowMs, defer);
    if (!imported.ok) await leaveEvent(request, 'catalog.upstream_held', { reason: imported.message });
    return imported;
  } catch (error) {
    log('error', 'upstream_import_failed', {}, error);
    await leaveEvent(request, 'catalog.upstream_failed', { reason: errorText(error) });
    return { ok: false, message: errorText(error) };
  }
}

/** Whether the import was published, or had nothing new; otherwise the reason why not. */
async function importFrom(
  env: Env,
  url: string,
  request: OperatorRequest,
  nowMs: number,
  defer: Defer,
): Promise<CronOutcome & { message: string }> {
  const format = FORMATS[env.CATALOG_UPSTREAM_FORMAT ?? 'models.dev'];
  const downloaded = await downloadJson(url);
  if (!downloaded.ok) throw new Error(`the upstream catalog cannot be read: ${downloaded.why}`);
  const upstream = format.read(downloaded.value);
  const { catalog } = await currentCatalog(env, defer);
  const date = utcDay(nowMs);
  const { models, report } = mergeImport(catalog.models, upstream, { sourceLabel: format.label, date });
  const { added, repriced, limits, capabilities } = report;
  if (added.length + repriced.length + limits.length + capabilities.length === 0)
    return { ok: true, message: 'nothing new' };
  const tooMuch = changeBound(report, catalog.models);
  if (tooMuch !== null) return { ok: false, message: tooMuch };
  const body = { models, transitions: [...catalog.transitions] };
  const published = await publishCatalog.run(importRequester(request, defer), {
    params: undefined,
    query: undefined,
    body,
  });
  return published.ok
    ? { ok: true, message: `published ${published.data.version}` }
    : { ok: false, message: published.refusal.message };
}
