/**
 * Use case: one request to a model through the gateway.
 *
 * Who is metered, which models can be tried, and whether the customer's plan allows them; a retry under a key gets the
 * stored answer. What follows an admission is in `run.ts`.
 */

import { REPLAY_HEADER } from '../contract/envelope.ts';
import { GATEWAY_HEADERS } from '../contract/gateway.ts';
import { capabilityDenied } from '../domain/entitlements.ts';
import type { Capability } from '../domain/plan.ts';
import { type Opened, openCall } from '../metering/begin-call.ts';
import type { Caller } from '../metering/caller.ts';
import { fingerprintOf } from '../metering/idempotency.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import type { Admission } from '../objects/customer-commands.ts';
import { currentCatalog } from '../storage/catalog.ts';
import type { Session } from '../storage/credentials.ts';
import { capabilitiesOf, refuseUnpriced, unpricedTiers } from './admission.ts';
import { deniedAnswer, failureAnswer, type GatewayAnswer, refusalAnswer } from './answer.ts';
import { type BeginFields, identify, type ModelRequest } from './input.ts';
import { notKept, tellAgain } from './kept.ts';
import { type Attempt, type Endpoint, resolveAttempts } from './models.ts';
import { runCall } from './run.ts';
import { closedModel } from './session-rules.ts';

/** A request to a model, with what its headers say. */
export interface ModelCall {
  endpoint: Endpoint;
  request: ModelRequest;
  customerHeader: string | null;
  headerKey: string | null;
  session: Session | undefined;
  /** Ours, where the vendor has none. */
  requestId: string;
  /** Aborted when the caller leaves. Made when it is asked for, because few requests need one. */
  left: () => AbortSignal;
}

export async function callModel(caller: Caller, call: ModelCall): Promise<GatewayAnswer> {
  const { endpoint, request, headerKey } = call;
  const begin = identify(request, call.customerHeader, call.session);
  if ('status' in begin) return failureAnswer(begin);
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const names = [request.model, ...(request.models ?? [])];
  const closed = closedModel(caller.organization, catalog, names, call.session);
  if (closed) return failureAnswer(closed);
  const attempts = await resolveAttempts(caller.organization, catalog, endpoint, names, Date.now());
  if (!Array.isArray(attempts)) return failureAnswer(attempts);
  const unpriced = call.session ? refuseUnpriced(caller.organization, attempts) : null;
  if (unpriced) return failureAnswer(unpriced);
  const needs = capabilitiesOf(request, attempts);
  const opened = await open(caller, call, begin, attempts, needs);
  if (!opened.ok) return refusalAnswer(opened.refusal);
  const { admission, replayed, untold } = opened;
  const { callId } = admission;
  const headers = { [GATEWAY_HEADERS.callId]: callId, ...(replayed && { [REPLAY_HEADER]: 'true' }) };
  if (opened.status === 'NOT_ALLOWED') return deniedAnswer(denialOf(admission, attempts, needs), headers);
  if (opened.kept) return tellAgain(opened.kept);
  if (replayed) return notKept(opened.status, headers);
  const { customerId } = begin;
  const allowed = attempts.filter((attempt) => isAllowed(attempt, admission));
  if (allowed.length === 0) {
    await takeBack(caller, customerId, callId);
    return deniedAnswer(denialOf(admission, attempts, needs), headers);
  }
  return runCall({
    ...call,
    caller,
    catalog,
    customerId,
    admission,
    untold,
    attempts: allowed,
    keyed: headerKey !== null,
  });
}

/** Begins the call for the tiers that the attempts would bill, and for what the request can do beside text. */
async function open(
  caller: Caller,
  { endpoint, request, headerKey, session }: ModelCall,
  begin: BeginFields,
  attempts: Attempt[],
  needs: Capability[],
): Promise<Opened> {
  const { customer: _named, ...asked } = request;
  const tiers = attempts.filter(({ onDowngrade }) => !onDowngrade).map(({ tier }) => tier);
  const requested = Object.fromEntries([...tiers, ...needs].map((name) => [name, true]));
  // Hints of mapped models are for callers that choose one themselves.
  const organization = { ...caller.organization, models: null };
  const toMake = {
    request: { ...begin, requested },
    // Only a key makes two requests one call.
    fingerprint: headerKey === null ? '' : await fingerprintOf({ operation: endpoint, begin, asked }),
    runsOn: [...new Set(attempts.map(({ tier }) => tier))],
    needs,
    unpriced: unpricedTiers(caller.organization, attempts),
    // A stream names its call before it ends.
    untold: request.stream !== true,
    answered: false,
    bySession: session !== undefined,
  };
  return openCall({ ...caller, organization }, toMake, headerKey);
}

function isAllowed({ tier, onDowngrade }: Attempt, { allowed, entitlementHints }: Admission): boolean {
  return allowed[tier] && (!onDowngrade || entitlementHints.downgrade !== undefined);
}

async function takeBack({ env, organization }: Caller, customerId: string, callId: string): Promise<void> {
  const { organizationId } = organization;
  await ask(customerByName(env, organizationId, customerId), (customer) => customer.void(organizationId, callId));
}

function denialOf(admission: Admission, attempts: readonly Attempt[], needs: readonly Capability[]): string {
  if (admission.canceled) return "the customer's subscription is canceled";
  const capability = capabilityDenied(needs, admission.allowed);
  if (capability !== null) return capability;
  const tiers = [...new Set(attempts.filter(({ onDowngrade }) => !onDowngrade).map(({ tier }) => tier))];
  return `the customer's plan allows no further call of a ${tiers.join(' or ')} model`;
}
