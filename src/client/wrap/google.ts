/**
 * A metered view of a client of Google's SDK: `models`, and the `chats` that use it. Everything else is unchanged.
 *
 * Each request gets its own `fetch`, through an option of the SDK. This meters every request of an automatic function
 * call, which the SDK's results do not show.
 */
import { MeteredRequest, type VendorFetch } from './metered-request.ts';
import type { MeterOptions } from './options.ts';

/** The part of Google's client that is used. */
export interface GoogleClient {
  models: {
    generateContent(params: never): Promise<unknown>;
    generateContentStream(params: never): Promise<AsyncGenerator<unknown>>;
  };
  chats: object;
}

interface HttpOptions {
  fetch?: VendorFetch;
}

interface Params {
  model: string;
  config?: { abortSignal?: AbortSignal; httpOptions?: HttpOptions };
}

interface Models {
  generateContent(params: Params): Promise<unknown>;
  generateContentStream(params: Params): Promise<AsyncGenerator<unknown>>;
}

export function meteredGoogle<T extends GoogleClient>(google: T, options: MeterOptions): T {
  const sdk = google as unknown as { models: Models; chats: object; httpOptions?: HttpOptions };
  const send: VendorFetch = sdk.httpOptions?.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const models = withMembers(sdk.models, {
    generateContent: async (params: Params) => {
      const [metered, given] = await beginRequest(params, options, send, false);
      try {
        return await sdk.models.generateContent(given);
      } finally {
        await metered.close();
      }
    },
    generateContentStream: async (params: Params) => {
      const [metered, given] = await beginRequest(params, options, send, true);
      try {
        return watched(await sdk.models.generateContentStream(given), metered);
      } catch (error) {
        await metered.close();
        throw error;
      }
    },
  });
  // A chat sends its requests through this member.
  const chats = withMembers(sdk.chats, { modelsModule: models });
  return withMembers(sdk, { models, chats }) as unknown as T;
}

/**
 * Begins the call and returns the parameters for the model that may run, with a `fetch` that identifies the attempts of
 * this request.
 */
async function beginRequest(
  params: Params,
  options: MeterOptions,
  send: VendorFetch,
  streamed: boolean,
): Promise<[MeteredRequest, Params]> {
  const { config = {} } = params;
  const metered = new MeteredRequest(options);
  const opening = {
    provider: 'google' as const,
    streamed,
    hidesUsage: false,
    effort: undefined,
    serviceTier: undefined,
    signal: config.abortSignal,
  };
  // The SDK may retry; only its promise shows that it has given up.
  const model = await metered.open({ ...opening, model: params.model, triesMax: Number.POSITIVE_INFINITY });
  const base = config.httpOptions?.fetch ?? send;
  const fetch: VendorFetch = (url, init) => metered.send(base, url, init);
  return [metered, { ...params, model, config: { ...config, httpOptions: { ...config.httpOptions, fetch } } }];
}

/** Reports that the caller stopped reading a stream, which the SDK does not do. */
async function* watched(stream: AsyncGenerator<unknown>, metered: MeteredRequest): AsyncGenerator<unknown> {
  try {
    return yield* stream;
  } finally {
    metered.leave();
    await metered.close();
  }
}

/** The same object with some members replaced. */
function withMembers<T extends object>(target: T, members: Record<string, unknown>): T {
  return new Proxy(target, {
    get: (_, name) =>
      typeof name === 'string' && Object.hasOwn(members, name) ? members[name] : Reflect.get(target, name, target),
  });
}
