/**
 * Use case: a request to a path of a vendor that its operator has opened, as `/v1/passthrough/{provider}/<path>`.
 *
 * `domain/open-paths.ts` decides the destination from the URL parser's result for the whole address, vendor included.
 * The request is a call like any other: admitted, carried out once, and ended with the usage that its answer reports.
 */
import type { z } from 'zod';
import { currentCatalog } from '../config/catalog.ts';
import type { OpenPathRequest } from '../contract/gateway/requests.ts';
import { openTarget } from '../domain/open-paths.ts';
import type { Caller } from '../metering/caller.ts';
import { closedVendorRequest } from '../metering/key-limits.ts';
import type { VendorRequest } from '../vendors/request.ts';
import type { ModelCall } from './admitted-call.ts';
import type { GatewayAnswer } from './answer.ts';
import { admitAndRun } from './call.ts';
import { type OpenPath, openPathDialect } from './dialects/open-path.ts';
import { type Refused, refusalAnswer, refuseCall } from './error-envelope.ts';
import { identify } from './identify.ts';
import { buildAttempt, vendorNotConfigured } from './models.ts';
import { requestedModel } from './service-calls/requested-model.ts';

/** A request, with the contents of its headers. */
export interface OpenPathCall extends Omit<ModelCall, 'dialect' | 'request'> {
  method: VendorRequest['method'];
  /** The address of the request to Callmeter. */
  address: string;
  /** The JSON object of the body; empty if the body is not one. */
  request: z.infer<typeof OpenPathRequest>;
}

const ADDRESS = /^\/v1\/passthrough\/([^/]*)(\/.*)?$/;

export async function callOpenPath(caller: Caller, call: OpenPathCall): Promise<GatewayAnswer> {
  const result = await findAndRun(caller, call);
  return result.ok ? result.answer : refusalAnswer(result.refusal);
}

async function findAndRun(caller: Caller, call: OpenPathCall): Promise<{ ok: true; answer: GatewayAnswer } | Refused> {
  const { organization } = caller;
  const found = matchOpenPath(organization, call);
  if (!found.ok) return found;
  const { openPath } = found;
  const { provider, url } = openPath;
  const { request: body, labels, session } = call;
  const dialect = openPathDialect(openPath);
  const { model: ofBody, user } = body;
  // The vendor judges a value that is not text: it is sent as the caller wrote it.
  const request = {
    ...body,
    model: typeof ofBody === 'string' ? ofBody : '',
    user: typeof user === 'string' ? user : undefined,
  };
  const identified = identify(request, labels, session, caller.limits);
  if (!identified.ok) return identified;
  const { isUnread = false } = call.text;
  const asked = { method: call.method, url: url.href, body, provider, isUnread };
  const closed = await closedVendorRequest(caller, asked, 'model');
  if (closed) return closed;
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const named = requestedModel({ url: url.pathname, body });
  const model = named?.startsWith(`${provider}/`) ? named.slice(provider.length + 1) : (named ?? '');
  const candidate = { provider, model, tier: null, onDowngrade: false };
  const attempt = await buildAttempt(organization, catalog, candidate, Date.now());
  return admitAndRun(caller, { ...call, dialect, request }, catalog, identified.begin, [attempt]);
}

function matchOpenPath(
  { vendors }: Caller['organization'],
  { method, address }: OpenPathCall,
): { ok: true; openPath: OpenPath } | Refused {
  const { pathname, search } = new URL(address);
  const [, provider = '', path = '/'] = ADDRESS.exec(pathname) ?? [];
  const vendor = vendors.get(provider);
  if (!vendor) return vendorNotConfigured(provider, 'provider');
  const url = openTarget(vendor, path, search);
  if (url) return { ok: true, openPath: { method, provider, kind: vendor.kind, url } };
  const open = vendor.passthrough.length === 0 ? 'none is' : `the open paths are ${vendor.passthrough.join(', ')}`;
  return refuseCall('NOT_FOUND', `this path of the vendor ${provider} is not open; ${open}`, { param: 'path' });
}
