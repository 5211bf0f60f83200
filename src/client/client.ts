/**
 * `createClient`: one method per operation in `METHODS`, the model lookup, and `withCall` and `startCall`, which begin
 * and end a call for you.
 */
import { SERVICE_VERSION } from '../platform/version.ts';
import { baseAddress, fillAddress, formatQuery } from './address.ts';
import { type RawAnswer, readEnvelope } from './answer.ts';
import { type CallOutcome, type CallScope, openCall, runCall } from './call.ts';
import { conditionalSeam, type ReadSettings, type Seam, withReadSettings } from './conditional.ts';
import { badInput, CallmeterError } from './errors.ts';
import { type Observer, shielded } from './events.ts';
import { type ModelLookup, modelLookup } from './lookup.ts';
import {
  type CallDefaults,
  METHODS,
  type Method,
  type MethodName,
  type Methods,
  type RequestOptions,
} from './methods.ts';
import { type Connection, checkTimeout, request } from './request.ts';
import { checkRollingWait, type RetryPolicy, retryPolicy } from './retry.ts';
import { type Fetch, type Runtime, refuseBrowser, systemRuntime } from './runtime.ts';
import type { BeginCallInput } from './wire.ts';

export interface ClientOptions {
  /** The API key. Only the model lookup works without one. */
  apiKey?: string | undefined;
  /** The base URL of the service, such as `https://callmeter.example.com`. */
  baseUrl: string;
  /** Replaces the runtime's `fetch`. */
  fetch?: Fetch | undefined;
  retry?: Partial<RetryPolicy> | undefined;
  /** Timeout of one attempt in milliseconds, reading the response included. Default: 30,000. */
  timeoutMs?: number | undefined;
  /**
   * How long in all a request may wait, in milliseconds, if the plan's rolling limit allows no further call for now. Default:
   * 0, so that no user waits for it.
   */
  rollingWaitMs?: number | undefined;
  /** Values for fields that an input leaves out. */
  defaults?: CallDefaults | undefined;
  onEvent?: Observer | undefined;
}

export interface Client extends Methods, ModelLookup {
  /**
   * Begins a call, runs the handler, and ends the call with the usage that the handler set. If the call is denied, the
   * handler does not run. If the handler throws, the call ends as FAILED and the error is rethrown. Rejects with
   * `CallDeniedError` if the plan's rolling limit allows no further call for now.
   */
  withCall<T>(
    begin: BeginCallInput,
    handler: (call: CallScope) => T | Promise<T>,
    options?: RequestOptions,
  ): Promise<CallOutcome<T>>;
  /**
   * Begins a call that ends when its scope does: `await using call = await client.startCall(...)`. Rejects like
   * `withCall`.
   */
  startCall(begin: BeginCallInput, options?: RequestOptions): Promise<CallScope>;
}

/** The same as the default of `vendor.timeoutMs` in `POST /call` (contract section 8). */
const TIMEOUT_MS = 30_000;
const MEDIA_TYPE = 'application/vnd.service.v1+json';
/** Value of the header `x-usage-sdk`. */
const SDK = `callmeter-js/${SERVICE_VERSION}`;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

export function createClient(options: ClientOptions): Client {
  return createClientIn(systemRuntime, options);
}

/** `createClient` with a given runtime, for tests. */
export function createClientIn(system: Runtime, options: ClientOptions): Client {
  const { apiKey, baseUrl, retry, timeoutMs = TIMEOUT_MS, rollingWaitMs = 0, defaults, onEvent } = options;
  refuseBrowser();
  checkTimeout(timeoutMs);
  checkRollingWait(rollingWaitMs);
  if (apiKey !== undefined && !VISIBLE_ASCII.test(apiKey)) {
    throw new CallmeterError('SERVICE_AUTH_ERROR', 'apiKey must be visible ASCII characters');
  }
  const runtime = options.fetch ? { ...system, fetch: options.fetch } : system;
  const observer = shielded(onEvent);
  const connection: Connection = {
    baseUrl: baseAddress(baseUrl),
    runtime,
    policy: retryPolicy(retry),
    timeoutMs,
    rollingWaitMs,
    observer,
  };
  const send = (name: MethodName, input: object | undefined, given: RequestOptions = {}) =>
    sendMethod(connection, apiKey, defaults ?? {}, name, input ?? {}, given);
  const methods = Object.fromEntries(
    (Object.keys(METHODS) as MethodName[]).map((name) => [
      name,
      (input?: object, given?: RequestOptions) => send(name, input, given),
    ]),
  ) as unknown as Methods;
  const readSettings: ReadSettings = (etag, given = {}) =>
    sendMethod(
      connection,
      apiKey,
      {},
      'readSamplingSettings',
      {},
      given,
      conditionalSeam(etag),
    ) as ReturnType<ReadSettings>;
  const client: Client = {
    ...methods,
    ...modelLookup(connection),
    startCall: (begin, given) => openCall(methods, observer, { ...defaults, ...present(begin) }, given),
    withCall: (begin, handler, given) => runCall(methods, observer, { ...defaults, ...present(begin) }, handler, given),
  };
  return withReadSettings(client, readSettings);
}

async function sendMethod(
  connection: Connection,
  apiKey: string | undefined,
  defaults: CallDefaults,
  name: MethodName,
  input: object,
  options: RequestOptions,
  seam?: Seam,
): Promise<unknown> {
  if (apiKey === undefined) throw new CallmeterError('SERVICE_AUTH_ERROR', `${name}: an apiKey is needed`);
  const { method, path, write, has, takes = [], vendorTimeoutMs }: Method = METHODS[name];
  const filled: Record<string, unknown> = {
    ...Object.fromEntries(takes.map((field) => [field, defaults[field]])),
    ...present(input),
  };
  const { address, rest } = fillAddress(path, filled);
  const isRead = method === 'GET';
  const body = isRead ? undefined : serialize(name, rest);
  const ask = {
    operation: name,
    method,
    path: isRead ? address + formatQuery(rest) : address,
    headers: {
      Authorization: `Bearer ${apiKey}`,
      Accept: MEDIA_TYPE,
      'x-usage-sdk': SDK,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...seam?.headers,
      ...(write && {
        'Idempotency-Key': idempotencyKey(options.idempotencyKey ?? filled.idempotencyKey ?? crypto.randomUUID()),
      }),
    },
    body,
    read: (answer: RawAnswer) => (seam ? seam.read(answer, has) : readEnvelope(answer, has)),
  };
  const timeoutMs = options.timeoutMs ?? connection.timeoutMs + vendorTime(filled.vendor, vendorTimeoutMs);
  return request(connection, ask, { ...options, timeoutMs });
}

/** How long the service may wait for the vendor, in milliseconds. */
function vendorTime(vendor: unknown, defaultMs = 0): number {
  if (typeof vendor !== 'object' || vendor === null) return 0;
  const { timeoutMs } = vendor as { timeoutMs?: unknown };
  return typeof timeoutMs === 'number' ? timeoutMs : defaultMs;
}

/** Removes undefined members, which would hide a default. */
function present<Input extends object>(input: Input): Input {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Input;
}

function serialize(name: string, body: object): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw badInput(`${name}: the input`, 'must be JSON', cause);
  }
}

function idempotencyKey(key: unknown): string {
  if (typeof key === 'string' && VISIBLE_ASCII.test(key) && key.length <= IDEMPOTENCY_KEY_LENGTH_MAX) return key;
  throw badInput('idempotencyKey', `must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters`);
}
