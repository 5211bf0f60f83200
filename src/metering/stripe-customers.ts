/**
 * Checks who owns an id at Stripe before anything is billed to it. A customer gets an id when it is provisioned, if no
 * other organization has that id; the end of a call may name another id that a customer of the organization has.
 */

import { badRequest, type Refused } from '../contract/errors.ts';
import type { CustomerId } from '../domain/ids.ts';
import { claimStripeCustomer, hasStripeCustomer } from '../history/stripe-customers.ts';
import type { Provisioning } from '../objects/customer-commands.ts';
import type { Caller } from './caller.ts';

/** The refusal of a provisioning with the id of another organization; `null` if the customer has the id now. */
export async function claimForProvisioning(
  { env, organization: { organizationId } }: Caller,
  customerId: CustomerId,
  stripeCustomerId: string | undefined,
): Promise<Refused<'BAD_REQUEST'> | null> {
  if (stripeCustomerId === undefined) return null;
  if (await claimStripeCustomer(env, { organizationId, customerId, stripeCustomerId })) return null;
  return badRequest({ path: 'stripeCustomerId', message: 'belongs to another organization' });
}

/**
 * Sends a command that may create a customer. If the object says that the customer is new, the command's id at Stripe
 * is claimed first; if another organization has the id, the customer is created without it.
 */
export async function withClaimedStripe<Command extends Provisioning, Result extends object>(
  { env }: Caller,
  command: Command,
  send: (command: Command) => PromiseLike<Result>,
): Promise<Result> {
  const result = await send(command);
  const { organizationId, customerId, namedStripeCustomerId: stripeCustomerId } = command;
  if (stripeCustomerId === undefined || !('claimFirst' in result)) return result;
  const isClaimed = await claimStripeCustomer(env, { organizationId, customerId, stripeCustomerId });
  const contact = { ...command.contact, ...(isClaimed && { stripeCustomerId }) };
  return send({ ...command, namedStripeCustomerId: undefined, contact });
}

/** The refusal of a report that would bill a call to an id that no customer of the organization has. */
export async function refuseForeignStripe(
  { env, organization: { organizationId } }: Caller,
  stripeCustomerId: string | undefined,
): Promise<Refused<'BAD_REQUEST'> | null> {
  if (stripeCustomerId === undefined) return null;
  if (await hasStripeCustomer(env, organizationId, stripeCustomerId)) return null;
  return badRequest({
    path: 'stripeCustomerId',
    message: 'must be an id that a customer of the organization was given',
  });
}
