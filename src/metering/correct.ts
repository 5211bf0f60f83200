/**
 * Use cases: take back what was recorded by mistake. The customer's object decides; what it no longer holds is sent with
 * the command, from D1.
 */
import type { ReversedMeterEvent, ReverseMeterEventRequest } from '../contract/corrections.ts';
import { type Answer, refuse } from '../contract/errors.ts';
import type { Env } from '../env.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { findOldMeterEvent } from '../storage/meter-events.ts';

/** Whose record is corrected, and who corrects it. */
export interface Corrector {
  env: Env;
  organizationId: string;
  by: string;
}

/** The application of the organization itself. */
export const BY_APPLICATION = 'api';

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
