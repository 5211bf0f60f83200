/**
 * Which models the API key of a caller is not for, of those that a request names outright: of a vendor's own request,
 * which may name them in several places, and of its tools.
 *
 * `model-names.ts` says what a name means, `contract/key-limits.ts` what a refusal says. A key without limits costs
 * nothing here.
 */
import type { Catalog } from '../catalog/model.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { Refused } from '../contract/errors.ts';
import { isRecord } from '../contract/identity.ts';
import { modelNotAllowed } from '../contract/key-limits.ts';
import type { CallRequest } from '../contract/unified-call.ts';
import type { TierModels } from '../domain/model-mappings.ts';
import type { Caller } from './caller.ts';
import { OpenModels } from './model-names.ts';

type VendorRequest = NonNullable<CallRequest['vendor']>;

/** The models that a key is limited to, and how a request for another one is refused. */
export interface ModelLimit {
  open: OpenModels;
  /** `name` as the request has it, `path` of the field that has it. */
  refuse(name: string, path: string): Refused<'MODEL_NOT_ALLOWED'>;
}

/** `null` where the caller's key is limited to no models. */
export function modelLimitOf(
  { organization, limits }: Pick<Caller, 'organization' | 'limits'>,
  catalog: Catalog,
  nowMs: number,
): ModelLimit | null {
  if (!limits?.models) return null;
  return {
    open: new OpenModels(organization, catalog, limits.models, nowMs),
    refuse: (name, path) => modelNotAllowed(limits, name, path),
  };
}

/** The models that are mapped to the tiers, without those that the key is not for. */
export function openMappings(
  caller: Pick<Caller, 'organization' | 'limits'>,
  catalog: Catalog,
  nowMs: number,
): TierModels | null {
  const { models } = caller.organization;
  const limit = models && modelLimitOf(caller, catalog, nowMs);
  if (!limit) return models;
  const open = (names: readonly string[]) => names.filter((name) => limit.open.allowsAll(name));
  return { standard: open(models.standard), premium: open(models.premium) };
}

/** The refusal of the first name that stands for a model that the key is not for; `null` where all may be used. */
export function closedName(
  caller: Pick<Caller, 'organization' | 'limits'>,
  catalog: Catalog,
  names: readonly unknown[],
  path: string,
): Refused<'MODEL_NOT_ALLOWED'> | null {
  const limit = modelLimitOf(caller, catalog, Date.now());
  const closed = limit && names.find((name) => typeof name !== 'string' || !limit.open.allowsAll(name));
  return limit && closed !== undefined ? limit.refuse(String(closed), path) : null;
}

/**
 * As `closedName`, of a request as its vendor gets it. One that names no model may run any, and is refused too, unless its
 * method only reads or deletes; so is one whose body nobody read.
 */
export async function closedVendorRequest(
  caller: Pick<Caller, 'env' | 'organization' | 'limits' | 'defer'>,
  {
    method,
    url,
    body,
    provider,
    isUnread = false,
  }: Pick<VendorRequest, 'url' | 'body' | 'provider'> & { method: string; isUnread?: boolean },
  path: string,
): Promise<Refused<'MODEL_NOT_ALLOWED'> | null> {
  const { env, limits, defer } = caller;
  if (!limits?.models) return null;
  const named = namedModels(url, body);
  if ((named.length === 0 || isUnread) && !RUNNING_NOTHING.includes(method))
    return modelNotAllowed(limits, undefined, path);
  const prefix = provider === undefined ? '' : `${provider.toLowerCase()}/`;
  const names = named.map((name) => (typeof name === 'string' && !name.startsWith(prefix) ? prefix + name : name));
  const { catalog } = await currentCatalog(env, defer);
  return closedName(caller, catalog, names, path) ?? closedName(caller, catalog, modelsOfTools(body?.tools), path);
}

const RUNNING_NOTHING: readonly string[] = ['GET', 'DELETE'];

/** What names a model at any vendor, however it is written: fields of the body, the path, the query. */
function namedModels(url: string, body: VendorRequest['body']): unknown[] {
  const { pathname, searchParams } = new URL(url);
  const segments = decoded(pathname).split('/');
  const inPath = segments.flatMap((segment, at) =>
    /^(?:models?|deployments)$/i.test(segment) ? (segments[at + 1]?.replace(/:[a-z]\w*$/i, '') ?? []) : [],
  );
  // Some vendors do not tell large letters from small ones.
  const members = [...Object.entries(body ?? {}), ...searchParams].filter(([name]) => /^models?$/i.test(name));
  const named = [...members.flatMap(([, value]) => value), ...inPath];
  return named.filter((name) => name !== undefined && name !== null && name !== '');
}

function decoded(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return pathname;
  }
}

/** The models that tools run besides the one that is asked, as OpenAI's `image_generation` names its own. */
export function modelsOfTools(tools: unknown): unknown[] {
  const models = Array.isArray(tools) ? tools.map((tool) => (isRecord(tool) ? tool.model : null)) : [];
  return models.filter((model) => model !== undefined && model !== null);
}
