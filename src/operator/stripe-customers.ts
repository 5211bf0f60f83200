/**
 * Ids at Stripe that customers of several organizations share: operators list them, and release them.
 */
import { refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import {
  customersAtStripe,
  listSharedStripeCustomers as findShared,
  releaseStripeCustomer as release,
} from '../history/stripe-customers.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { makePage } from '../platform/page.ts';
import { change, list } from './operation.ts';

/** The most customers from which one request removes the id, and objects that it asks at a time. */
const CUSTOMERS_MAX = 200;
const ASKED_MAX = 20;

export const listSharedStripeCustomers = list(
  operations.listSharedStripeCustomers,
  async ({ env, page: { after, limit } }) =>
    makePage(await findShared(env, after, limit), limit, ({ stripeCustomerId }) => stripeCustomerId),
);

/** Earlier charges are still reported to the id. */
export const releaseStripeCustomer = change(operations.releaseStripeCustomer, {
  action: 'stripe_customer.release',
  subject: ({ organization }) => organization.organizationId,
  decide: async ({ env, params: { org, stripeCustomerId } }) => {
    // One more, to know whether more exist.
    const found = await customersAtStripe(env, org, stripeCustomerId, CUSTOMERS_MAX + 1);
    if (found.length === 0) return refuse('NOT_FOUND', 'no customer of the organization has this id at Stripe');
    const customerIds = found.slice(0, CUSTOMERS_MAX);
    for (let first = 0; first < customerIds.length; first += ASKED_MAX)
      await Promise.all(
        customerIds
          .slice(first, first + ASKED_MAX)
          .map((customerId) =>
            ask(customerByName(env, { organizationId: org, customerId }), (customer) =>
              customer.releaseStripe(org, stripeCustomerId),
            ),
          ),
      );
    const data = { stripeCustomerId, customers: customerIds.length, more: found.length > CUSTOMERS_MAX };
    return {
      before: null,
      after: data,
      statements: [release(env, org, stripeCustomerId, customerIds)],
      replaces: true,
      data,
    };
  },
});
