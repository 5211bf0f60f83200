/**
 * Ids at Stripe that customers of several organizations have: operators list them, and release them.
 */

import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { ReleasedStripeCustomer, SharedStripeCustomer } from '../contract/operator-customers.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import {
  customersAtStripe,
  listSharedStripeCustomers as listShared,
  releaseStripeCustomer as release,
} from '../storage/stripe-customers.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

/** Customers that one request takes the id from, and objects that it asks at a time. */
const CUSTOMERS_MAX = 200;
const ASKED_MAX = 20;

export async function listSharedStripeCustomers(
  env: Env,
  { after, limit }: PageRequest,
): Promise<Answer<Page<SharedStripeCustomer>>> {
  const page = pageOf(await listShared(env, after, limit), limit, ({ stripeCustomerId }) => stripeCustomerId);
  return accept('STRIPE_CUSTOMERS_LISTED', page, Date.now());
}

/** Charges that were made before are still reported to the id. */
export function releaseStripeCustomer(
  request: OperatorRequest,
  organizationId: OrganizationId,
  stripeCustomerId: string,
): Promise<Answer<ReleasedStripeCustomer>> {
  return commitChange<ReleasedStripeCustomer>(request, async () => {
    const { env } = request;
    if (!(await findOrganization(env, organizationId))) return noOrganization();
    // One more tells whether there are more.
    const found = await customersAtStripe(env, organizationId, stripeCustomerId, CUSTOMERS_MAX + 1);
    if (found.length === 0) return refuse('NOT_FOUND', 'no customer of the organization has this id at Stripe');
    const customerIds = found.slice(0, CUSTOMERS_MAX);
    for (let first = 0; first < customerIds.length; first += ASKED_MAX)
      await Promise.all(
        customerIds
          .slice(first, first + ASKED_MAX)
          .map((customerId) =>
            ask(customerByName(env, { organizationId, customerId }), (customer) =>
              customer.releaseStripe(organizationId, stripeCustomerId),
            ),
          ),
      );
    const data = { stripeCustomerId, customers: customerIds.length, more: found.length > CUSTOMERS_MAX };
    return {
      action: 'stripe_customer.release',
      organizationId,
      subject: organizationId,
      before: null,
      after: data,
      statements: [release(env, organizationId, stripeCustomerId, customerIds)],
      replaces: true,
      code: 'STRIPE_CUSTOMER_RELEASED',
      data,
    };
  });
}
