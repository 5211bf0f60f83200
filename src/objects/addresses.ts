/**
 * Typed access to the objects: the object that is responsible for each key, and the handling of one that does not
 * answer.
 *
 * Every command may be sent twice, because the objects replay. A command that failed for a passing reason is sent
 * again, a few times. An overloaded object is not asked again: it is reported as unavailable.
 */

import { DERIVED_PREFIX } from '../contract/calls.ts';
import { CALL_RETENTION_MS } from '../domain/call.ts';
import type { CallId, CustomerId, CustomerKey, OrganizationId } from '../domain/ids.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { stableHash } from '../platform/content-hash.ts';
import { remember } from '../platform/isolate-memory.ts';
import { MINUTE_MS } from '../platform/time.ts';
import { ServiceUnavailable } from '../platform/unavailable.ts';
import type { ObjectBindings } from './bindings.ts';
import { readDerivedCallId } from './derived-call-id.ts';
import type { CallDirectoryRpc, CustomerBatchesRpc, CustomerRpc, GatewayBatchRpc } from './rpc.ts';

const ATTEMPTS_MAX = 3;
const RETRY_BASE_MS = 50;
const DIRECTORY_SHARDS = 64;
/** The most owners that one isolate remembers. */
const OWNERS_MAX = 20_000;

/** The clocks of two machines differ by less, and so do the times at which one request reaches both. */
const CLOCKS_MS = MINUTE_MS;

/**
 * A customer's object as its callers have it, with the types of its answers. `DurableObjectStub` makes an answer `never` if one
 * of its members has an unknown type, and `never` could be taken for any answer.
 */
export type CustomerStub = {
  [Name in Exclude<keyof CustomerRpc, symbol>]: (
    ...args: Parameters<CustomerRpc[Name]>
  ) => Promise<Awaited<ReturnType<CustomerRpc[Name]>>>;
};

/** Finds an object anew for each attempt: a stub that broke stays broken. */
export type CustomerAddress = () => CustomerStub;

export function customerByName(env: ObjectBindings, { organizationId, customerId }: CustomerKey): CustomerAddress {
  return () => env.CUSTOMERS.getByName(`${organizationId}:${customerId}`);
}

/** The object with an id that it issued itself; `null` if the id is not one of this namespace. */
function customerById(env: ObjectBindings, objectId: string): CustomerAddress | null {
  try {
    const id = env.CUSTOMERS.idFromString(objectId);
    return () => env.CUSTOMERS.get(id);
  } catch {
    return null;
  }
}

/** The object of a request for a batch at a vendor. */
export function batchByRequest(
  env: ObjectBindings,
  organizationId: OrganizationId,
  requestName: string,
): () => DurableObjectStub<GatewayBatchRpc> {
  return () => env.GATEWAY_BATCHES.getByName(`${organizationId}:${requestName}`);
}

/** The object that knows all requests for batches of a customer. */
export function batchesOfCustomer(
  env: ObjectBindings,
  { organizationId, customerId }: CustomerKey,
): () => DurableObjectStub<CustomerBatchesRpc> {
  return () => env.CUSTOMER_BATCHES.getByName(`${organizationId}:${customerId}`);
}

/** The object to which a derived call id routes; `null` for any other id. The object checks the owner of the call. */
function customerByDerivedCall(env: ObjectBindings, callId: CallId): CustomerAddress | null {
  const derived = readDerivedCallId(callId);
  // A well-formed id may be none of this namespace.
  return derived ? customerById(env, derived.objectId) : null;
}

/** The object of the customer who owns the call, or `null` if nobody does. */
export async function customerByCall(
  env: ObjectBindings,
  organizationId: OrganizationId,
  callId: CallId,
): Promise<CustomerAddress | null> {
  if (callId.startsWith(DERIVED_PREFIX)) return customerByDerivedCall(env, callId);
  const customerId = await findOwner(env, organizationId, callId);
  return customerId === null ? null : customerByName(env, { organizationId, customerId });
}

/** The owners of existing calls. Only an erasure changes them. */
const owners = remember(() => new BoundedMap<string, CustomerId>(OWNERS_MAX));

/** Call this when a call is known to exist, so that its owner needs no lookup. */
export function rememberOwner({ organizationId, customerId }: CustomerKey, callId: CallId): void {
  owners.value.set(`${organizationId}:${callId}`, customerId);
}

/** The objects' data that an erasure found. */
export interface ErasedObjects {
  /** Whether an account existed. */
  object: boolean;
  /** Requests for batches. */
  batches: number;
  /** Call ids that the customer owned. */
  callIds: number;
}

