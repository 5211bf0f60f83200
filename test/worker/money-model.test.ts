/**
 * A customer's object against the reference model (test/support/reference-model.ts): random plans, and random commands
 * with the real storage behind them. After each command everything that can be seen must agree, and the books must sum.
 *
 * A failure prints its counterexample and the seed. VITE_SEED runs a seed again: only this prefix reaches a worker.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Plan } from '../../src/contract/plans.ts';
import { moneyCommands } from '../support/money-commands.ts';
import { executed, SIGHTS, type System } from '../support/money-steps.ts';
import { type Clockwork, withObject } from '../support/object.ts';
import { ReferenceModel } from '../support/reference-model.ts';

/** Far ahead of any real clock, so that no alarm fires by itself; before a leap day. */
const START = Date.UTC(2039, 11, 31, 22, 30);
const COMMANDS_MIN = 10_000;
const COMMANDS_OF_A_RUN = 100;
const RUNS = 68;
const BATCHES = 4;
/** Includes batches that look for a case that the first ones lacked. */
const BATCHES_MAX = 12;
/** Keeps the batches of neighbouring seeds apart. */
const BATCH_STRIDE = 1_000_003;
/** The runs of a batch, and making a failure smaller, take at most this long. */
const SHRINK_MS_MAX = 120_000;

const seed = Number(process.env.VITE_SEED ?? Math.floor(Math.random() * 0x7fff_ffff));

const oneOf = fc.constantFrom;
const prices = oneOf('0', '0.01', '0.000000001', '0.133333333', '0.25');
const quantities = oneOf('1', '3', '7', '1000');
const limit = (max: number) => fc.option(fc.nat(max), { nil: null, freq: 4 });
const tier = fc.record({ priceUsd: prices, per: quantities });
const overage = fc.oneof(
  fc.record({ model: fc.constant('SINGLE'), priceUsd: prices, per: quantities }),
  fc
    .tuple(
      fc.uniqueArray(fc.integer({ min: 1, max: 25 }), { minLength: 0, maxLength: 3 }),
      fc.array(tier, { minLength: 4, maxLength: 4 }),
    )
    .map(([borders, rates]) => {
      const upTo = [...borders.sort((a, b) => a - b).map(String), null];
      return { model: 'GRADUATED', tiers: upTo.map((last, index) => ({ upTo: last, ...rates[index] })) };
    }),
);
const customMeter = fc.record({
  label: fc.constant('unit'),
  enabled: oneOf(true, true, true, true, false),
  included: oneOf(0, 0, 3, 20),
  unlimited: oneOf(false, false, false, false, true),
  funding: fc.record({ credits: oneOf(true, true, false), payg: oneOf(true, true, false) }),
  overage: oneOf(true, true, true, false).chain((priced) => (priced ? overage : fc.constant(undefined))),
});
const intervals = [
  { every: 1, unit: 'MONTH' },
  { every: 3, unit: 'DAY' },
  { every: 36, unit: 'HOUR' },
  { every: 1, unit: 'WEEK' },
  { every: 1, unit: 'YEAR' },
  null,
];
const plans = fc
  .array(
    fc.record({
      limitType: oneOf('BLOCK', 'BLOCK', 'DOWNGRADE', 'NONE'),
      reasoningLevel: oneOf('NONE', 'LOW', 'HIGH'),
      replenish: oneOf(...intervals),
      limits: fc.oneof(
        fc.record({
          standardCalls: limit(4),
          premiumCalls: limit(3),
          standardTokens: fc.oneof(limit(100), limit(3_000)),
          premiumTokens: fc.oneof(limit(60), limit(3_000)),
          searches: limit(3),
          audioSeconds: limit(5),
        }),
        // Credit alone pays.
        fc.constantFrom({ standardCalls: 0, premiumCalls: 0 }, { standardCalls: 2, premiumTokens: 0 }),
      ),
      features: fc.record({
        audio: oneOf(true, true, false),
        image: oneOf(true, false),
        search: oneOf(true, true, false),
      }),
      rollingCalls: oneOf(null, null, null, { limit: 2, windowSeconds: 4 }),
      reserveOutputTokens: oneOf(null, null, 1, 25),
      maxOutputTokens: oneOf(null, null, null, 40),
      payg: fc.record({
        enabled: oneOf(true, true, true, false),
        markupPercent: oneOf(0, 12.5, 0.0001, 33.3333, 250.75),
        maxOutputTokens: oneOf(undefined, undefined, null, 50, 1_500),
      }),
      customMeters: fc.record(
        { CUSTOM1: customMeter, CUSTOM2: customMeter, AGENTIC_API: customMeter },
        { requiredKeys: ['CUSTOM1'] },
      ),
    }),
    { minLength: 2, maxLength: 4 },
  )
  // The customer starts on the first one; the object's version ids are made of the names.
  .map((contents) =>
    contents.map((content, index) => Plan.parse({ ...content, name: index === 0 ? 'test' : `plan-${index}` })),
  );
const stripeCustomers = oneOf(null, 'cus_own');

/** Runs random commands on objects and on the model; throws at the first difference. */
async function runBatch(batch: number): Promise<void> {
  console.log(`money model: VITE_SEED=${seed}, batch ${batch}`);
  await fc.assert(
    fc.asyncProperty(
      plans,
      stripeCustomers,
      moneyCommands(COMMANDS_OF_A_RUN),
      async (contents, stripeCustomerId, commands) => {
        const [first] = contents;
        if (!first) throw new Error('there is a first plan');
        const run = async (object: Clockwork) => {
          const model = new ReferenceModel(contents, stripeCustomerId, START);
          model.isKept = (callId) => object.seen(callId) !== null;
          const system: System = {
            object,
            writes: new Map(),
            archive: new Map(),
            customer: new Map(),
            ours: new Set(),
            serial: 0,
          };
          model.begin('first', {});
          object.begin('first', START);
          await fc.asyncModelRun(() => ({ model, real: system }), commands);
        };
        await withObject(first, run, stripeCustomerId === null ? {} : { stripeCustomerId });
      },
    ),
    { seed: seed + batch * BATCH_STRIDE, numRuns: RUNS, interruptAfterTimeLimit: SHRINK_MS_MAX },
  );
}

describe(`a customer's object, with the seed ${seed}`, () => {
  test.each(Array.from({ length: BATCHES }, (_, batch) => batch))(
    'says after each command what the model says: batch %i',
    runBatch,
  );

  test(`ran at least ${COMMANDS_MIN} commands, and covered every case`, async () => {
    const missing = () => SIGHTS.filter((sight) => !executed.seen.has(sight));
    // Some cases are rare, and a seed may miss one in its batches.
    for (let batch = BATCHES; batch < BATCHES_MAX && missing().length > 0; batch += 1) await runBatch(batch);
    console.log(
      `money model: ${executed.count} commands; ${[...executed.seen].map(([sight, times]) => `${sight}: ${times}`).join(', ')}`,
    );
    expect(executed.count).toBeGreaterThanOrEqual(COMMANDS_MIN);
    expect(missing()).toEqual([]);
  });
});
