/**
 * A customer in the operator's view: credits, ledger, erasure, and the migration of a plan's customers.
 */

import { z } from 'zod';
import type { CallId, CustomerId, OrganizationId } from '../domain/ids.ts';
import { CREDIT_UNITS, ENTRY_CAUSES } from '../domain/wallet.ts';
import { UsageSource } from './calls.ts';
import { MeterSlot } from './custom-meter.ts';
import { CreditWarnings, CustomerUsageData } from './customers.ts';
import { branded, instant, text } from './fields.ts';

/** The largest credit in USD. */
const CREDIT_USD_MAX = 10_000_000;
const CREDIT_UNITS_MAX = 1_000_000_000_000_000;

const exactUsd = z.string();
const unit = z.enum(CREDIT_UNITS);

const GrantTerms = z.object({
  expiresAt: instant.optional().describe('Can be spent before this instant; absent: it never expires'),
  reference: text(200)
    .optional()
    .describe("The operator's own reference, for example of a payment; the ledger shows it"),
});

export const GrantCreditRequest = z.discriminatedUnion('kind', [
  GrantTerms.extend({
    kind: z.literal('USD').describe('Adds to the USD balance'),
    amountUsd: z
      .string()
      .regex(/^\d{1,8}(\.\d{1,9})?$/, 'must be a decimal number of USD with at most nine decimals, such as "25.00"')
      .refine(
        (value) => Number(value) > 0 && Number(value) <= CREDIT_USD_MAX,
        `must be above 0 and at most ${CREDIT_USD_MAX}`,
      )
      .describe('Amount of a USD credit with at most nine decimals, for example "25.00"'),
  }),
  GrantTerms.extend({
    kind: z.literal('METER').describe('Adds units of a custom meter'),
    meterSlot: MeterSlot.describe('The meter of a credit of units'),
    units: z.number().int().positive().max(CREDIT_UNITS_MAX).describe('Whole units of that meter'),
  }),
]);

export type GrantCreditRequest = z.infer<typeof GrantCreditRequest>;

export const GrantedCredit = z.object({
  creditId: z.string().describe('The credit'),
  balanceUsd: exactUsd.optional().describe('USD balance with it, exact; for kind USD'),
  unitsRemaining: z.number().int().optional().describe('Purchased units of the slot with it; for kind METER'),
  warnings: CreditWarnings,
});

export type GrantedCredit = z.infer<typeof GrantedCredit>;

export const RevokedCredit = z.object({
  creditId: z.string().describe('The credit'),
  unit: unit.describe('What it is counted in'),
  revoked: z.string().describe('What was left and is taken back: USD or units, exact'),
  balance: z.string().describe('Balance of the unit after it, exact'),
  reason: z.string().describe('Why'),
});

export type RevokedCredit = z.infer<typeof RevokedCredit>;

const Credit = z.object({
  creditId: z.string().describe('The credit'),
  unit: unit.describe('What it is counted in'),
  granted: z.string().describe('Amount granted: USD or units, exact'),
  remaining: z.string().describe('Amount left, exact'),
  grantedAt: instant.describe('When it was granted'),
  expiresAt: instant.nullable().describe('When it expires; null: never'),
  reference: z.string().nullable().describe("The operator's reference"),
});

const LedgerEntry = z.object({
  entryId: z.number().int().describe('Ascending'),
  at: instant.describe('When'),
  unit: unit.describe('Unit of the balance'),
  cause: z
    .enum(ENTRY_CAUSES)
    .describe('Cause; REVOKE takes back a credit, RETURN gives back what was spent by mistake'),
  amount: z.string().describe('Signed change: USD or units, exact'),
  balance: z.string().describe('Balance after it, exact'),
  creditId: z.string().nullable().describe('The credit; null if the balance was overdrawn'),
  reference: z
    .string()
    .nullable()
    .describe('The charge, the meter event, the reference of the grant, or the reason of the revocation'),
  subject: z
    .object({
      kind: z.enum(['call', 'meter_event']).describe('A call, or an increment of a custom meter'),
      id: z.string().describe('Its id'),
    })
    .nullable()
    .describe('The call or increment that was paid, or that gave back; null for other causes and for older entries'),
});

const FailedCharge = z.object({
  chargeId: z.string().describe('The charge, whose id the event has at the billing provider'),
  subject: z.enum(['call', 'meter_event']).describe('What it charges for'),
  subjectId: z.string().describe('The id of the call or of the meter event'),
  stripeCustomerId: z.string().describe("The billing provider's customer"),
  amountUsd: exactUsd.describe("Amount of the billing provider's event, exact; below zero if it gives back"),
  reason: z
    .string()
    .describe(
      'Why the billing provider does not have it; with `STRIPE_outcome_unknown` it may have it, so nothing more is sent',
    ),
  at: instant.describe('When it was charged'),
  nextAttemptAt: instant.nullable().describe('When it is tried again; null: no more'),
});

