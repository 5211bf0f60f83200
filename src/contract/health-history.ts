/**
 * The service's figures of the last day, hour by hour, in the operator API.
 */
import { z } from 'zod';
import { instant } from './fields.ts';

/** Kinds of requests that are counted separately, because they take different times. */
export const REQUEST_KINDS = ['begin', 'end', 'gateway', 'other'] as const;

export type RequestKind = (typeof REQUEST_KINDS)[number];

/** Names of the cron's work. */
export const CRON_NAMES = ['housekeeping', 'import'] as const;

export type CronName = (typeof CRON_NAMES)[number];

const share = z.number().min(0).max(1).nullable();

const Requests = z.object({
  requests: z.number().int().describe('Requests with an API key or session to the service itself'),
  serverErrors: z.number().int().describe('Requests answered with a status of 500 or above'),
  medianMs: z
    .number()
    .nullable()
    .describe('Half of the answers began within this time; null without requests, or if it took over 10 seconds'),
  p95Ms: z.number().nullable().describe('95 % of the answers began within this time; null as above'),
});

const HealthHour = Requests.extend({
  startedAt: instant.describe('Start of the UTC hour'),
  calls: z.number().int().describe('Calls that ended in it, or that were not allowed'),
  failedCalls: z.number().int().describe('Calls that the application reported as failed'),
  timedOutCalls: z.number().int().describe('Calls that nobody ended'),
  deniedCalls: z.number().int().describe('Denied calls'),
  deliveries: z.number().int().describe('Transactions that brought changes to D1'),
  deliveredChanges: z.number().int().describe('Changes in them'),
  failedDeliveries: z.number().int().describe('Attempts that D1 did not take'),
  longestWaitMs: z.number().nullable().describe('The longest time that a delivered change waited; null without any'),
});

const CronRun = z.object({
  name: z.enum(CRON_NAMES).describe('`housekeeping` every hour, `import` of the model catalog every day'),
  startedAt: instant.describe('When it began'),
  tookMs: z.number().describe('Duration of the run'),
  ok: z.boolean().describe('The run succeeded'),
  message: z.string().nullable().describe('What came of it, or why it failed'),
});

export const HealthHistory = z.object({
  period: z
    .object({ startedAt: instant.describe('Start of the first hour'), endedAt: instant.describe('Now') })
    .describe('The last 24 whole hours and the current one'),
  hours: z.array(HealthHour).describe('Every hour, in order; the last one is not over'),
  totals: z
    .object({
      calls: z.number().int().describe('Calls'),
      failedShare: share.describe('Share of failed calls in those that ran; null without any'),
      deniedShare: share.describe('Share of denied calls in all calls; null without any'),
      failedDeliveries: z.number().int().describe('Attempts that D1 did not take'),
      longestWaitMs: z.number().nullable().describe('How long the oldest change waited for D1'),
    })
    .describe('Over the period'),
  requests: z
    .array(
      Requests.extend({
        kind: z.enum(REQUEST_KINDS).describe('`begin` and `end` of calls, the gateway, and all others'),
      }),
    )
    .describe(
      'By kind, over the period. Each isolate of the Worker sends its figures at most every ten seconds, with its next request, so the last ones of an isolate are missing',
    ),
  cron: z.array(CronRun).describe('The last run of each kind, and those of the period that failed; newest first'),
  truncated: z.boolean().describe('Only the calls of the 1,000 organizations with the most customers are counted'),
});

export type HealthHistory = z.infer<typeof HealthHistory>;
