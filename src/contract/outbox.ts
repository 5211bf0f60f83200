/**
 * Changes of customers that D1 refused, in the operator API.
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { branded, instant } from './fields.ts';

export const SetAsideChange = z.object({
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  kind: z
    .enum(['customer', 'call', 'denied_hour', 'failed_hour', 'meter_event', 'credit_entry', 'event'])
    .describe('What changed'),
  id: z.string().describe('Its id: of the customer, the call, the event, or the entry of the ledger'),
  setAsideAt: instant.describe('When D1 refused it first'),
  reason: z.string().describe('Why D1 refused it last'),
});

export type SetAsideChange = z.infer<typeof SetAsideChange>;

export const ResentOutbox = z.object({
  rows: z.number().int().describe('Changes that are queued again'),
  customers: z.number().int().describe('Customers whose changes those are'),
  more: z.boolean().describe('There are customers left whose changes were not reached: send it again'),
});

export type ResentOutbox = z.infer<typeof ResentOutbox>;
