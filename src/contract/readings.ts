/**
 * Readings on the wire: a customer's usage context and forecast (contract 4.7, 4.8), and anomalies (4.16). Periods
 * are half-open, and every quantity has a unit.
 */

import { z } from 'zod';
import { DENIAL_CODES } from '../domain/denial.ts';
import type { CustomerId } from '../domain/ids.ts';
import { METER_NAMES } from '../domain/meters.ts';
import { TIERS } from '../domain/tiers.ts';
import { CreditWarnings } from './customers.ts';
import { Subscription } from './entitlements.ts';
import { branded, customerId, flag, instant, ListQuery, nextCursor } from './fields.ts';
import { Period, timezone } from './usage-summary.ts';

/** Two weeks: the minimum to know the usual usage. */
export const ANOMALY_DAYS_MIN = 14;

export const ForecastMetric = z.enum([
  'calls',
  'inputTokens',
  'outputTokens',
  'allTokens',
  'dollars',
  'agenticApi',
  'customMeter1',
  'customMeter2',
]);
export type ForecastMetric = z.infer<typeof ForecastMetric>;

const Unit = z
  .enum(['calls', 'tokens', 'USD', 'units', 'searches', 'seconds'])
  .describe('What the quantity is counted in');

export const ForecastQuery = z.object({
  metric: ForecastMetric.describe('What is forecast; dollars are recorded provider cost, not revenue'),
  timezone,
});

export const UsageContextQuery = z.object({
  timezone,
  forecastMetric: ForecastMetric.default('calls').describe('What is forecast'),
  includeForecast: flag.default(true).describe('Whether the forecast is made'),
  includeSignals: flag.default(true).describe('Whether signals and review reasons are looked for'),
});

export type UsageContextQuery = z.infer<typeof UsageContextQuery>;

const Quantiles = z.object({
  expected: z.number().describe('Expected quantity'),
  p10: z.number().describe('One in ten outcomes is below'),
  p50: z.number().describe('Half of the outcomes are below'),
  p90: z.number().describe('Nine in ten outcomes are below'),
});

const RunsOut = z.object({
  earliestAt: instant.nullable().describe('One in ten outcomes is used up before; null if even P90 lasts'),
  expectedAt: instant.nullable().describe('At the expected pace; null if it lasts'),
  latestAt: instant.nullable().describe('Nine in ten outcomes are used up before; null if P10 lasts'),
});

