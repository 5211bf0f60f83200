/**
 * Finds the models that a request names but the caller's API key does not open: in a vendor's own request, which may
 * name them in several places, and in its tools.
 *
 * `model-names.ts` knows the meaning of a name, `contract/key-limits.ts` the words of a refusal. A key without limits
 * costs nothing here.
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

/** The models that a key is limited to, and the refusal of a request for another one. */
export interface ModelLimit {
  open: OpenModels;
  /** `name` as the request has it, `path` of the field that has it. */
  refuse(name: string, path: string): Refused<'MODEL_NOT_ALLOWED'>;
}

/** `null` if the caller's key is not limited to models. */
export function keyModelLimit(
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

/** The models that are mapped to the tiers, without those that the key does not open. */
export function openMappings(
  caller: Pick<Caller, 'organization' | 'limits'>,
  catalog: Catalog,
  nowMs: number,
): TierModels | null {
  const { models } = caller.organization;
  const limit = models && keyModelLimit(caller, catalog, nowMs);
  if (!limit) return models;
  const open = (names: readonly string[]) => names.filter((name) => limit.open.allowsAll(name));
  return { standard: open(models.standard), premium: open(models.premium) };
}

/** The refusal of the first name whose model the key does not open; `null` if all may be used. */
export function closedName(
  caller: Pick<Caller, 'organization' | 'limits'>,
  catalog: Catalog,
  names: readonly unknown[],
  path: string,
): Refused<'MODEL_NOT_ALLOWED'> | null {
  const limit = keyModelLimit(caller, catalog, Date.now());
  const closed = limit && names.find((name) => typeof name !== 'string' || !limit.open.allowsAll(name));
  return limit && closed !== undefined ? limit.refuse(String(closed), path) : null;
}

/**
 * Like `closedName`, for a request in the vendor's form. A request that names no model could run any model, and is
 * refused too unless its method only reads or deletes; so is a request whose body was not read.
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

/** The values that name a model at any vendor: fields of the body, the path, the query, in any spelling. */
function namedModels(url: string, body: VendorRequest['body']): unknown[] {
  const { pathname, searchParams } = new URL(url);
  const segments = decoded(pathname).split('/');
  const inPath = segments.flatMap((segment, at) =>
    /^(?:models?|deployments)$/i.test(segment) ? (segments[at + 1]?.replace(/:[a-z]\w*$/i, '') ?? []) : [],
  );
  // Some vendors ignore the case of letters.
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

/** The models that tools run besides the requested one; OpenAI's `image_generation` names its own. */
export function modelsOfTools(tools: unknown): unknown[] {
  const models = Array.isArray(tools) ? tools.map((tool) => (isRecord(tool) ? tool.model : null)) : [];
  return models.filter((model) => model !== undefined && model !== null);
}
