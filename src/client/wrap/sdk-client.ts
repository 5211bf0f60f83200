/**
 * A metered copy of a client of OpenAI's or Anthropic's SDK. Both come from one generator and have the same seams:
 * `withOptions` makes a copy, every resource sends through `request`, and every try through `fetch`.
 *
 * The caller's own object is left as it is. `request` begins the call before the SDK's first try, so that whatever the
 * SDK makes out of the answer (a promise with `withResponse`, a stream, a parsed object) is its own.
 */
import { isFields } from '../../vendors/usage/figures.ts';
import { MeteredRequest, type VendorFetch } from './metered-request.ts';
import type { MeterOptions } from './options.ts';
import { askOf, bodyFor } from './vendor-request.ts';

/** What a client of either SDK has. */
export interface SdkClient {
  maxRetries: number;
  withOptions(options: never): unknown;
  request(options: never): unknown;
}

/** The seams, as they are at run time. */
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

/** Ties the tries of a request to it: the SDK hands `fetchOptions` on to `fetch`. */
const REQUEST = Symbol('callmeter.request');

type TaggedInit = RequestInit & { [REQUEST]?: MeteredRequest };

export function meteredClient<T extends SdkClient>(sdk: T, options: MeterOptions): T {
  const seams = sdk as unknown as Seams;
  const send: VendorFetch = seams.fetch ?? ((url, init) => globalThis.fetch(url, init));
  return copyOf(seams, {}, send, options) as unknown as T;
}

function copyOf(sdk: Seams, changes: Record<string, unknown>, send: VendorFetch, options: MeterOptions): Seams {
  const tagged = (url: string, { [REQUEST]: metered, ...init }: TaggedInit = {}) => {
    return metered ? metered.send(send, url, init) : send(url, init);
  };
  // The SDK's own way to be copied, which the seam of a copy hides.
  const { withOptions } = Object.getPrototypeOf(sdk) as Seams;
  const copy = withOptions.call(sdk, { ...changes, fetch: tagged });
  const { request } = copy;
  const seams = {
    withOptions: (given: Record<string, unknown> = {}) =>
      copyOf(copy, given, (given.fetch as VendorFetch | undefined) ?? send, options),
    request: (given: unknown, remainingRetries?: unknown) => {
      const metered = new MeteredRequest(options);
      const answer = request.call(copy, begun(copy, metered, given), remainingRetries);
      // Ends what the SDK gave up on, and nothing where the answer came through.
      const close = () => metered.close();
      answer.asResponse().then(close, close);
      return answer;
    },
  };
  for (const [name, value] of Object.entries(seams))
    Object.defineProperty(copy, name, { value, configurable: true, writable: true });
  return copy;
}

/** The request for the model that the customer is entitled to; untouched where it runs no model. */
async function begun(sdk: Seams, metered: MeteredRequest, given: unknown): Promise<unknown> {
  const fields = (await given) as RequestFields;
  const { method, path, body, signal, maxRetries = sdk.maxRetries } = fields;
  const ask = askOf(String(method), String(path), body);
  if (!ask || !isFields(body) || signal?.aborted) return fields;
  try {
    const model = await metered.open({ ...ask, signal, triesMax: 1 + Number(maxRetries) });
    return { ...fields, body: bodyFor(ask, body, model), fetchOptions: { ...fields.fetchOptions, [REQUEST]: metered } };
  } catch (error) {
    // The SDK has an error of its own for a request that its caller aborted.
    if (signal?.aborted) return fields;
    throw error;
  }
}