const ForecastFacts = z.object({
  metric: ForecastMetric.describe('What is forecast'),
  unit: Unit,
  timezone: z.string().describe('Time zone of the days that the forecast learns from'),
  status: z
    .enum(['available', 'insufficient_history', 'not_applicable', 'incomplete', 'temporarily_unavailable'])
    .describe('Whether there is a forecast'),
  reason: z.string().nullable().describe('Why there is no forecast, or an incomplete one'),
  period: Period.describe('The usage period'),
  horizon: Period.describe(
    'From the present hour, or the beginning of the usage period in it, to the next replenishment',
  ),
  recorded: z.number().describe('Quantity of the period so far'),
  remaining: Quantiles.nullable().describe('The whole horizon, of which the present hour is in part recorded already'),
  total: Quantiles.nullable().describe(
    'The whole period: what was recorded before the horizon, and the horizon; at least what is recorded',
  ),
  method: z
    .enum(['weekday_seasonal', 'recent_level'])
    .nullable()
    .describe('The level of the latest weeks, with a factor for each weekday if weekdays differ'),
  backtest: z
    .object({
      weightedAbsolutePercentageError: z.number().nullable().describe('0.1 is 10 percent; null if nothing was used'),
      windowHours: z.number().describe('Length of the windows that were forecast'),
      windows: z.number().int().describe('Number of windows that were forecast'),
    })
    .nullable()
    .describe('Backtest of the method'),
  quality: z
    .enum(['HIGH', 'MEDIUM', 'LOW'])
    .nullable()
    .describe(
      'How close P10 and P90 are, and how much history supports that. HIGH: four weeks of usage, a horizon that fits twice into the history after its first week, and P10 to P90 within 25 percent of the expected value; MEDIUM: two weeks, once, and 50. P10 to P90 is made to hold 80 percent of outcomes in every grade',
    ),
  historyDays: z.number().int().describe('Whole days of history'),
  runsOut: RunsOut.nullable().describe(
    'When the quantity that the metric draws on is used up, with 80 percent between earliestAt and latestAt: the included units, for agenticApi, customMeter1 and customMeter2; the USD balance, for dollars of a customer whose calls were charged to it in the latest week. An instant after the horizon is null. Null for other metrics, without a limit, and without a forecast. It does not mean that service ends',
  ),
  meters: z
    .array(
      z.object({
        meter: z.enum(METER_NAMES).describe('The meter'),
        used: z.number().describe('What ended calls and increments consumed in the period'),
        limit: z.number().describe('Its limit in the period'),
        runsOut: RunsOut.nullable().describe(
          'When it is used up; null without a forecast, and for a meter of a tier in the first three days of the period or before its first use',
        ),
      }),
    )
    .describe(
      "The limited meters that the metric draws on: those of both tiers for calls and outputTokens, each with the tier's part of the period so far, and the custom meter of agenticApi, customMeter1 and customMeter2. Empty for other metrics",
    ),
  projectedAllowanceExhaustionAt: instant
    .nullable()
    .optional()
    .describe(
      'When the included units are used up at this pace; null if they last, or none are included. Only for agenticApi, customMeter1 and customMeter2. It does not mean that service ends',
    ),
});

export const ForecastData = ForecastFacts.extend({
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  days: z
    .array(
      Period.extend({
        expected: z.number().describe("The day's share of the expected quantity"),
        p10: z.number().describe('The same share of P10'),
        p50: z.number().describe('The same share of P50'),
        p90: z.number().describe('The same share of P90'),
      }),
    )
    .nullable()
    .describe(
      'The horizon in days from the present hour, for a chart. The sum of each figure over the days is that of remaining. null without a forecast, and for a horizon of more than 400 days',
    ),
});
export type ForecastData = z.infer<typeof ForecastData>;
export type ForecastFacts = z.infer<typeof ForecastFacts>;

const Quantities = z.object({
  calls: z.number().describe('Ended calls'),
  failedCalls: z.number().describe('Failed calls'),
  inputTokens: z.number().describe('Tokens'),
  outputTokens: z.number().describe('Tokens'),
  dollars: z.number().describe('Recorded cost at vendors in USD'),
  provisionalCalls: z.number().describe('Calls whose usage is partial or estimated'),
  provisionalDollars: z.number().describe('Cost of the provisional calls in USD'),
  agenticApi: z.number().describe('Units'),
  customMeter1: z.number().describe('Units'),
  customMeter2: z.number().describe('Units'),
});

const Change = z.object({
  latest: z.number().describe('In the latest seven days'),
  preceding: z.number().describe('In the seven days before'),
  change: z.number().describe('Difference'),
  ratio: z.number().nullable().describe('Latest over preceding; null if nothing preceded'),
});

