/**
 * Wrappers that meter the vendors' own SDKs.
 *
 * ```ts
 * import OpenAI from 'openai';
 * import { createClient } from 'callmeter/client';
 * import { modelByTier, wrapOpenAI } from 'callmeter/client/vendors';
 *
 * const callmeter = createClient({ apiKey: process.env.CALLMETER_KEY, baseUrl: 'http://127.0.0.1:8787' });
 * const openai = wrapOpenAI(new OpenAI(), { callmeter, customerId: 'alice', feature: 'chat' });
 * const answer = await openai.chat.completions.create({
 *   model: modelByTier({ premium: 'gpt-6-sol', standard: 'gpt-6-luna' }),
 *   messages: [{ role: 'user', content: 'What is the capital of France?' }],
 * });
 * ```
 *
 * A wrapper returns a metered copy of the SDK's client with the same type; the original is unchanged. Each request
 * begins a call before it is sent, and ends it with the usage in the vendor's response before that response is
 * complete. If the call is not allowed, or not for now, the request throws `CallDeniedError` and the vendor is not called.
 */
import { type AnyFetch, meteredFetch } from './wrap/fetch.ts';
import { type GoogleClient, meteredGoogle } from './wrap/google.ts';
import type { MeterOptions } from './wrap/options.ts';
import { meteredClient, type SdkClient } from './wrap/sdk-client.ts';

export { CallDeniedError, isCallDeniedError } from './denied.ts';
export type { AnyFetch } from './wrap/fetch.ts';
export type { GoogleClient } from './wrap/google.ts';
export { type ModelTiers, modelByTier } from './wrap/model.ts';
export type { Downgraded, MeterEach, MeterHooks, MeterInto, MeterOptions } from './wrap/options.ts';
export type { SdkClient } from './wrap/sdk-client.ts';

/** Wraps a client of `openai`: chat completions, completions, responses, embeddings, and the helpers built on them. */
export function wrapOpenAI<T extends SdkClient>(client: T, options: MeterOptions): T {
  return meteredClient(client, options);
}

/** Wraps a client of `@anthropic-ai/sdk`: messages, and the helpers built on them. */
export function wrapAnthropic<T extends SdkClient>(client: T, options: MeterOptions): T {
  return meteredClient(client, options);
}

/** Wraps a client of `@google/genai`: `models.generateContent`, `models.generateContentStream`, and chats. */
export function wrapGoogle<T extends GoogleClient>(client: T, options: MeterOptions): T {
  return meteredGoogle(client, options);
}

/**
 * Wraps a `fetch`, for requests in the format of any of the three vendors. Each request is one call. For an SDK use its
 * own wrapper, which counts the SDK's retries as one call.
 */
export function wrapFetch<F extends AnyFetch>(fetch: F, options: MeterOptions): F {
  return meteredFetch(fetch, options);
}
