/**
 * Promise: each member that the contract lists without "optional" is in every answer, and a request needs no member but
 * those that the contract requires. The table below is read from the contract, sections 2 and 4, by hand.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ErrorEnvelope, successEnvelope } from '../../src/contract/envelope.ts';
import { type Operation, type OperationId, operations } from '../../src/contract/operations.ts';
import type { JsonSchema } from '../../src/http/openapi/types.ts';

/** Members by the place of the object that has them: `''` is the whole, `*` any value of a map, `[]` any item of a list. */
type Places = Readonly<Record<string, readonly string[]>>;

const words = (text: string) => text.split(' ').filter(Boolean);
const within = (prefix: string, places: Places): Places =>
  Object.fromEntries(Object.entries(places).map(([at, names]) => [[prefix, at].filter(Boolean).join('.'), names]));

const METER = words('remaining limit used unlimited ratio');

/** Section 2.5. */
const SUBSCRIPTION: Places = {
  '': words(
    'id usagePlanVersionId planName planVersion limitType reasoningLevel lastReplenishedAt nextReplenishAt subscriptionVersion',
  ),
  pending: words('usagePlanVersionId strategy effectiveAt'),
};

/** Sections 2.2 to 2.5, and the legacy shapes of 2.7. */
const STATE: Places = {
  '': words('canceled policy allowed entitlementHints meters remainingRatios subscription'),
  allowed: words('standard premium audio image search reasoningLevel'),
  entitlementHints: words('suggestedModelTier reasoningLevel policy'),
  'entitlementHints.downgrade': ['reason'],
  'meters.*': METER,
  ...within('subscription', SUBSCRIPTION),
  models: words('standard premium'),
  plan: words('id name version'),
};

/** 4.1. */
const BEGIN: Places = {
  ...STATE,
  '': [...(STATE[''] ?? []), ...words('callId startTime feature newCustomer idempotency batch pricingMode')],
  idempotency: words('key source'),
};

/** 4.5 and 4.6. */
const CUSTOMER: Places = { ...STATE, '': [...(STATE[''] ?? []), 'customerId'] };

const WINDOW = words('bucket windowMinutes startedAt endedAt completedCostUsd completedCalls');

const ANSWERS: Partial<Record<OperationId, Places>> = {
  beginCall: BEGIN,
  // 4.2
  endCall: {
    '': words('callId status costUSD standardCostUSD pricingMultiplier batch pricingMode usage balances'),
    error: words('code message'),
    usage: words(
      'inputTokens cachedInputTokens cacheWriteInputTokens billableInputTokens responseTokens reasoningTokens',
    ),
    spendVelocity: words('currency source generatedAt customerId currentCallCostUsd windows'),
    'spendVelocity.windows': words('hour day'),
    'spendVelocity.windows.hour': WINDOW,
    'spendVelocity.windows.day': WINDOW,
  },
  // 4.3. A denied call has not ended (section 3), and has neither `end` nor `endUsage`.
  makeCall: {
    ...within('begin', BEGIN),
    '': ['begin'],
    end: words('costUSD standardCostUSD pricingMultiplier metered balances'),
    'end.payg': words('chargedUsd markupPercent'),
    vendor: words('ok status'),
    'vendor.error': words('message details'),
    endUsage: words('tokens modelUsed'),
  },
  // 4.4
  readCall: {
    '': [
      ...words('callId customerId customerUserId status pricingStatus currency costUSD standardCostUSD costUsdNano'),
      ...words('pricingMultiplier pricingMode batch costBreakdown modelPricingSnapshotId pricingTier'),
      ...words('pricingTierReason providerUsed modelUsed startTime endTime payg'),
    ],
    payg: words('usingCredit chargedUsd chargeNanoUsd markupPercent settlementStatus settlementFailureReason'),
  },
  provisionCustomer: { ...CUSTOMER, '': [...(CUSTOMER[''] ?? []), 'newCustomer'] },
  readUsage: CUSTOMER,
  // 4.7 shows no other name.
  readUsageContext: { '': ['contractVersion'] },
  // 4.9
  changePlan: { ...within('subscription', SUBSCRIPTION), '': words('success subscription') },
  // 4.10
  incrementMeter: {
    '': words('success eventId meterSlot amount blocked meter'),
    meter: [
      ...METER,
      ...words('label periodUsageBefore periodUsageAfter overagePricingModel overagePricingComponents'),
    ],
    'meter.overagePricingComponents.[]': words('tierIndex upTo unitsExact priceNanoUsd priceQuantity'),
  },
  // 4.12
  readSamplingSettings: {
    '': words('version rate minInputTokens features customers retentionDays cacheSeconds settingsExpiresAt'),
    features: words('include exclude'),
    customers: ['exclude'],
  },
  // 2.8
  decideSampling: { '': words('sample reason decisionId samplingKey policyVersion settingsExpiresAt') },
  // 4.14
  storeSample: { '': words('sampleId receivedAt expiresAt retentionDays policyVersion') },
  // 4.15
  compressPrompt: {
    '': words('callId updated provider originalTokens compressedTokens savedTokens tokenSavingsRatio techniques'),
  },
};

