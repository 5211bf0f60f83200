/**
 * The metered customer and the labels, in bodies and in headers of the gateway; and the headers of its answers.
 */

import { z } from 'zod';
import { asCustomerId } from '../../domain/ids.ts';
import { CustomerIdentity, firstProvisioning } from '../calls.ts';
import { TAGS_MAX, TEXT_LENGTH_MAX, text } from '../fields.ts';
import { isRecord, resolveIdentity } from '../identity.ts';

/** Headers for clients whose body is fixed: the customer and the labels of a request whose body lacks them. */
export const LABEL_HEADERS = {
  customerId: 'x-usage-customer-id',
  customerUserId: 'x-usage-customer-user-id',
  feature: 'x-usage-feature',
  tags: 'x-usage-tags',
} as const;
/** The customer that is metered if a request names none. */
export const DEFAULT_CUSTOMER_ID = asCustomerId('default');

/** Headers of the gateway's answers. */
export const GATEWAY_HEADERS = {
  callId: 'x-service-call-id',
  modelKey: 'x-llm-model-key',
  requestId: 'x-request-id',
  costUsd: 'x-service-cost-usd',
  maxOutputTokens: 'x-service-max-output-tokens',
  changed: 'x-service-changed',
  shouldRetry: 'x-should-retry',
  attempts: 'x-service-attempts',
} as const;

const label = text(TEXT_LENGTH_MAX);
/** The empty text is no feature, as in the metering interface. */
const feature = z.preprocess((value) => (value === '' ? null : value), label.nullable());

/** The metered customer: an id, or the customer object of the metering interface in any of its spellings. */
export const GatewayCustomer = z.preprocess(
  (customer) =>
    typeof customer === 'string'
      ? { customerId: customer }
      : isRecord(customer)
        ? resolveIdentity({ customer: withoutNulls(customer) })
        : customer,
  CustomerIdentity.partial({ customerId: true }).extend(firstProvisioning),
);

/** Many libraries write `null` for an absent member. */
function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Our own fields, which no vendor sees. */
export const ownFields = {
  customer: GatewayCustomer.nullish().describe(
    'The customer: an id or an object; else the header x-usage-customer-id, else `default`. With a session token only its own id',
  ),
  feature: feature.optional().describe('Feature of the application that calls; a session token has its own'),
  tags: z.array(label).max(TAGS_MAX).nullish().describe('Labels for readings; a session token has its own'),
};

/** The labels in the headers, with several tags between commas. */
export const HeaderLabels = z.object({
  customerId: CustomerIdentity.shape.customerId.optional().describe('The customer, if the body does not name it'),
  customerUserId: CustomerIdentity.shape.customerUserId.describe(
    "The customer's user, if the body does not name it; not with a session token",
  ),
  feature: feature
    .optional()
    .describe('Feature of the application that calls, if the body does not name it; not with a session token'),
  tags: z
    .preprocess(
      (tags) => (typeof tags === 'string' ? tags.split(',').map((tag) => tag.trim()) : tags),
      z.array(label).max(TAGS_MAX),
    )
    .optional()
    .describe('Labels for readings, with commas between them, if the body has none; not with a session token'),
});