export const UsageContextData = z.object({
  contractVersion: z.literal(1).describe('Version of this shape'),
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  timezone: z.string().describe('Time zone of the forecast; the weeks are of UTC days'),
  asOf: instant.describe('Start of the present hour: readings have the resolution of an hour'),
  customer: z.object({
    friendlyName: z.string().nullable().describe('Display name'),
    createdAt: instant.describe('When the customer was provisioned'),
    canceled: z.boolean().describe('The subscription is canceled'),
  }),
  plan: z.object({
    planId: z.string().describe('Plan'),
    name: z.string().describe('Name of the plan'),
    usagePlanVersionId: z.string().describe('Plan version'),
    limitType: z.enum(['NONE', 'BLOCK', 'DOWNGRADE']).describe('What happens when an allowance is used up'),
  }),
  subscription: Subscription,
  meters: z
    .array(
      z.object({
        name: z.string().describe('Meter'),
        unit: Unit,
        limit: z.number().nullable().describe('Allowance of the period; null when unlimited'),
        used: z.number().describe('Taken of it, open calls included'),
        remaining: z.number().describe('What is left; informational when unlimited'),
        unlimited: z.boolean().describe('No bound'),
        ratio: z.number().nullable().describe('remaining / limit'),
      }),
    )
    .describe('Every meter, with its unit'),
  funding: z
    .object({
      payAsYouGo: z.boolean().describe('The plan lets the USD balance pay beyond the allowance'),
      markupPercent: z.number().describe('Added to the cost'),
      balanceUsd: z.number().describe('USD balance'),
      availableUsd: z.number().describe('Balance less holds and charges under way'),
      purchasedUnits: z
        .object({ agenticApi: z.number(), customMeter1: z.number(), customMeter2: z.number() })
        .describe('Purchased units left, by meter'),
      continuesBeyondAllowance: z.boolean().describe('Service goes on when the allowance is used up'),
      chargedUsd: z
        .number()
        .optional()
        .describe(
          'What calls and custom meters charged in the period; absent if the period began before this was counted',
        ),
      upgradeUrl: z
        .string()
        .optional()
        .describe('Page on which customers buy more; absent if the organization names none'),
      next: z
        .array(
          z.object({
            of: z
              .enum([...TIERS, 'agenticApi', 'customMeter1', 'customMeter2'])
              .describe("A call of the tier, or a unit of the plan's custom meter"),
            payer: z
              .enum(['ALLOWANCE', 'PURCHASED_UNITS', 'BALANCE', 'COUNTED', 'NOBODY'])
              .describe(
                'ALLOWANCE: the plan includes it, with or without a limit. COUNTED: nothing pays, and the policy NONE does not deny. NOBODY: it is denied, or blocked',
              ),
            reason: z
              .enum(DENIAL_CODES)
              .optional()
              .describe('Why nothing pays; absent if something pays, or the call is only counted'),
            instead: z.enum(TIERS).optional().describe('Under DOWNGRADE, the tier that runs in its place'),
          }),
        )
        .optional()
        .describe(
          'What pays for the next call or unit now; a call that needs more than the rest of the balance is denied',
        ),
      warnings: CreditWarnings,
    })
    .describe('What pays when the allowance is used up'),
  weeks: z
    .object({
      latest: Period.describe('The latest seven completed UTC days'),
      preceding: Period.describe('The seven days before'),
      calls: Change.describe('Calls'),
      failedCalls: Change.describe('Failed calls'),
      inputTokens: Change.describe('Tokens'),
      outputTokens: Change.describe('Tokens'),
      dollars: Change.describe('USD of recorded cost at vendors'),
      agenticApi: Change.describe('Units'),
      customMeter1: Change.describe('Units'),
      customMeter2: Change.describe('Units'),
    })
    .describe('The latest week against the one before'),
  currentPeriod: Period.extend({
    quantities: Quantities.describe('Recorded in the period so far'),
  }).describe('The usage period'),
  signals: z
    .array(
      z.object({
        code: z.string().describe('What was noticed'),
        severity: z.enum(['INFO', 'WARNING', 'CRITICAL']).describe('How much it matters'),
        meter: z.string().nullable().describe('The meter that the signal is about; null if it is about none'),
        evidence: z.record(z.string(), z.union([z.number(), z.string(), z.null()])).describe('The figures behind it'),
      }),
    )
    .optional()
    .describe('What stands out, each with its evidence; absent if signals were not requested'),
  forecast: ForecastFacts.optional().describe('Forecast of the requested metric; absent if it was not requested'),
  reviewReasons: z
    .array(
      z.object({
        reason: z
          .enum(['OUT_OF_ALLOWANCE', 'FUNDING_AT_RISK', 'QUALITY_AT_RISK', 'CHURN_RISK', 'UPSELL_CANDIDATE'])
          .describe('Why a person should look'),
        signals: z.array(z.string()).describe('The signals that say so'),
      }),
    )
    .optional()
    .describe('Derived from the signals only; absent if they were not requested'),
  evidence: z
    .object({
      complete: z.boolean().describe('All evidence of the readings is there'),
      gaps: z
        .array(z.enum(['HISTORY_SHORTER_THAN_TWO_WEEKS', 'PERIOD_NOT_COVERED', 'CALLS_WITHOUT_PRICE']))
        .describe('What is missing'),
    })
    .describe('How complete the evidence is'),
});