const RecentCall = z.object({
  callId: branded<CallId>(z.string()).describe('Call id'),
  status: z.string().describe('State'),
  startTime: instant.describe('When it began'),
  endTime: instant.nullable().describe('When it ended or timed out'),
  providerUsed: z.string().nullable().describe('Executing vendor'),
  modelUsed: z.string().nullable().describe('Model that ran'),
  costUSD: z.number().nullable().describe('Cost, if final'),
  usageSource: UsageSource.nullable().describe(
    'Source of the usage; `partial` and `estimated` are provisional. `null` if nothing was recorded yet',
  ),
  reversedAt: instant.optional().describe('When it was reversed, if it was: it no longer counts'),
});

export const OperatorCustomer = CustomerUsageData.extend({
  organizationId: branded<OrganizationId>(z.string()).describe('Organization id'),
  createdAt: instant.describe('When the customer was provisioned'),
  openCalls: z.number().int().describe('Calls in progress'),
  recentCalls: z.array(RecentCall).describe('The last calls, newest first'),
  wallet: z
    .object({
      balanceUsd: exactUsd.describe('USD balance, exact; negative when overdrawn'),
      heldUsd: exactUsd.describe('Held by open calls'),
      unsettledUsd: exactUsd.describe('Sum of the charges that are not settled yet'),
      availableUsd: exactUsd.describe('Balance less both: what new usage may be promised'),
      units: z
        .object({ CUSTOM1: z.number().int(), CUSTOM2: z.number().int(), AGENTIC_API: z.number().int() })
        .describe('Purchased units left, by slot'),
      openCharges: z.number().int().describe('Charges on their way'),
    })
    .describe('What the customer has bought'),
  failedCharges: z
    .array(FailedCharge)
    .describe('The last charges that the billing provider does not take, newest first; the balance has paid them'),
  credits: z.array(Credit).describe('Credits with something left, in the order in which they are spent'),
  ledger: z.array(LedgerEntry).describe('The last changes of balances, newest first'),
  outbox: z.object({
    pending: z.number().int().describe('Changes that wait for D1'),
    oldestAt: instant.nullable().describe('When the oldest one began to wait'),
    failures: z.number().int().describe('Attempts that failed in a row'),
    lastError: z.string().nullable().describe('Why the last attempt failed'),
    setAside: z.number().int().describe('Changes that D1 refused'),
  }),
});

export type OperatorCustomer = z.infer<typeof OperatorCustomer>;

/** The number of erased rows, by table. */
export const ErasedCustomer = z.object({
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  erased: z
    .object({
      object: z.boolean().describe("The customer's object held an account"),
      batches: z.number().int().describe("Requests for the gateway's batches"),
      callIds: z.number().int().describe('Entries of the call directory'),
      customers: z.number().int().describe('Rows of the customers list in D1'),
      calls: z.number().int().describe('Calls in D1'),
      meterEvents: z.number().int().describe('Custom meter events in D1'),
      creditEntries: z.number().int().describe('Ledger entries in D1'),
      usageHours: z.number().int().describe('Rows of hourly and daily usage in D1'),
      events: z.number().int().describe('Events of the customer in D1'),
      samples: z.number().int().describe('Stored samples'),
    })
    .describe('What was erased'),
});

export type ErasedCustomer = z.infer<typeof ErasedCustomer>;

export const MigratePlanRequest = z.object({
  when: z.enum(['NOW', 'AT_NEXT_REPLENISH']).describe('At once with usage and date kept, or at the next replenishment'),
});

export type MigratePlanRequest = z.infer<typeof MigratePlanRequest>;

export const StartedMigration = z.object({ jobId: z.string().describe('The job that moves the subscriptions') });

export const PlanMigration = z.object({
  jobId: z.string().describe('The job'),
  planId: z.string().describe('The plan'),
  usagePlanVersionId: z.string().describe('The version to which subscriptions move'),
  when: MigratePlanRequest.shape.when,
  status: z.enum(['RUNNING', 'COMPLETED']).describe('COMPLETED when no subscription is left to move'),
  total: z.number().int().describe('Subscriptions to move, as counted at the start'),
  migrated: z.number().int().describe('Subscriptions that were moved'),
  unchanged: z.number().int().describe('Subscriptions that needed no change'),
  failures: z.number().int().describe('Attempts that failed; each is made again'),
  lastError: z.string().nullable().describe('Why the last attempt failed'),
  startedAt: instant.describe('When it began'),
  finishedAt: instant.nullable().describe('When it was done'),
});

export type PlanMigration = z.infer<typeof PlanMigration>;

export const SharedStripeCustomer = z.object({
  stripeCustomerId: z.string().describe('Customer id at Stripe'),
  organizations: z
    .array(
      z.object({
        organizationId: branded<OrganizationId>(z.string()).describe('Organization id'),
        customers: z.number().int().describe('Its customers that were given the id'),
      }),
    )
    .describe('The organizations whose customers are billed to it'),
});

export type SharedStripeCustomer = z.infer<typeof SharedStripeCustomer>;

export const ReleasedStripeCustomer = z.object({
  stripeCustomerId: z.string().describe('Customer id at Stripe'),
  customers: z.number().int().describe('Customers of the organization that no longer have it'),
  more: z.boolean().describe('Some customers still have it: send the request again'),
});

export type ReleasedStripeCustomer = z.infer<typeof ReleasedStripeCustomer>;
