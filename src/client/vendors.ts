/**
 * The vendors' own SDKs, metered.
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
 * A wrapper gives the client that it was given, with the same types; the one that was given stays as it is. Each
 * request is begun before it is sent, and ended with the figures of the vendor's own answer before that answer is
 * complete. A call that is not allowed throws `CallDeniedError`, and the vendor is not asked.
 */
import { type AnyFetch, meteredFetch } from './wrap/fetch.ts';
import { type GoogleClient, meteredGoogle } from './wrap/google.ts';
import type { MeterOptions } from './wrap/options.ts';
import { meteredClient, type SdkClient } from './wrap/sdk-client.ts';

export { CallDeniedError, isCallDeniedError } from './wrap/denied.ts';
export type { AnyFetch } from './wrap/fetch.ts';
export type { GoogleClient } from './wrap/google.ts';
export { type ModelTiers, modelByTier } from './wrap/model.ts';
export type { Downgraded, MeterEach, MeterHooks, MeterInto, MeterOptions } from './wrap/options.ts';
export type { SdkClient } from './wrap/sdk-client.ts';

/** A client of `openai`: chat completions, completions, responses, embeddings, and the helpers on top of them. */
export function wrapOpenAI<T extends SdkClient>(client: T, options: MeterOptions): T {
  return meteredClient(client, options);
}

/** A client of `@anthropic-ai/sdk`: messages, and the helpers on top of them. */
export function wrapAnthropic<T extends SdkClient>(client: T, options: MeterOptions): T {
  return meteredClient(client, options);
}

/** A client of `@google/genai`: `models.generateContent`, `models.generateContentStream`, and chats. */
export function wrapGoogle<T extends GoogleClient>(client: T, options: MeterOptions): T {
  return meteredGoogle(client, options);
}

/**
 * A `fetch`, for requests in any of the three vendors' forms. Each one is a call: give an SDK to its own wrapper, for
 * its retries.
 */
export function wrapFetch<F extends AnyFetch>(fetch: F, options: MeterOptions): F {
  return meteredFetch(fetch, options);
}