const COMPRESSION = words('provider originalTokens compressedTokens');

const REQUESTS: Partial<Record<OperationId, Places>> = {
  beginCall: { '': ['customerId'], requested: [] },
  endCall: { '': ['callId'], error: words('code message'), promptCompression: COMPRESSION },
  makeCall: { '': ['customerId'], requested: [], vendor: ['url'], usage: [], end: [] },
  provisionCustomer: { '': ['customerId'] },
  changePlan: { '': ['planId'] },
  incrementMeter: { '': words('customerId meterSlot amount') },
  decideSampling: { '': [] },
  storeSample: { '': words('provider input') },
  compressPrompt: { '': words('callId promptCompression'), promptCompression: [...COMPRESSION, 'techniques'] },
};

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as JsonSchema;

/** The schema of the object at a place. */
function objectAt(schema: JsonSchema, at: string): JsonSchema {
  return words(at.replaceAll('.', ' ')).reduce<JsonSchema>((whole, step) => {
    const inner = step === '*' ? whole.additionalProperties : step === '[]' ? whole.items : whole.properties?.[step];
    if (typeof inner !== 'object') throw new Error(`nothing is at ${at}`);
    return inner.anyOf?.find(({ type }) => type === 'object') ?? inner;
  }, schema);
}

const cases = (table: Partial<Record<OperationId, Places>>) =>
  Object.entries(table).flatMap(([id, places]) =>
    Object.entries(places).map(([at, names]) => [id as OperationId, at, names] as const),
  );

describe('an answer always has what the contract lists', () => {
  test.each(cases(ANSWERS))('%s at "%s": %j', (id, at, names) => {
    const { required = [] } = objectAt(jsonSchema(operations[id].data, 'output'), at);
    expect(required).toEqual(expect.arrayContaining([...names]));
  });

  test('in its envelope, of a success and of an error', () => {
    const success = jsonSchema(successEnvelope(['X'], z.object({})), 'output');
    expect(success.required).toEqual(['result', 'data', 'correlationId']);
    expect(objectAt(success, 'result').required).toEqual(['status', 'code', 'timestamp']);
    const error = jsonSchema(ErrorEnvelope, 'output');
    expect(error.required).toEqual(['result', 'error', 'correlationId']);
    expect(objectAt(error, 'result').required).toEqual(['status', 'code', 'message', 'timestamp']);
  });
});

describe('a request needs what the contract requires, and no more', () => {
  test.each(cases(REQUESTS))('%s at "%s": %j', (id, at, names) => {
    const { body }: Operation = operations[id];
    if (!body) throw new Error(`${id} has no body`);
    const { required = [] } = objectAt(jsonSchema(body, 'input'), at);
    expect([...required].sort()).toEqual([...names].sort());
  });
});
