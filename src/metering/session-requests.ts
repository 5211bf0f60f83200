/**
 * Use case: a request of a browser's session that is free, or was refused before it reached the customer's object. The
 * object counts it, together with the calls that fail (durable-objects/customer/session-requests.ts). A request with a
 * wrong form is refused without a count: counting costs more than the refusal.
 */

import { holderName, type TokenHolder } from '../config/session-token.ts';
import type { Result } from '../contract/errors.ts';
import type { CustomerId } from '../domain/ids.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import type { Caller } from './caller.ts';

/** 429 if the session made too many such requests in this minute; otherwise this one is counted. */
export function countSessionRequest(
  { env, organization }: Pick<Caller, 'env' | 'organization'>,
  customerId: CustomerId,
  holder: TokenHolder,
): Promise<Result> {
  const address = customerByName(env, { organizationId: organization.organizationId, customerId });
  return ask(address, (customer) => customer.countSessionRequest(holderName(holder)));
}
