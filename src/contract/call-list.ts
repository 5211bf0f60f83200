/**
 * The list of an organization's calls, as of the last projection: the usage and cost of each, and the filters of the
 * list.
 */

import { z } from 'zod';
import { CALL_STATUSES } from '../domain/call.ts';
import { DENIAL_CODES } from '../domain/denial.ts';
import type { CallId, CustomerId } from '../domain/ids.ts';
import { METER_NAMES } from '../domain/meters.ts';
import { USAGE_SOURCES } from '../domain/usage.ts';
import { ListedInAnswers } from './call-facts.ts';
import { ChargeBasis } from './calls.ts';
import { DenialSums } from './denial.ts';
import { branded, customerId, flag, instant, ListQuery, pageSchema, text, usd } from './fields.ts';
import { ENDS_AFTER_START, endsAfterStart } from './samples.ts';

/** The most calls that a search without an index looks at, the newest first; and the most rows of a CSV. */
export const CALLS_SEARCHED_MAX = 10_000;

const filterText = text(255);

export const CallsQuery = ListQuery.extend({
  from: instant.optional().describe('Begun at this instant or later'),
  to: instant.optional().describe('Begun before this instant'),
  customerId: customerId.optional().describe('Only this customer'),
  customerUserId: filterText.optional().describe('Only this user of a customer'),
  feature: filterText.optional().describe('Only this feature'),
  model: filterText.optional().describe('Only this model, as the call reported it or as `provider/model` of its price'),
  tag: filterText.optional().describe('Only with this tag'),
  status: z.enum(CALL_STATUSES).optional().describe('Only in this state'),
  reason: z.enum(DENIAL_CODES).optional().describe('Only denied for this reason'),
  errorCode: filterText.optional().describe('Only failed with this error code'),
  priced: flag
    .optional()
    .describe('`true`: only with a known cost; `false`: only ended ones without one, reversed ones left out'),
  costAboveUsd: z.coerce.number().pipe(usd).optional().describe('Only with a known cost above this'),
  usageSource: z
    .enum(USAGE_SOURCES)
    .exclude(['reported'])
    .optional()
    .describe('Only with provisional usage of this kind'),
  sort: z
    .enum(['startedAt', 'cost'])
    .default('startedAt')
    .describe('`startedAt`: the newest first; `cost`: the highest cost first'),
}).refine(endsAfterStart, ENDS_AFTER_START);

export type CallsQuery = z.infer<typeof CallsQuery>;

const tokens = (what: string) => z.number().int().nullable().describe(`${what}; null before the end`);

export const CallListItem = z.object({
  callId: branded<CallId>(z.string()).describe('The call'),
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  customerUserId: z.string().nullable().describe("The customer's user"),
  feature: z.string().nullable().describe('The feature'),
  tags: z.array(z.string()).describe('The tags'),
  status: z.enum(CALL_STATUSES).describe('State'),
  startedAt: instant.describe('When it began'),
  endedAt: instant.nullable().describe('When it stopped being in progress'),
  ...ListedInAnswers,
  modelKey: z.string().nullable().describe('The model of the price, as `provider/model`'),
  inputTokens: tokens('Tokens of the prompt, cached ones included'),
  cachedInputTokens: tokens('Prompt tokens that came from the cache'),
  responseTokens: tokens('Tokens of the answer'),
  costUSD: z.number().nullable().describe('Cost; null if it is not known, and before the end'),
  costUsdNano: z.string().nullable().describe('Cost, exact, in nano-USD'),
  chargedUSD: z
    .number()
    .nullable()
    .describe(
      "What the customer's balance pays for the call, settled or not yet; null if it pays nothing: an allowance pays, the charge failed, or the call was reversed or has not ended",
    ),
  chargedUsdNano: z.string().nullable().describe('The same charge, exact, in nano-USD'),
  chargeBasis: ChargeBasis.nullable().describe(
    '`HELD`: something has no rate, and the hold stands for it in the charge; null for other calls',
  ),
  usageSource: z
    .enum(USAGE_SOURCES)
    .nullable()
    .describe('Whether the usage is reported, or provisional: partial or estimated; null before the end'),
  denial: z
    .object({
      code: z.enum(DENIAL_CODES).describe('Why'),
      meter: z.enum(METER_NAMES).nullable().describe('The meter that was used up'),
      limit: z.number().nullable().describe("The plan's limit of the meter; null without a meter"),
      used: z.number().nullable().describe('What ended and open calls had taken of it; null without a meter'),
      ...DenialSums.shape,
    })
    .nullable()
    .describe('Why it was denied; null for other calls, or if the reason was not recorded'),
  errorCode: z.string().nullable().describe('The code of the error that it failed with'),
  reversedAt: instant.nullable().describe('When it was reversed: it no longer counts; null if it was not'),
});

export type CallListItem = z.infer<typeof CallListItem>;

export const CallList = pageSchema(CallListItem).extend({
  searchedFrom: instant
    .nullable()
    .describe(
      `If a filter or an order has no index, Callmeter searches the newest ${CALLS_SEARCHED_MAX.toLocaleString('en')} calls of the period, which began at this instant or later. To go on before it, send it as \`to\`. Null if every call of the period is searched`,
    ),
});

export type CallList = z.infer<typeof CallList>;
