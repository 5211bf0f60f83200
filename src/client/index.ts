/**
 * Callmeter's client library.
 *
 * ```ts
 * import { createClient } from 'callmeter/client';
 *
 * const callmeter = createClient({ apiKey: process.env.CALLMETER_KEY, baseUrl: 'http://127.0.0.1:8787' });
 * const outcome = await callmeter.withCall({ customerId: 'alice', requested: { premium: true } }, async (call) => {
 *   const model = call.allowed.premium ? 'gpt-6-sol' : 'gpt-6-luna';
 *   // ... run the model ...
 *   call.setUsage({ providerUsed: 'openai', modelUsed: model, inputTokens: 1200, responseTokens: 350 });
 *   return 'the answer';
 * });
 * console.log(outcome.denied ? 'not allowed' : outcome.ended?.costUSD);
 * ```
 */
export type { CallFailure, CallOutcome, CallScope, CallUsage } from './call.ts';
export { type Client, type ClientOptions, createClient } from './client.ts';
export { CallDeniedError, type DeniedByPlan, type DeniedForNow, isCallDeniedError } from './denied.ts';
export { CallmeterError, type CallmeterErrorCode, type ErrorDetails, isCallmeterError } from './errors.ts';
export type { ClientEvent } from './events.ts';
export type { LookUpOptions, ModelDiscovery, ModelLookup } from './lookup.ts';
export type { CallDefaults, MethodName, Methods, RequestOptions } from './methods.ts';
export type { RetryPolicy } from './retry.ts';
export type { Fetch, FetchAnswer, FetchInit } from './runtime.ts';
export type * from './wire.ts';
