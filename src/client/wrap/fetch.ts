/**
 * A metered `fetch`: each request that runs a model is one call; all others pass unchanged.
 */

import { parseJson } from '../../platform/json.ts';
import { isFields } from '../../vendors/usage/figures.ts';
import { MeteredRequest, type VendorFetch } from './metered-request.ts';
import type { MeterOptions } from './options.ts';
import { addressFor, bodyFor, parseModelRequest } from './vendor-request.ts';

/** The runtime's `fetch`, or a function compatible with it. */
export type AnyFetch = (input: never, init?: never) => Promise<unknown>;

export function meteredFetch<F extends AnyFetch>(fetch: F, options: MeterOptions): F {
  const original = fetch as unknown as typeof globalThis.fetch;
  const send: VendorFetch = (url, init) => original(url, init);
  const metered = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { method, url } = typeof input === 'object' && 'url' in input ? input : { method: 'GET', url: String(input) };
    if (!mayRunModel(init?.method ?? method, url)) return original(input, init);
    const request = new Request(input, init);
    const text = await request.text();
    const { headers, signal } = request;
    const body = parse(text);
    const given: RequestInit = { ...init, method: request.method, headers, signal };
    const modelRequest = parseModelRequest(request.method, url, body);
    if (!modelRequest || !isFields(body)) return send(url, { ...given, body: text });
    const call = new MeteredRequest(options);
    const model = await call.open({ ...modelRequest, signal, triesMax: 1 });
    // The body's length has changed.
    headers.delete('content-length');
    return call.send(send, addressFor(modelRequest, url, model), {
      ...given,
      body: JSON.stringify(bodyFor(modelRequest, body, model)),
    });
  };
  return metered as unknown as F;
}

/** Decides by method and URL alone, so that other requests' bodies are not read. */
function mayRunModel(method: string, url: string): boolean {
  return parseModelRequest(method, url, { model: '' }) !== null;
}

function parse(text: string): unknown {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
}
