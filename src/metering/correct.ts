/**
 * Use cases: take back what was recorded by mistake. The customer's object decides; what it no longer holds is sent with
 * the command, from D1.
 */
import { findArchivedCall } from '../archive/read-call.ts';
import type {
  CorrectionRequest,
  ReversedCall,
  ReversedMeterEvent,
  ReverseMeterEventRequest,
} from '../contract/corrections.ts';
import { type Answer, refuse } from '../contract/errors.ts';
import type { Call } from '../domain/call.ts';
import type { Env } from '../env.ts';
import { ask, customerByCall, customerByName, forgetOwner } from '../objects/addresses.ts';
import type { CustomerRpc } from '../objects/rpc.ts';
import { findOldCall } from '../storage/calls.ts';
import { findOldMeterEvent } from '../storage/meter-events.ts';

/** Whose record is corrected, and who corrects it. */
export interface Corrector {
  env: Env;
  organizationId: string;
  by: string;
}

/** The application of the organization itself. */
export const BY_APPLICATION = 'api';

export async function reverseCall(
  corrector: Corrector,
  callId: string,
  { reason }: CorrectionRequest,
): Promise<Answer<ReversedCall>> {
  const { organizationId, by } = corrector;
  return correctCall(corrector, callId, (customer, old) =>
    customer.reverseCall({ organizationId, callId, reason, by, old }),
  );
}

/** Sends the command to the call's customer, and once more with what D1 has of a call that the object has removed. */
async function correctCall<Data>(
  { env, organizationId }: Omit<Corrector, 'by'>,
  callId: string,
  command: (customer: DurableObjectStub<CustomerRpc>, old: Call | null) => PromiseLike<Answer<Data>>,
): Promise<Answer<Data>> {
  const address = await customerByCall(env, organizationId, callId);
  if (!address) return callNotFound();
  const answer: Answer<Data> = await ask(address, (customer) => command(customer, null));
  if (answer.ok || answer.refusal.code !== 'CALL_NOT_FOUND') return answer;
  const old = await findOldCall(env, organizationId, callId);
  if (old) return ask(address, (customer) => command(customer, old));
  if (await findArchivedCall(env, organizationId, callId))
    return refuse('CONFLICT', 'the call is in the archive alone, and can no longer be corrected');
  // The cached owner may be outdated: try once more with the directory's.
  return forgetOwner(organizationId, callId) ? correctCall({ env, organizationId }, callId, command) : callNotFound();
}

const callNotFound = () => refuse('CALL_NOT_FOUND', 'no such call');

export async function reverseMeterEvent(
  { env, organizationId, by }: Corrector,
  eventId: string,
  { reason, customerId }: ReverseMeterEventRequest,
): Promise<Answer<ReversedMeterEvent>> {
  const old = await findOldMeterEvent(env, organizationId, eventId);
  const owner = customerId ?? old?.customerId;
  if (owner === undefined) return refuse('NOT_FOUND', 'no such meter event');
  return ask(customerByName(env, organizationId, owner), (customer) =>
    customer.reverseMeterEvent({ organizationId, eventId, reason, by, old }),
  );
}
