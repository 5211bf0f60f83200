/**
 * A broken rule is told as it is: what is refused is never named as the bound that is allowed.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { IncrementMeterRequest } from '../../src/contract/custom-meter.ts';
import { useContractMessages } from '../../src/contract/messages.ts';
import { ForecastQuery } from '../../src/contract/readings.ts';

useContractMessages();

const ruleOf = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues[0]?.message;

test.each([
  [IncrementMeterRequest, { customerId: 'c', meterSlot: 'CUSTOM1', amount: 0 }, 'must be above 0'],
  [IncrementMeterRequest, { customerId: 'c', amount: 1 }, 'is required'],
  [
    IncrementMeterRequest,
    { customerId: 'c', meterSlot: 'X', amount: 1 },
    'must be one of CUSTOM1, CUSTOM2, AGENTIC_API',
  ],
  [ForecastQuery, {}, 'is required'],
  [z.number().lt(5), 5, 'must be below 5'],
  [z.number().max(5), 6, 'must be at most 5'],
  [z.number().min(5), 4, 'must be at least 5'],
] as [z.ZodType, unknown, string][])('%#: %j', (schema, value, rule) => {
  expect(ruleOf(schema, value)).toBe(rule);
});

test.each([
  [z.uuid(), 'mine'],
  [z.url(), 'mine'],
  [z.email(), 'mine'],
  [z.iso.datetime(), 'yesterday'],
  [z.iso.date(), 'yesterday'],
  [z.string().regex(/^a$/), 'b'],
  [z.base64(), '?'],
  [z.number(), Number.NaN],
  [z.number().multipleOf(5), 3],
  [z.set(z.number()), new Set(['a'])],
  [z.map(z.string(), z.number()), new Map([[1, 1]])],
  [z.string().refine(() => false), 'any'],
  [z.union([z.number(), z.boolean()]), 'any'],
  [z.instanceof(Date), 'any'],
] as [z.ZodType, unknown][])(
  "%#: a rule is told in the contract's words, and never in those of zod",
  (schema, value) => {
    expect(ruleOf(schema, value)).toMatch(/^(must|is|has) (?!Invalid)/);
  },
);
