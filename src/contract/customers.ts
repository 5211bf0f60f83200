/**
 * Customers on the wire: provisioning and current usage (contract 4.5, 4.6).
 */
import { z } from 'zod';
import { BodyIdempotency } from './calls.ts';
import { CustomerState } from './entitlements.ts';
import { customerId, TEXT_LENGTH_MAX, text } from './fields.ts';
import { resolveIdentity } from './identity.ts';

const label = text(TEXT_LENGTH_MAX);

export const ProvisionCustomerBody = BodyIdempotency.extend({
  customerId,
  customerFriendlyName: label.optional().describe('Display name'),
  customerName: label.optional().describe('Alias of `customerFriendlyName`'),
  customerEmail: label.optional().describe('E-mail address'),
  stripeCustomerId: label.optional().describe('Customer id at Stripe'),
});

export const ProvisionCustomerRequest = z.preprocess(resolveIdentity, ProvisionCustomerBody);
export type ProvisionCustomerRequest = z.infer<typeof ProvisionCustomerBody>;

export const CustomerUsageData = CustomerState.extend({
  customerId: z.string().describe('The customer'),
  stripeCustomerId: z.string().optional().describe('Customer id at Stripe'),
});

export type CustomerUsageData = z.infer<typeof CustomerUsageData>;

export const ProvisionCustomerData = CustomerUsageData.extend({
  newCustomer: z.boolean().describe('True only on the first call'),
});

export type ProvisionCustomerData = z.infer<typeof ProvisionCustomerData>;
