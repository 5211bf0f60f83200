/**
 * A metered copy of a client of OpenAI's or Anthropic's SDK. Both SDKs come from one generator and have the same
 * methods: `withOptions` copies the client, every resource sends through `request`, and every attempt through `fetch`.
 *
 * The caller's object is unchanged. `request` begins the call before the SDK's first attempt, so that all results of
 * the SDK (a promise with `withResponse`, a stream, a parsed object) stay the SDK's own.
 */
import { isFields } from '../../vendors/usage/figures.ts';
import { MeteredRequest, type VendorFetch } from './metered-request.ts';
import type { MeterOptions } from './options.ts';
import { bodyFor, parseModelRequest } from './vendor-request.ts';

/** The part of either SDK's client that is used. */
export interface SdkClient {
  maxRetries: number;
  withOptions(options: never): unknown;
  request(options: never): unknown;
}

/** The same members, typed as they are at run time. */
interface Seams {
  maxRetries: number;
  fetch?: VendorFetch;
  withOptions(options: Record<string, unknown>): Seams;
  request(options: unknown, remainingRetries?: unknown): { asResponse(): Promise<unknown> };
}

interface RequestFields {
  method?: unknown;
  path?: unknown;
  body?: unknown;
  signal?: AbortSignal | null;
  maxRetries?: unknown;
  fetchOptions?: object;
}

/** Links the attempts to their request: the SDK passes `fetchOptions` on to `fetch`. */
const REQUEST = Symbol('callmeter.request');

type TaggedInit = RequestInit & { [REQUEST]?: MeteredRequest };

export function meteredClient<T extends SdkClient>(sdk: T, options: MeterOptions): T {
  const seams = sdk as unknown as Seams;
  const send: VendorFetch = seams.fetch ?? ((url, init) => globalThis.fetch(url, init));
  return copyClient(seams, {}, send, options) as unknown as T;
}

function copyClient(sdk: Seams, changes: Record<string, unknown>, send: VendorFetch, options: MeterOptions): Seams {
  const tagged = (url: string, { [REQUEST]: metered, ...init }: TaggedInit = {}) => {
    return metered ? metered.send(send, url, init) : send(url, init);
  };
  // The SDK's own `withOptions`, which the copy overrides.
  const { withOptions } = Object.getPrototypeOf(sdk) as Seams;
  const copy = withOptions.call(sdk, { ...changes, fetch: tagged });
  const { request } = copy;
  const seams = {
    withOptions: (given: Record<string, unknown> = {}) =>
      copyClient(copy, given, (given.fetch as VendorFetch | undefined) ?? send, options),
    request: (given: unknown, remainingRetries?: unknown) => {
      const metered = new MeteredRequest(options);
      const answer = request.call(copy, beginRequest(copy, metered, given), remainingRetries);
      // Ends the call if the SDK gave up; has no effect after a successful response.
      const close = () => metered.close();
      answer.asResponse().then(close, close);
      return answer;
    },
  };
  for (const [name, value] of Object.entries(seams))
    Object.defineProperty(copy, name, { value, configurable: true, writable: true });
  return copy;
}

/** Begins the call and returns the request for the model that may run. A request that runs no model is unchanged. */
async function beginRequest(sdk: Seams, metered: MeteredRequest, given: unknown): Promise<unknown> {
  const fields = (await given) as RequestFields;
  const { method, path, body, signal, maxRetries = sdk.maxRetries } = fields;
  const modelRequest = parseModelRequest(String(method), String(path), body);
  if (!modelRequest || !isFields(body) || signal?.aborted) return fields;
  try {
    const model = await metered.open({ ...modelRequest, signal, triesMax: 1 + Number(maxRetries) });
    return {
      ...fields,
      body: bodyFor(modelRequest, body, model),
      fetchOptions: { ...fields.fetchOptions, [REQUEST]: metered },
    };
  } catch (error) {
    // The SDK throws its own error for an aborted request.
    if (signal?.aborted) return fields;
    throw error;
  }
}
