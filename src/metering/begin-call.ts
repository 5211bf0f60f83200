/**
 * Use case: may this call be made? Resolves the key, claims the call id, and lets the customer's object decide.
 *
 * `beginCall` leaves the call to the application. `openCall` begins one that the service goes on to make itself, and
 * finds what came of it where the request is a retry.
 */

import { matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import { type BeginCallData, type BeginCallRequest, DERIVED_PREFIX } from '../contract/calls.ts';
import { type Accepted, type Refusal, refuse, type SentAnswer } from '../contract/errors.ts';
import type { CallStatus } from '../domain/call.ts';
import type { Capability } from '../domain/plan.ts';
import type { PricingMode } from '../domain/pricing.ts';
import type { Tier } from '../domain/tiers.ts';
import { ask, customerByName, rememberOwner } from '../objects/addresses.ts';
import { underClaim } from '../objects/claims.ts';
import { sendCommand } from '../objects/command-text.ts';
import type {
  Admission,
  BeginCommand,
  CallKey,
  KeptAnswer,
  OpenedCall,
  TierHints,
  UnpricedTiers,
} from '../objects/customer-commands.ts';
import type { CustomerRpc } from '../objects/rpc.ts';
import { sendShared } from '../objects/shared-messages.ts';
import { timeOrderedId } from '../platform/time-ordered-id.ts';
import { currentCatalog } from '../storage/catalog.ts';
import type { Caller } from './caller.ts';
import { derivedKeyHash, explicitKey, fingerprintOf, isReservedKey, sessionKeyHash } from './idempotency.ts';

type CallType = BeginCommand['callType'];

export async function beginCall(
  caller: Caller,
  request: BeginCallRequest,
  headerKey: string | null,
): Promise<SentAnswer> {
  const { batch: _batch, customerName, ...described } = request;
  const pricingMode = pricingModeOf(request) ?? 'standard';
  const friendlyName = request.customerFriendlyName ?? customerName;
  const fingerprint = await fingerprintOf({ ...described, customerFriendlyName: friendlyName, pricingMode });
  const command = await beginCommand(caller, request, fingerprint, 'standard');
  const begin = (stub: DurableObjectStub<CustomerRpc>, key: CallKey) =>
    withPlanWhereNew(
      caller,
      (defaultPlan) => stub.begin(sendCommand({ ...command, defaultPlan, key })) as PromiseLike<SentAnswer>,
    );
  return underKey(caller, request, headerKey, 'standard', begin);
}

/** What `openCall` needs to know beside the request. */
export interface CallToMake {
  request: BeginCallRequest;
  /** Of the whole request, what goes to the vendor included. */
  fingerprint: string;
  /** The tiers of the models that are going to run, where that is known. */
  runsOn?: Tier[] | undefined;
  /** What the request makes the vendor able to do: all of it must be allowed. */
  needs?: Capability[] | undefined;
  /** The tiers on models without a price, for which credit does not pay. */
  unpriced?: UnpricedTiers | undefined;
  /** How long it may take until its end is recorded; default the deadline of every call. */
  deadlineMs?: number | undefined;
  /** Nobody is told of the call before its end. */
  untold: boolean;
  /** Whether the whole answer of the begin is wanted. */
  answered: boolean;
  /** For a browser's session, whose keys are apart from those of the organization. */
  bySession?: boolean;
}

/** A call that the service goes on to make, or made before. */
export type Opened =
  | { ok: false; refusal: Refusal }
  | {
      ok: true;
      replayed: boolean;
      status: CallStatus;
      admission: Admission;
      /** Where it was wanted. */
      answer: Accepted<BeginCallData> | null;
      /** Of a replayed begin whose call has ended. */
      kept: KeptAnswer | null;
      /**
       * The begin of a call that may stand in its object's memory alone: to record it from, should the object forget
       * it.
       */
      untold: BeginCommand | null;
    };

/**
 * Begins a call that the service makes itself. Without a key each request is a call of its own: there is nothing that
 * could be replayed to another request without asking the vendor.
 */
export async function openCall(
  caller: Caller,
  {
    request,
    fingerprint,
    runsOn,
    needs = [],
    unpriced = {},
    deadlineMs,
    untold,
    answered,
    bySession = false,
  }: CallToMake,
  headerKey: string | null,
): Promise<Opened> {
  const keyless = explicitKey(headerKey, request) === null;
  const command = await beginCommand(caller, request, keyless ? '' : fingerprint, 'API');
  const nowMs = Date.now();
  const openedBy = timeOrderedId(nowMs);
  const toMake = {
    ...command,
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(Object.keys(unpriced).length > 0 && { unpriced }),
    request: { ...command.request, runsOn, ...(needs.length > 0 && { needs }), openedBy },
  };
  const textOf = (key: CallKey, defaultPlan: string | null) =>
    sendCommand({ ...toMake, ...(untold && keyless && { untold }), defaultPlan, key, answered });
  const open = (stub: DurableObjectStub<CustomerRpc>, key: CallKey) =>
    withPlanWhereNew(
      caller,
      async (defaultPlan) => JSON.parse(await stub.open(textOf(key, defaultPlan))) as OpenedCall,
    );
  if (bySession && headerKey !== null) {
    const sessionKey = { source: 'session', hash: await sessionKeyHash(headerKey) } as const;
    const address = customerByName(caller.env, caller.organization.organizationId, request.customerId);
    return openedOf(await ask(address, (customer) => open(customer, sessionKey)), null);
  }
  if (!keyless) return openedOf(await underKey(caller, request, headerKey, 'API', open), null);
  const key = (again: boolean) =>
    ({ source: 'request', requestId: openedBy, firstAtMs: again ? null : nowMs }) as const;
  const opened = await withPlanWhereNew(caller, async (defaultPlan) => {
    const text = (again: boolean) => textOf(key(again), defaultPlan);
    return JSON.parse(await sendShared(caller, request.customerId, { kind: 'open', text })) as OpenedCall;
  });
  // Without a default plan: a customer who is erased in the meantime does not come back with the record of the call.
  return openedOf(opened, untold ? { ...toMake, defaultPlan: null, key: key(true) } : null);
}

function openedOf(opened: OpenedCall, untold: BeginCommand | null): Opened {
  if (!opened.ok) return opened;
  const { replayed, status, admission, answer, kept } = opened;
  return {
    ok: true,
    replayed,
    status,
    admission,
    answer: answer && { ok: true, ...answer, replayed },
    kept: kept === null ? null : (JSON.parse(kept) as KeptAnswer),
    untold,
  };
}

/** A default plan is told only to an object that asks for it, because its customer is new. */
async function withPlanWhereNew<Begun extends { ok: true } | { ok: false; refusal: Refusal }>(
  { organization: { defaultPlan } }: Caller,
  begin: (defaultPlan: string | null) => PromiseLike<Begun>,
): Promise<Begun> {
  const begun = await begin(null);
  const asksForPlan = !begun.ok && begun.refusal.code === 'SUBSCRIPTION_NOT_FOUND' && defaultPlan !== null;
  return asksForPlan ? begin(JSON.stringify(defaultPlan)) : begun;
}

/** The begin as the customer's object takes it, but for its key and the plan that a new customer gets. */
export async function beginCommand(
  { env, organization, defer }: Caller,
  request: BeginCallRequest,
  fingerprint: string,
  callType: CallType,
): Promise<Omit<BeginCommand, 'key' | 'defaultPlan'>> {
  const { catalog } = await currentCatalog(env, defer);
  const { organizationId, models } = organization;
  const {
    customerId,
    customerUserId,
    customerUserName,
    customerUserEmail,
    feature,
    tags,
    requested = {},
    holdUsd,
  } = request;
  const friendlyName = request.customerFriendlyName ?? request.customerName;
  return {
    organizationId,
    customerId,
    contact: { friendlyName, email: request.customerEmail, stripeCustomerId: request.stripeCustomerId },
    fingerprint,
    request: {
      customerUserId,
      customerUserName,
      customerUserEmail,
      feature,
      tags,
      requested,
      holdUsd,
      pricingMode: pricingModeOf(request) ?? 'standard',
    },
    ...(models && { models }),
    tierHints: tierHintsOf(catalog, models),
    callType,
  };
}

/**
 * Runs a begin under the request's key: the caller's own, claimed for the customer, or one that is derived. A refusal
 * of the key itself is answered as it is.
 */
async function underKey<Result extends { ok: true } | { ok: false; refusal: Refusal }>(
  { env, organization }: Caller,
  request: BeginCallRequest,
  headerKey: string | null,
  callType: CallType,
  begin: (stub: DurableObjectStub<CustomerRpc>, key: CallKey) => PromiseLike<Result>,
): Promise<Result | ReturnType<typeof refuse>> {
  const { organizationId } = organization;
  const { customerId, feature, requested = {} } = request;
  const address = customerByName(env, organizationId, customerId);
  const callId = explicitKey(headerKey, request);
  if (callId === null) {
    const pricingMode = pricingModeOf(request) ?? 'standard';
    const hash = await derivedKeyHash({ organizationId, customerId, feature, requested, callType, pricingMode });
    return ask(address, (customer) => begin(customer, { source: 'derived', hash }));
  }
  if (isReservedKey(callId)) return reservedKey();
  const result = await underClaim(
    env,
    { organizationId, key: callId, customerId },
    {
      command: (claimedAtMs) =>
        ask(address, (customer) => begin(customer, { source: 'explicit', callId, claimedAtMs })),
      outcomeOf: (begun) => begun,
      takeBack: () => ask(address, (customer) => customer.void(organizationId, callId)),
    },
  );
  if (!result) return keyOfAnother();
  if (result.ok) rememberOwner(organizationId, callId, customerId);
  return result;
}

const keyOfAnother = () =>
  refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');

function reservedKey() {
  const message = `must not begin with ${DERIVED_PREFIX}, which is kept for derived keys`;
  return refuse('BAD_REQUEST', `Idempotency-Key: ${message}`, {
    members: { details: [{ path: 'Idempotency-Key', message }] },
  });
}

/** `pricingMode` is authoritative over `batch`; `undefined` where neither is there. */
export function pricingModeOf(request: {
  pricingMode?: PricingMode | undefined;
  batch?: boolean | undefined;
}): PricingMode | undefined {
  if (request.pricingMode !== undefined) return request.pricingMode;
  return request.batch === undefined ? undefined : request.batch ? 'batch' : 'standard';
}

function tierHintsOf(
  catalog: Catalog,
  models: Caller['organization']['models'],
): { standard?: TierHints; premium?: TierHints } {
  const hintsOf = (preferredModel: string | undefined): TierHints | undefined => {
    if (preferredModel === undefined) return undefined;
    const model = matchModel(catalog, preferredModel)?.model;
    return {
      preferredModel,
      ...(model?.contextTokens !== undefined && { maxInputTokens: model.contextTokens }),
      ...(model?.maxOutputTokens !== undefined && { maxResponseTokens: model.maxOutputTokens }),
    };
  };
  const standard = hintsOf(models?.standard[0]);
  const premium = hintsOf(models?.premium[0]);
  return { ...(standard && { standard }), ...(premium && { premium }) };
}
