/**
 * The lines of a charge sum to it, to the nano-USD: for a call of any parts and payers, whatever has no rate, in batch
 * and not, with any markup; also after a correction, and for charges that were stored before their cost was kept.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginCall } from '../../src/domain/begin-call.ts';
import { type Call, type CallOutcome, endCall } from '../../src/domain/call.ts';
import type { PricedPart } from '../../src/domain/call-parts.ts';
import { chargeLines } from '../../src/domain/charge-lines.ts';
import { amendCall } from '../../src/domain/correct-call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { grantCredit } from '../../src/domain/wallet.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, plan, usage } from '../unit/fixtures.ts';

const nano = fc.bigInt({ min: 0n, max: 10n ** 11n });
const price: fc.Arbitrary<ResolvedPrice> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ available: false, reason: 'MODEL_NOT_IN_CATALOG' } as const) },
  {
    weight: 6,
    arbitrary: fc.record({ input: nano, output: nano, isDear: fc.boolean() }).map(({ isDear, ...rates }) => ({
      available: true as const,
      card: rateCard(isDear ? { ...rates, input: rates.input + 10n ** 10n } : rates, [], {
        modelKey: isDear ? 'made/dear' : 'made/cheap',
      }),
    })),
  },
);
const used = fc
  .record({
    inputTokens: fc.nat({ max: 100_000 }),
    responseTokens: fc.nat({ max: 10_000 }),
    // Has no rate.
    audioOutputTokens: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 9 })),
  })
  .map(({ audioOutputTokens, responseTokens, ...rest }) =>
    usage({ ...rest, responseTokens: responseTokens + audioOutputTokens, audioOutputTokens }),
  );
const part = fc
  .record({ usage: used, price, isPremium: fc.boolean() })
  .map((given): PricedPart => ({ modelUsed: 'm', ...given }));
const mode = fc.constantFrom('standard' as const, 'batch' as const);
const markupPercent = fc.nat({ max: 5_000_000 }).map((scaled) => scaled / 10_000);

const ran = fc.record({ parts: fc.array(part, { minLength: 1, maxLength: 4 }), pricingMode: mode });

const FUNDS = 10n ** 15n;
const WHY = { atMs: 9, reason: 'why', by: 'operator' };

/** A call whose plan includes standard calls, and lets credit pay for premium ones, or for all. */
function begun(markup: number, included: boolean) {
  const limits = { standardCalls: included ? 5 : 0, premiumCalls: 0 };
  const opened = account(plan({ limits, payg: { enabled: true, markupPercent: markup } }));
  const credit = { creditId: 'c', unit: 'USD', granted: String(FUNDS), remaining: String(FUNDS) } as const;
  const wallet = grantCredit(opened.wallet, { ...credit, grantedAtMs: 0, expiresAtMs: null, reference: null });
  const bound = {
    ...{ tier: null, outputTokens: 500, answers: 1, inSteps: false },
    cost: { inputNanoUsd: '1000', outputNanoUsdPerMillion: '10000000' },
    ifLost: { inputTokens: 100, price: { available: false, reason: 'MODEL_NOT_IN_CATALOG' } as const },
  };
  const asked = { requested: { standard: true, premium: true }, pricingMode: 'standard', openedBy: 'r' } as const;
  return beginCall(
    { ...opened, wallet },
    asCallId('call'),
    asked,
    { bounds: [bound], usualCharge: () => 700n },
    { deadlineAtMs: 1_000, nowMs: 0 },
  );
}

function buildReport({
  parts: [own, ...parts],
  pricingMode,
}: {
  parts: PricedPart[];
  pricingMode: 'standard' | 'batch';
}) {
  if (!own) throw new Error('a call has a part');
  const { usage: ownUsage, isPremium, price: ownPrice } = own;
  return { report: { modelUsed: 'own', usage: ownUsage, isPremium, pricingMode, parts }, price: ownPrice };
}

function expectExact(outcome: CallOutcome): void {
  const lines = chargeLines(outcome);
  const { charge, price: of } = outcome;
  if (charge?.amountNanoUsd == null) {
    expect(lines).toBeNull();
    return;
  }
  const sum = (lines ?? []).reduce((total, { amountNanoUsd }) => total + amountNanoUsd, 0n);
  expect(sum).toBe(BigInt(charge.amountNanoUsd));
  const lineAmount = (kind: string) => lines?.find((line) => line.kind === kind)?.amountNanoUsd;
  expect(lineAmount('MARKUP')).toBeGreaterThanOrEqual(0n);
  expect(lineAmount('ALLOWANCE') ?? 0n).toBeLessThanOrEqual(0n);
  expect(lineAmount('BATCH') ?? 0n).toBeLessThanOrEqual(0n);
  expect(lineAmount('HELD') === undefined || charge.basis === 'HELD').toBe(true);
  if (of.status === 'FINAL')
    expect(lineAmount('COST')).toBe(of.breakdown.lines.reduce((total, line) => total + BigInt(line.costUsdNano), 0n));
}

const requireOutcome = ({ call }: { call: Call }): CallOutcome => {
  if (!call.outcome) throw new Error('the call has ended');
  return call.outcome;
};

test('the lines of a charge sum to it, before and after an amendment', () => {
  fc.assert(
    fc.property(ran, ran, markupPercent, fc.boolean(), (first, second, markup, included) => {
      const open = begun(markup, included);
      const { report, price: ownPrice } = buildReport(first);
      const ended = endCall(open.account, open.call, report, ownPrice, 'charge', 5);
      expectExact(requireOutcome(ended));
      const ids = { chargeId: 'again', differenceId: 'difference' };
      const amended = amendCall(ended.account, ended.call, { ...buildReport(second), fingerprint: 'f' }, WHY, ids);
      if (amended) expectExact(requireOutcome(amended));
    }),
  );
});

test('each line has what it is named after', () => {
  const made = (name: string): ResolvedPrice => ({
    available: true,
    card: rateCard({ input: '1000000', output: '10000000' }, [], { modelKey: name }),
  });
  const parts = [true, false].map((isPremium) => ({
    ...{ modelUsed: 'm', isPremium, price: made('made/up') },
    usage: usage({ inputTokens: 101, responseTokens: 10 }),
  }));
  const open = begun(10, true);
  const { report, price: ownPrice } = buildReport({ parts, pricingMode: 'batch' });
  const lines = chargeLines(requireOutcome(endCall(open.account, open.call, report, ownPrice, 'charge', 5)));
  // Each of both is 201, and half of that rounds to 101.
  expect(lines?.map(({ kind, amountNanoUsd }) => [kind, amountNanoUsd])).toEqual([
    ['COST', 402n],
    ['BATCH', -200n],
    ['ALLOWANCE', -101n],
    ['MARKUP', 10n],
  ]);
});

test('the lines of a charge that was stored without its cost sum to it too', () => {
  fc.assert(
    fc.property(ran, markupPercent, fc.boolean(), (given, markup, included) => {
      const open = begun(markup, included);
      const { report, price: ownPrice } = buildReport(given);
      const outcome = requireOutcome(endCall(open.account, open.call, report, ownPrice, 'charge', 5));
      if (outcome.charge) expectExact({ ...outcome, charge: { ...outcome.charge, costNanoUsd: undefined } });
    }),
  );
});
