/**
 * Under which name a call records the model that ran: the one by which its price is found, now and later.
 */
import { expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { modelToRecord, type OwnPrices, ownPriceKey, resolvePrice } from '../../src/catalog/prices.ts';
import { rateCard } from '../support/rate-cards.ts';

const NOW = Date.UTC(2026, 10, 27);
const SERVED = 'gpt-4o-mini-2024-07-18';

/** Prices of an organization, each with a snapshot of its own. */
function prices(...names: string[]): OwnPrices {
  return new Map(
    names.map((name) => {
      const key = ownPriceKey(BUILT_IN_CATALOG, name, NOW);
      const card = rateCard({ input: '1', output: '2' }, [], { snapshotId: `organization/${key}@1` });
      return [key, [{ fromMs: 0, card, strict: true }]];
    }),
  );
}

test.each([
  ['no name', [], undefined, undefined, undefined],
  ['the asked name where the answer has none', [], 'gpt-4o', undefined, 'gpt-4o'],
  ['the name of the answer where none was asked for', [], undefined, SERVED, SERVED],
  ['the served model, of which the catalog has the price', [], 'gpt-4o', SERVED, SERVED],
  ['the asked model, where only that has a price', [], 'gpt-4o', 'no-such-model', 'gpt-4o'],
  ['the served model, where neither has a price', [], 'chat-prod', 'no-such-model', 'no-such-model'],
  ['the asked name, which has a price of its own', ['azure-north/chat-prod'], 'chat-prod', SERVED, 'chat-prod'],
  ['the asked name, also if the served one has another', ['gpt-4o', 'gpt-4o-mini'], 'gpt-4o', SERVED, 'gpt-4o'],
  ['the served pin of the asked model, which has the same price', ['gpt-4o-mini'], 'gpt-4o-mini', SERVED, SERVED],
])('is %s', async (_, own, asked, served, recorded) => {
  const set = prices(...own);
  const providerUsed = 'azure-north';
  const name = await modelToRecord(BUILT_IN_CATALOG, set, { asked, served, providerUsed }, NOW);
  expect(name).toBe(recorded);
  if (own.length === 0) return;
  const price = await resolvePrice(BUILT_IN_CATALOG, set, { modelUsed: name, providerUsed }, NOW);
  expect(price.available && price.card.snapshotId, 'repricing finds the price of the asked name').toBe(
    `organization/${ownPriceKey(BUILT_IN_CATALOG, own[0] ?? '', NOW)}@1`,
  );
});
