/**
 * An organization's usage on the wire: calls, tokens and cost over a period, in every dimension (contract 4.16).
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { branded, customerId, instant, TEXT_LENGTH_MAX, text } from './fields.ts';

/** The retention of calls. */
export const SUMMARY_DAYS_MAX = 400;
/** The most groups of one dimension in an answer. */
export const GROUPS_MAX = 200;

export const timezone = text(64).default('UTC').describe('IANA time zone in which days begin and end');

export const Period = z.object({
  startedAt: instant.describe('Start, inclusive'),
  endedAt: instant.describe('End, exclusive'),
});

/** The earliest start: no usage is older. */
const FIRST_DATE = '1970-01-01';
const date = z.iso.date().refine((value) => value >= FIRST_DATE, `must be ${FIRST_DATE} or later`);

/** For figures that are summed over days whose usage is kept. */
export const completeSince = instant.describe(
  'The figures are complete from here on: the start of the period, or of the kept days if the period begins before them',
);

export const SummaryQuery = z.object({
  from: date.optional().describe('First day; default 30 days before `to`'),
  to: date.optional().describe('Day after the last one; default tomorrow, so that today is included'),
  timezone,
  customerId: customerId.optional().describe('Only this customer'),
  feature: text(TEXT_LENGTH_MAX).optional().describe('Only this feature'),
});

export type SummaryQuery = z.infer<typeof SummaryQuery>;

/** A sum that may exceed 2^53; JSON readers then get the nearest double. */
const sum = z.number().nonnegative();

export const Figures = z.object({
  calls: z.number().int().describe('Calls that ended, or that were not allowed'),
  unpricedCalls: z.number().int().describe('Ended calls without a known price; the cost does not include them'),
  inputTokens: sum.describe('Prompt tokens, cache reads and writes included'),
  cachedInputTokens: sum.describe('Prompt tokens served from the prompt cache'),
  outputTokens: sum.describe('Completion tokens, reasoning included'),
  reasoningTokens: sum.describe('Reasoning part of the completion tokens'),
  searches: sum.describe('Searches'),
  costUSD: z.number().describe('Recorded cost at vendors'),
  costUsdNano: z.string().describe('The same cost, exact, in nano-USD'),
  provisionalCalls: z.number().int().describe('Calls whose usage is partial or estimated'),
  provisionalCostUSD: z.number().describe('Cost of the provisional calls'),
  provisionalCostUsdNano: z.string().describe('The same part, exact, in nano-USD'),
});

export type Figures = z.infer<typeof Figures>;

const group = <Shape extends z.ZodRawShape>(shape: Shape) => Figures.extend(shape);

export const UsageSummaryData = z.object({
  period: Period.describe('The requested days'),
  completeSince,
  timezone: z.string().describe('Time zone of the days'),
  currency: z.literal('USD').describe('Currency'),
  asOf: instant.describe('Calls that ended before this instant are included'),
  backlog: z
    .object({
      customers: z.number().int().describe('Customers whose changes could not be sent yet'),
      ageSeconds: z.number().int().describe('Waiting time of the oldest one'),
    })
    .describe('What the figures may lack'),
  totals: Figures.describe('Figures of the period'),
  byDay: z
    .array(group({ date: z.string().describe('Local day'), ...Period.shape }))
    .describe('Every day of the period, in order. A UTC hour belongs to the day in which it starts'),
  byCustomer: z
    .array(group({ customerId: branded<CustomerId>(z.string()).describe('The customer') }))
    .describe('By cost, the highest first'),
  byFeature: z
    .array(group({ feature: z.string().nullable().describe('Feature; null if none was sent') }))
    .describe('By cost'),
  byModel: z
    .array(group({ model: z.string().nullable().describe('Model; null if none was reported') }))
    .describe('By cost'),
  byProvider: z
    .array(group({ provider: z.string().nullable().describe('Vendor; null if none was reported') }))
    .describe('By cost'),
  byOutcome: z
    .array(
      group({ outcome: z.enum(['COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED']).describe('How the calls ended') }),
    )
    .describe('By cost'),
  truncated: z
    .array(z.string())
    .describe(`Dimensions with more than ${GROUPS_MAX} groups; only the totals include the others`),
});

export type UsageSummaryData = z.infer<typeof UsageSummaryData>;
