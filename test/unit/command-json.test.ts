/**
 * Promise: a command arrives at a customer's object as it was sent, with every amount exact.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { receiveCommand, sendCommand } from '../../src/objects/command-text.ts';

const amount = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const rates = fc.record(
  { input: amount, output: amount, cachedInput: amount, cacheWrite: amount, search: amount, audioSecond: amount },
  { requiredKeys: ['input', 'output'] },
);
const card = fc.record({
  snapshotId: fc.string(),
  provider: fc.string(),
  modelKey: fc.string(),
  rates,
  tiers: fc.array(
    fc.record({
      inputTokensAbove: fc.nat(),
      rates: rates.map(({ search: _search, audioSecond: _audio, ...tier }) => tier),
    }),
    {
      maxLength: 3,
    },
  ),
});
const price: fc.Arbitrary<ResolvedPrice> = fc.oneof(
  fc.record({ available: fc.constant(true as const), card }),
  fc.constant<ResolvedPrice>({ available: false, reason: 'PRICE_NOT_IN_CATALOG' }),
);
const text = fc.string({ unit: 'binary' });
const command = fc.record({
  callId: text,
  idempotencyKey: fc.option(text),
  price,
  request: fc.record({
    feature: text,
    tags: fc.array(text),
    usage: fc.record({ inputTokens: fc.nat(), audioSeconds: fc.double({ min: 0, max: 1e6, noNaN: true }) }),
  }),
});

test('a command crosses unchanged', () => {
  fc.assert(
    fc.property(command, (sent) => {
      expect(receiveCommand(sendCommand(sent))).toEqual(sent);
    }),
  );
});

test('a rate that is not there is not there on the other side', () => {
  const sent = { price: { available: true, card: { rates: { input: 1n, output: 2n, search: undefined }, tiers: [] } } };
  expect(receiveCommand<typeof sent>(sendCommand(sent)).price.card.rates).toStrictEqual({ input: 1n, output: 2n });
});
