/**
 * The ledger of a customer as a list: every change of a balance, with its payment or return.
 */

import { z } from 'zod';
import { CORRECTION_KINDS } from '../domain/correction.ts';
import type { CallId } from '../domain/ids.ts';
import { CREDIT_UNITS, ENTRY_CAUSES } from '../domain/wallet.ts';
import { branded, callId, instant, ListQuery, TEXT_LENGTH_MAX, text } from './fields.ts';
import { ENDS_AFTER_START, endsAfterStart } from './samples.ts';

/** The most rows of a CSV, the newest ones. */
export const LEDGER_CSV_ROWS_MAX = 10_000;

const unit = z.enum(CREDIT_UNITS);
const cause = z.enum(ENTRY_CAUSES);

export const LedgerQuery = ListQuery.extend({
  from: instant.optional().describe('Made at this instant or later'),
  to: instant.optional().describe('Made before this instant'),
  unit: unit.optional().describe('Only this balance'),
  cause: cause.optional().describe('Only with this cause'),
  callId: callId.optional().describe('Only what this call paid or got back'),
  eventId: text(64).optional().describe('Only what this increment paid or got back'),
  reference: text(TEXT_LENGTH_MAX).optional().describe('Only with this reference, for example of a grant'),
})
  .refine(endsAfterStart, ENDS_AFTER_START)
  .refine(({ callId, eventId }) => callId === undefined || eventId === undefined, {
    path: ['eventId'],
    error: 'must not be given with `callId`',
  });

export type LedgerQuery = z.infer<typeof LedgerQuery>;

export const LedgerItem = z.object({
  entryId: z.number().int().describe('Ascending, in the order in which balances changed; it never changes'),
  at: instant.describe('When'),
  unit: unit.describe('Unit of the balance'),
  cause: cause.describe('Cause; REVOKE takes back a credit, RETURN gives back what was spent by mistake'),
  amount: z.string().describe('Signed change: USD or units, exact'),
  balance: z.string().describe('Balance of the unit after it, exact'),
  callId: branded<CallId>(z.string()).nullable().describe('The call that was paid, or that gave something back'),
  eventId: z.string().nullable().describe('The same, for an increment of a custom meter'),
  feature: z.string().nullable().describe('Feature of the call or the increment'),
  modelUsed: z.string().nullable().describe('Model that ran the call, as reported'),
  chargeId: z.string().nullable().describe('The charge that was settled; null for units, and without a charge'),
  correction: z
    .enum(CORRECTION_KINDS)
    .nullable()
    .describe('The correction of the call or the increment that it comes from; null for a first charge'),
  creditId: z.string().nullable().describe('The credit; null if the balance was overdrawn'),
  reference: z
    .string()
    .nullable()
    .describe("The operator's reference of the credit, or the reason of its revocation; null for payments"),
});

export type LedgerItem = z.infer<typeof LedgerItem>;