export type UsageContextData = z.infer<typeof UsageContextData>;

/** The most days that are searched for anomalies. */
const ANOMALY_DAYS_MAX = 100;

export const AnomaliesQuery = ListQuery.extend({
  days: z.coerce
    .number()
    .int()
    .min(ANOMALY_DAYS_MIN)
    .max(ANOMALY_DAYS_MAX)
    .default(60)
    .describe('Completed UTC days to look at, 14 to 100, and today'),
  customerId: customerId.optional().describe('Only this customer; default the organization and its largest customers'),
});

export type AnomaliesQuery = z.infer<typeof AnomaliesQuery>;

export const ANOMALY_KINDS = [
  'SPEND_SPIKE',
  'USAGE_DROP',
  'SILENCE',
  'ERROR_BURST',
  'DENIAL_BURST',
  'NEW_EXPENSIVE_MODEL',
  'NEW_EXPENSIVE_FEATURE',
  'COST_PER_CALL_SHIFT',
  'CACHE_RATE_DROP',
  'CUSTOMER_SHARE_RISE',
] as const;

/** An episode of unusual usage. */
export const Anomaly = z.object({
  id: z
    .string()
    .describe(
      'Identity of the episode: kind, UTC day of the start, customer, and the new model or feature. It stays the same while the episode grows, for readings of the same days',
    ),
  customerId: branded<CustomerId>(z.string()).nullable().describe('The customer; null for the organization as a whole'),
  kind: z.enum(ANOMALY_KINDS).describe('What happened'),
  summary: z.string().describe('What happened as a sentence for people, with figures and times in UTC'),
  startedAt: instant.describe('Start, inclusive'),
  endedAt: instant.describe('End, exclusive; the end of the period if it may still go on'),
  unit: z
    .enum(['USD', 'calls', 'share'])
    .describe(
      'Unit of `expected` and `observed`; a share is 0 to 1. For COST_PER_CALL_SHIFT it is the USD of one call',
    ),
  expected: z.number().describe('What was to be expected'),
  observed: z.number().describe('What was recorded'),
  severity: z
    .enum(['LOW', 'MEDIUM', 'HIGH'])
    .describe('How much it matters: the lower grade of how unusual it is and of its amount in dollars or calls'),
  explainedBy: z
    .array(
      z.object({
        dimension: z.enum(['model', 'feature', 'customer']).describe('Kind of the key'),
        key: z.string().describe('The model, feature or customer'),
        change: z.number().describe('What it added, or took, in the unit of the episode'),
        share: z.number().describe('Its share of the whole change; above 1 if others changed the other way'),
        among: z.number().int().describe('How many models, features or customers were compared'),
      }),
    )
    .describe(
      'What contributed a fifth or more of the change against the same hours a week before, the largest of each dimension first. Customers are compared by whole days',
    ),
  evidence: z.record(z.string(), z.union([z.number(), z.string()])).describe('The figures behind it'),
});

export type Anomaly = z.infer<typeof Anomaly>;

export const AnomaliesData = z.object({
  period: Period.describe('Period of the reading'),
  asOf: instant.describe('End of the last whole hour'),
  items: z.array(Anomaly).describe('Episodes, the latest first'),
  customersLookedAt: z.number().int().describe('Customers whose series were read: the largest by cost'),
  nextCursor,
});

export type AnomaliesData = z.infer<typeof AnomaliesData>;
