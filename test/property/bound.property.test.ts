/**
 * The most that a call may cost is known before it runs: its bound is never below the cost, whatever the price and the
 * vendor's counts within the demand, and close to it for plain text.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CostBound, costAtMost, costBound, type Demand } from '../../src/domain/bound.ts';
import { withMarkup } from '../../src/domain/charge.ts';
import { affordableTokens } from '../../src/domain/hold.ts';
import { COMPONENTS, type Component } from '../../src/domain/price.ts';
import { computeCost, type PricingMode } from '../../src/domain/pricing.ts';
import { NO_USAGE, SERVICE_TIERS, type ServiceTier, type Usage } from '../../src/domain/usage.ts';
import { card, mode, usage } from '../support/price-arbitraries.ts';
import { rateCard } from '../support/rate-cards.ts';

const slack = fc.oneof(fc.constant(0), fc.nat(6_000));

/** The demand of a request with this usage: at least as much of everything. */
const demandOf = (used: Usage, more: { input: number; uses: number; tier: ServiceTier | undefined }): Demand => ({
  inputTokens: used.inputTokens + more.input,
  uses: {
    webSearch: used.searches + more.uses,
    fileSearch: used.toolUses?.fileSearch ?? 0,
    codeMinutes: used.toolUses?.codeMinutes ?? 0,
    images: used.images ?? 0,
    characters: used.characters ?? 0,
    audioSeconds: used.audioSeconds,
  },
  input: [
    ...some('cachedInput', used.cachedInputTokens),
    ...some('cacheWrite', used.cacheWriteInputTokens),
    ...some('cacheWrite1h', used.cacheWrite1hInputTokens),
    ...some('cacheWrite12h', used.cacheWrite12hInputTokens),
    ...some('audioInput', used.audioInputTokens),
    ...some('cachedAudioInput', used.cachedAudioInputTokens),
    ...some('imageInput', used.imageInputTokens),
    ...some('cachedImageInput', used.cachedImageInputTokens),
  ],
  output: [...some('audioOutput', used.audioOutputTokens), ...some('imageOutput', used.imageOutputTokens)],
  outputBeside: 0,
  // The vendor may have fallen back on the standard one.
  serviceTiers: ['standard', ...[used.serviceTier ?? more.tier].filter((tier) => tier !== undefined)],
  speeds: ['standard', used.speed ?? 'standard'],
  anyRegion: used.region !== undefined,
  rates: [],
  open: [],
});

const some = (component: Component, tokens = 0): Component[] => (tokens > 0 ? [component] : []);

test('no usage within the demand costs more than the bound', () => {
  let known = 0;
  const extra = fc.record({ input: slack, uses: fc.nat(2), tier: fc.constantFrom(undefined, ...SERVICE_TIERS) });
  fc.assert(
    fc.property(card, usage, mode, extra, slack, (price, used, asked, more, moreOutput) => {
      // A batch is priced as one, whatever its begin said.
      const pricing: PricingMode = used.serviceTier === 'batch' ? 'batch' : asked;
      const priced = computeCost(price, used, pricing);
      if (!priced.known) return;
      known += 1;
      const bound = costBound(price, demandOf(used, more), pricing);
      expect(costAtMost(bound, used.responseTokens + moreOutput)).toBeGreaterThanOrEqual(priced.cost.totalNanoUsd);
    }),
    { numRuns: 5_000 },
  );
  expect(known).toBeGreaterThan(250);
});

test('for plain text the bound is the cost, but for the rounding of its lines', () => {
  const rate = fc.bigInt({ min: 0n, max: 10n ** 12n });
  fc.assert(
    fc.property(
      rate,
      rate,
      fc.nat(2_000_000),
      fc.nat(200_000),
      fc.boolean(),
      (input, output, prompt, answer, isLong) => {
        const tiers = isLong ? [{ inputTokensAbove: prompt, rates: { input: input * 2n, output: output * 2n } }] : [];
        const price = rateCard({ input, output }, tiers);
        const demand = demandOf({ ...NO_USAGE, inputTokens: prompt }, { input: 0, uses: 0, tier: undefined });
        const bound = costAtMost(costBound(price, demand, 'standard'), answer);
        const exact = (input * BigInt(prompt) + output * BigInt(answer)) / 1_000_000n;
        expect(bound).toBeGreaterThanOrEqual(exact);
        expect(bound).toBeLessThanOrEqual(exact + BigInt(COMPONENTS.length) + 3n);
      },
    ),
  );
});

test('as many tokens are held as the balance affords, and not one less', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 9n });
  const percent = fc.constantFrom(0, 0.0001, 12.5, 33.3333, 250.75);
  fc.assert(
    fc.property(amount, amount, percent, fc.nat(20_000), amount, (input, output, markup, wanted, available) => {
      const cost: CostBound = { inputNanoUsd: input.toString(), outputNanoUsdPerMillion: (output * 1_000n).toString() };
      const charge = (tokens: number) => withMarkup({ costNanoUsd: costAtMost(cost, tokens), markupPercent: markup });
      const tokens = affordableTokens(cost, { markupPercent: markup, wanted, availableNanoUsd: available });
      expect(tokens).toBeLessThanOrEqual(wanted);
      if (tokens > 0) expect(charge(tokens)).toBeLessThanOrEqual(available);
      if (tokens < wanted) expect(charge(tokens + 1)).toBeGreaterThan(available);
    }),
    { numRuns: 2_000 },
  );
});