/**
 * Erases the customer's object, its requests for batches, and every call id that it owns. A customer with the same id
 * who calls meanwhile is a new one, and keeps the ids that are claimed since; `finishErasure` lets its changes reach
 * D1.
 */
export async function eraseObjects(env: ObjectBindings, key: CustomerKey): Promise<ErasedObjects> {
  const { organizationId, customerId } = key;
  const address = customerByName(env, key);
  const object = await ask(address, (customer) => customer.erase(organizationId));
  const erasedAtMs = (await ask(address, (customer) => customer.erasedAt(organizationId))) ?? Date.now();
  // A line of a batch that is metered meanwhile finds no customer, and does not create one.
  const batches = await eraseBatches(env, key);
  const shards = Array.from({ length: DIRECTORY_SHARDS }, (_, shard) => shard);
  const forgotten = await Promise.all(
    shards.map((shard) =>
      ask(
        () => env.CALL_DIRECTORY.getByName(`${organizationId}:${shard}`),
        (directory) => directory.forget(customerId, erasedAtMs),
      ),
    ),
  );
  return { object, batches, callIds: forgotten.reduce((sum, count) => sum + count, 0) };
}

/** Call this when the customer's rows are gone from D1, or could not be removed. */
export function finishErasure(env: ObjectBindings, key: CustomerKey): Promise<void> {
  return ask(customerByName(env, key), (customer) => customer.erasureDone(key.organizationId));
}

async function eraseBatches(env: ObjectBindings, key: CustomerKey): Promise<number> {
  let erased = 0;
  // The customer is gone and can ask for no more batches, so this ends.
  for (let more = true; more; ) {
    const page = await ask(batchesOfCustomer(env, key), (batches) => batches.erase(key.organizationId));
    erased += page.erased;
    more = page.more;
  }
  return erased;
}

/**
 * Call this when the remembered owner does not have the call: it may have been erased, and the id given to another
 * customer.
 */
export function forgetOwner(organizationId: OrganizationId, callId: CallId): boolean {
  return owners.value.delete(`${organizationId}:${callId}`);
}

/**
 * The time at which a call began, as far as its id shows: about `aboutMs`, and certainly between `fromMs` and `toMs`.
 */
export interface BeginOfCall {
  fromMs: number;
  aboutMs: number;
  toMs: number;
}

/** `null` for an id that no call has. */
export async function beginOfCall(
  env: ObjectBindings,
  organizationId: OrganizationId,
  callId: CallId,
): Promise<BeginOfCall | null> {
  const isDerived = callId.startsWith(DERIVED_PREFIX);
  const aboutMs = isDerived
    ? (readDerivedCallId(callId)?.madeAtMs ?? null)
    : await askDirectory(env, organizationId, callId, (shard) => shard.claimedAt(callId));
  if (aboutMs === null) return null;
  // A begin under an older claim is refused.
  const latestMs = isDerived ? aboutMs : aboutMs + CALL_RETENTION_MS;
  return { fromMs: aboutMs - CLOCKS_MS, aboutMs, toMs: latestMs + CLOCKS_MS };
}

async function findOwner(
  env: ObjectBindings,
  organizationId: OrganizationId,
  callId: CallId,
): Promise<CustomerId | null> {
  const known = owners.value.get(`${organizationId}:${callId}`);
  if (known !== undefined) return known;
  return askDirectory(env, organizationId, callId, (shard) => shard.find(callId));
}

/** Asks the part of the organization's directory that knows the call id. */
export function askDirectory<Result>(
  env: ObjectBindings,
  organizationId: OrganizationId,
  callId: CallId,
  command: (shard: DurableObjectStub<CallDirectoryRpc>) => PromiseLike<Result>,
): Promise<Result> {
  return ask(() => env.CALL_DIRECTORY.getByName(`${organizationId}:${stableHash(callId) % DIRECTORY_SHARDS}`), command);
}

/**
 * Sends a command to an object, and sends it again if that may help. Throws `ServiceUnavailable` if it does not help.
 */
export async function ask<Stub, Result>(
  address: () => Stub,
  command: (stub: Stub) => PromiseLike<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await command(address());
    } catch (error) {
      const { retryable, overloaded } = error as { retryable?: boolean; overloaded?: boolean };
      if (retryable === true && overloaded !== true && attempt < ATTEMPTS_MAX) {
        await scheduler.wait(RETRY_BASE_MS * 2 ** attempt * (0.5 + Math.random()));
        continue;
      }
      if (retryable === true || overloaded === true)
        throw new ServiceUnavailable('the customer is not reachable for the moment', { cause: error });
      throw error;
    }
  }
}
