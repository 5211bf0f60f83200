/**
 * Whatever the prices, the bound, the day and the requirements: a switch is made from its day on and never before,
 * exactly if the cost of the same traffic stays within the bound; a wider bound never turns a switch into a refusal.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Catalog, CatalogModel } from '../../src/catalog/model.ts';
import { NO_REVIEWS } from '../../src/catalog/reviews.ts';
import { CAPABILITIES } from '../../src/contract/model-lookup.ts';
import type { AutopilotEntry } from '../../src/domain/model-mappings.ts';
import { buildRate, type RateCard } from '../../src/domain/price.ts';
import { NO_USAGE } from '../../src/domain/usage.ts';
import { decideSwitch, dueSwitch, findSuccessor } from '../../src/readings/radar/autopilot.ts';

const DAY = 86_400_000;
const SHUTDOWN = Date.parse('2027-01-14');
const SOURCE = { label: 'page', url: 'https://example.com', checkedAt: '2026-11-01' };

const model = (name: string, lifecycle: object, capabilities: string[]): CatalogModel => ({
  ...{ provider: 'openai', model: name, displayName: name, family: 'x', kind: 'chat', aliases: [], preview: false },
  lifecycle: { status: 'ACTIVE', source: SOURCE, confidence: 'provider', ...lifecycle },
  releasedAt: '2024-01-01',
  modalities: { input: ['text'], output: ['text'] },
  ...{ capabilities, endpoints: [] },
});

/** In nano-USD for a token, so that the cost of a call is a product of whole numbers. */
const rateCard = (input: number, output: number): RateCard => ({
  ...{ snapshotId: 's', provider: 'openai', modelKey: 'openai/x' },
  rates: [buildRate('input', String(input / 1_000), 1_000_000), buildRate('output', String(output / 1_000), 1_000_000)],
});

const capabilities = fc.subarray([...CAPABILITIES]);
const rates = fc.tuple(fc.integer({ min: 1, max: 50_000 }), fc.integer({ min: 1, max: 50_000 }));

test('a switch is made on its day, within the bound, with everything that is required', () => {
  const cases = fc.record({
    switchDaysBefore: fc.integer({ min: 0, max: 365 }),
    atMs: fc.integer({ min: -400 * DAY, max: 100 * DAY }),
    hundredths: fc.integer({ min: 0, max: 100_000 }),
    wider: fc.integer({ min: 0, max: 100_000 }),
    from: rates,
    to: rates,
    used: fc.tuple(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 1, max: 1_000_000 })),
    required: capabilities,
    has: capabilities,
    credentials: fc.boolean(),
  });
  fc.assert(
    fc.property(cases, ({ switchDaysBefore, atMs, hundredths, wider, from, to, used, required, has, credentials }) => {
      const nowMs = SHUTDOWN + atMs;
      const catalog: Catalog = {
        ...{ version: '2026-11-23', publishedAtMs: 0, transitions: [] },
        models: [
          model('old', { shutdownAt: '2027-01-14', announcedAt: '2025-01-01', replacement: 'openai/new' }, []),
          model('new', {}, has),
        ],
      };
      const [inputTokens, responseTokens] = used;
      const decide = (maxPriceIncreasePercent: number) => {
        const entry: AutopilotEntry = {
          ...{ model: 'old', switchTo: 'official', switchDaysBefore, maxPriceIncreasePercent },
          requiredCapabilities: required,
        };
        const view = { catalog, reviews: NO_REVIEWS, nowMs };
        const due = dueSwitch(view, 'standard', entry);
        return due
          ? decideSwitch(view, due, findSuccessor(view, due), {
              vendors: new Set(credentials ? ['openai'] : []),
              prices: { from: rateCard(...from), to: rateCard(...to) },
              traffic: [
                { mode: 'standard', usage: { ...NO_USAGE, inputTokens, responseTokens }, promptTokensAbove: 0 },
              ],
            })
          : null;
      };
      const isDue = nowMs >= SHUTDOWN - switchDaysBefore * DAY;
      const cost = ([input, output]: [number, number]) =>
        BigInt(input) * BigInt(inputTokens) + BigInt(output) * BigInt(responseTokens);
      const isWithin = cost(to) * 10_000n <= cost(from) * BigInt(10_000 + hundredths);
      const hasAll = required.every((name) => has.includes(name));
      const decision = decide(hundredths / 100);
      expect(decision === null).toBe(!isDue);
      if (decision === null) return;
      expect(decision.to === 'openai/new').toBe(isWithin && hasAll && credentials);
      if (decision.to !== null) expect(decide((hundredths + wider) / 100)?.to).toBe('openai/new');
      else expect(decision.refused.reasons.length).toBeGreaterThan(0);
    }),
  );
});
