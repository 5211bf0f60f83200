/**
 * A plan survives the form: shown and sent back unchanged, any plan stays the same.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fieldsOfPlan, planOfFields, tierRows } from '../../src/console/plan-form.ts';
import { Plan } from '../../src/contract/plans.ts';
import { METER_SLOTS } from '../../src/domain/meters.ts';

const COUNT_MAX = 1_000_000_000_000_000;

const limit = fc.option(fc.integer({ min: 0, max: COUNT_MAX }));
const price = fc
  .tuple(fc.nat(999_999), fc.nat(999_999_999))
  .map(([whole, nano]) => `${whole}.${String(nano).padStart(9, '0')}`);
const units = fc.integer({ min: 1, max: 1_000_000 });
const label = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme-ascii' }).filter((text) => text.trim() === text);

const tiers = fc.uniqueArray(units, { minLength: 0, maxLength: 6 }).chain((borders) =>
  fc
    .array(fc.record({ priceUsd: price, per: units.map(String) }), {
      minLength: borders.length + 1,
      maxLength: borders.length + 1,
    })
    .map((rows) => {
      const sorted = borders.toSorted((a, b) => a - b);
      return rows.map((row, index) => ({ ...row, upTo: index < sorted.length ? String(sorted[index]) : null }));
    }),
);
const overage = fc.oneof(
  fc.record({ model: fc.constant('SINGLE'), priceUsd: price, per: units.map(String) }),
  fc.record({ model: fc.constant('GRADUATED'), tiers }),
);
const meter = fc.record(
  {
    enabled: fc.boolean(),
    label,
    included: fc.integer({ min: 0, max: COUNT_MAX }),
    unlimited: fc.boolean(),
    funding: fc.record({ credits: fc.boolean(), payg: fc.boolean() }),
    overage,
  },
  { requiredKeys: ['enabled', 'label', 'included', 'unlimited', 'funding'] },
);

const alerts = fc
  .record(
    {
      thresholdsPercent: fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 10 }),
      balanceBelowUsd: fc.option(price),
      balanceBelowDays: fc.option(fc.integer({ min: 1, max: 90 })),
    },
    { requiredKeys: [] },
  )
  .filter((given) => Object.keys(given).length > 0);

const plan = fc
  .record({
    name: label,
    limitType: fc.constantFrom('NONE', 'BLOCK', 'DOWNGRADE'),
    reasoningLevel: fc.constantFrom('NONE', 'LOW', 'MEDIUM', 'HIGH'),
    replenish: fc.option(
      fc.record({
        every: fc.integer({ min: 1, max: 1_000 }),
        unit: fc.constantFrom('HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'),
      }),
    ),
    limits: fc.record({
      standardCalls: limit,
      premiumCalls: limit,
      standardTokens: limit,
      premiumTokens: limit,
      searches: limit,
      audioSeconds: limit,
    }),
    features: fc.record({ audio: fc.boolean(), image: fc.boolean(), search: fc.boolean(), tools: fc.boolean() }),
    rollingCalls: fc.option(
      fc.record({ limit: fc.integer({ min: 1, max: 100_000 }), windowSeconds: fc.integer({ min: 1, max: 86_400 }) }),
    ),
    reserveOutputTokens: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
    maxOutputTokens: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
    maxAnswers: fc.integer({ min: 1, max: 1_000 }),
    payg: fc.record({
      enabled: fc.boolean(),
      markupPercent: fc.integer({ min: 0, max: 100_000_000 }).map((value) => Number((value / 10_000).toFixed(4))),
      maxOutputTokens: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
      holds: fc.constantFrom('EXACT', 'EXPECTED'),
    }),
    customMeters: fc.record({ CUSTOM1: meter, CUSTOM2: meter, AGENTIC_API: meter }, { requiredKeys: [] }),
    alerts: fc.option(alerts, { nil: undefined }),
    priceUsd: fc.option(price, { nil: undefined }),
  })
  .map(({ alerts: given, priceUsd, ...document }) => ({
    ...document,
    ...(given && { alerts: given }),
    ...(priceUsd !== undefined && { priceUsd }),
  }))
  .map((document) => Plan.parse(document));

test('a plan that is shown in the form and sent as it is, is the same plan', () => {
  fc.assert(
    fc.property(plan, (document) => {
      expect(Plan.parse(planOfFields(fieldsOfPlan(document)))).toEqual(document);
    }),
  );
});

test('there are always empty rows for more prices, up to the limit of a plan', () => {
  fc.assert(
    fc.property(plan, (document) => {
      for (const slot of METER_SLOTS) {
        const known = document.customMeters[slot]?.overage;
        const filled = known?.model === 'GRADUATED' ? known.tiers.length : 0;
        expect(tierRows(fieldsOfPlan(document), slot)).toBe(Math.min(20, filled + 2));
      }
    }),
  );
});

test('an invalid number is passed on as typed, so that the contract names the error', () => {
  const fields = {
    ...fieldsOfPlan(Plan.parse({ name: 'A', limitType: 'BLOCK' })),
    'limits.searches': '1,00',
    'limits.premiumCalls': '1e3x',
  };
  const broken = Plan.safeParse(planOfFields(fields));
  expect(broken.error?.issues.map(({ path }) => path.join('.')).toSorted()).toEqual([
    'limits.premiumCalls',
    'limits.searches',
  ]);
});
