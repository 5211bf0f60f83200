/**
 * How the service ran in the last day, hour by hour, in the operator API.
 */
import { z } from 'zod';
import { instant } from './fields.ts';

/** Kinds of requests that are told apart, because they take different times. */
export const REQUEST_KINDS = ['begin', 'end', 'gateway', 'other'] as const;

export type RequestKind = (typeof REQUEST_KINDS)[number];

/** Names of the cron's work. */
export const CRON_NAMES = ['housekeeping', 'import'] as const;

export type CronName = (typeof CRON_NAMES)[number];

const share = z.number().min(0).max(1).nullable();

const Requests = z.object({
  requests: z.number().int().describe('Requests with an API key or session to the service itself'),
  serverErrors: z.number().int().describe('Of those, answered with a status from 500 on'),
  medianMs: z
    .number()
    .nullable()
    .describe('Half of the answers began within this time; null without requests, or where it took over 10 seconds'),
  p95Ms: z.number().nullable().describe('95 % of the answers began within this time; null as above'),
});

const HealthHour = Requests.extend({
  startedAt: instant.describe('Start of the UTC hour'),
  calls: z.number().int().describe('Calls that ended in it, or that were not allowed'),
  failedCalls: z.number().int().describe('Of the calls, those that the application reported as failed'),
  timedOutCalls: z.number().int().describe('Of the calls, those that nobody ended'),
  deniedCalls: z.number().int().describe('Of the calls, those that were not allowed'),
  deliveries: z.number().int().describe('Transactions that brought changes to the reports in D1'),
  deliveredChanges: z.number().int().describe('Changes in them'),
  failedDeliveries: z.number().int().describe('Attempts that D1 did not take'),
  longestWaitMs: z
    .number()
    .nullable()
    .describe('How long the oldest change waited that was delivered; null without any'),
});

const CronRun = z.object({
  name: z.enum(CRON_NAMES).describe('`housekeeping` every hour, `import` of the model catalog every day'),
  startedAt: instant.describe('When it began'),
  tookMs: z.number().describe('For how long it ran'),
  ok: z.boolean().describe('It did what it should'),
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
      failedShare: share.describe('Failed calls, of those that ran; null without any'),
      deniedShare: share.describe('Calls that were not allowed, of all; null without any'),
      failedDeliveries: z.number().int().describe('Attempts that D1 did not take'),
      longestWaitMs: z.number().nullable().describe('How long the oldest change waited for the reports'),
    })
    .describe('Over the period'),
  requests: z
    .array(
      Requests.extend({
        kind: z.enum(REQUEST_KINDS).describe('`begin` and `end` of calls, the gateway, and all others'),
      }),
    )
    .describe(
      'By kind, over the period. Each isolate of the Worker sends its figures at most every ten seconds, and with the next request: what it holds when it ends is not in them',
    ),
  cron: z.array(CronRun).describe('The last run of each kind, and those of the period that failed; newest first'),
  truncated: z.boolean().describe('The calls are of the 1,000 organizations with the most customers alone'),
});

export type HealthHistory = z.infer<typeof HealthHistory>;
