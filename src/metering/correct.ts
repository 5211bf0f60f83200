/**
 * Use cases: take back or replace wrong records. The customer's object decides; a record that it no longer holds is
 * sent with the command, from D1.
 */

import { pricedParts, resolvePriceFor } from '../catalog/prices.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { AmendCallRequest, CorrectionRequest, ReverseMeterEventRequest } from '../contract/corrections.ts';
import { type Refusal, type Result, refuse } from '../contract/errors.ts';
import type { KeyLimits } from '../contract/key-limits.ts';
import type { AnswerTo } from '../contract/operations.ts';
import type { Call } from '../domain/call.ts';
import { countOutcomes, otherParts } from '../domain/correct-call.ts';
import type { CallId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { findArchivedCall } from '../history/archive/read-call.ts';
import { findOldCall } from '../history/calls.ts';
import { findOldMeterEvent } from '../history/meter-events.ts';
import { ask, type CustomerAddress, customerByCall, customerByName, forgetOwner } from '../objects/addresses.ts';
import { amendedReport } from './amended-report.ts';
import { buildPart } from './call-parts.ts';
import type { Caller } from './caller.ts';
import { explicitKey, hashPayload } from './idempotency.ts';
import { refuseForeignStripe } from './stripe-customers.ts';

/** The organization whose record is corrected, and who corrects it. */
export interface Corrector {
  env: Env;
  organizationId: OrganizationId;
  by: string;
  /** The limits of the API key; absent for the operator. */
  limits?: KeyLimits | undefined;
}

/** The organization's own application. */
export const BY_APPLICATION = 'api';

export async function reverseCall(
  corrector: Corrector,
  callId: CallId,
  { reason }: CorrectionRequest,
): Promise<AnswerTo<'reverseCall'>> {
  const { organizationId, by, limits } = corrector;
  const found = await findForCorrection(corrector, callId);
  if (!found.ok) return found;
  const { address, old } = found;
  return ask(address, (customer) => customer.reverseCall({ organizationId, callId, reason, by, limits, old }));
}

/** Replaces the named fields of the call's report, at the prices of the day on which the call ended. */
export async function amendCall(
  corrector: Omit<Corrector, 'organizationId'> & Caller,
  callId: CallId,
  request: AmendCallRequest,
  headerKey: string | null,
): Promise<AnswerTo<'amendCall'>> {
  const { env, organization, defer, by, limits } = corrector;
  const { organizationId } = organization;
  const { reason, ...described } = request;
  const found = await findForCorrection({ env, organizationId }, callId);
  if (!found.ok) return found;
  const foreign = await refuseForeignStripe(corrector, request.stripeCustomerId);
  if (foreign) return foreign;
  const { address, call, old } = found;
  const { catalog } = await currentCatalog(env, defer);
  const report = amendedReport(call.outcome, callId, request, organization);
  const endedAtMs = call.finishedAtMs ?? Date.now();
  // Parts that the request does not name stay.
  const named = described.parts?.map(buildPart) ?? (call.outcome ? otherParts(call.outcome) : []);
  const [fingerprint, price, parts] = await Promise.all([
    hashPayload({ callId, ...described }),
    resolvePriceFor(catalog, organization.prices, report, report.usage, endedAtMs),
    pricedParts(catalog, organization.prices, named, endedAtMs),
  ]);
  const command = {
    organizationId,
    callId,
    reason,
    by,
    limits,
    old,
    report: { ...report, parts },
    outcomes: countOutcomes(call),
    price,
    idempotencyKey: explicitKey(headerKey, request),
    fingerprint,
  };
  return ask(address, (customer) => customer.amendCall(command));
}

type NotCorrectable = Refusal<'CALL_NOT_FOUND' | 'CONFLICT'>;

/** The call and its customer's object; what the object has removed comes from D1, as `old`. */
async function findForCorrection(
  { env, organizationId }: Omit<Corrector, 'by'>,
  callId: CallId,
): Promise<Result<{ address: CustomerAddress; call: Call; old: Call | null }, NotCorrectable>> {
  const address = await customerByCall(env, organizationId, callId);
  if (!address) return callNotFound();
  const own: Call | null = await ask(address, (customer) => customer.readCall(organizationId, callId));
  const old = own ? null : await findOldCall(env, organizationId, callId);
  const call = own ?? old;
  if (call) return { ok: true, address, call, old };
  if (await findArchivedCall(env, organizationId, callId))
    return refuse('CONFLICT', 'only the archive has the call, so it can no longer be corrected');
  // The cached owner may be outdated: try once more with the directory's.
  return forgetOwner(organizationId, callId) ? findForCorrection({ env, organizationId }, callId) : callNotFound();
}

const callNotFound = () => refuse('CALL_NOT_FOUND', 'no such call');

export async function reverseMeterEvent(
  { env, organizationId, by, limits }: Corrector,
  eventId: string,
  { reason, customerId }: ReverseMeterEventRequest,
): Promise<AnswerTo<'reverseMeterEvent'>> {
  const old = await findOldMeterEvent(env, organizationId, eventId);
  const owner = customerId ?? old?.customerId;
  if (owner === undefined) return refuse('NOT_FOUND', 'no such meter event');
  return ask(customerByName(env, { organizationId, customerId: owner }), (customer) =>
    customer.reverseMeterEvent({ organizationId, eventId, reason, by, limits, old }),
  );
}
