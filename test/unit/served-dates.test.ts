/**
 * A model lives on elsewhere when its provider's own API retires it: Amazon Bedrock and Google Cloud have dates of
 * their own, and if the catalog has none, no answer says that the model is over.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { modelWarnings } from '../../src/catalog/named-models.ts';
import { resolveKey } from '../../src/catalog/resolution.ts';
import { NO_REVIEWS } from '../../src/catalog/reviews.ts';
import { LookupQuery } from '../../src/contract/model-lookup.ts';
import { parseRequestedKey } from '../../src/lookup/requested-key.ts';
import { modelsOnRadar, type NamedUse } from '../../src/readings/radar/models.ts';

const DAY = '2026-11-27';
const NOW = Date.parse(DAY);

async function resolved(key: string) {
  const parsed = parseRequestedKey(key);
  if (!parsed.ok) throw new Error(parsed.refusal.message);
  return resolveKey(BUILT_IN_CATALOG, parsed.key, LookupQuery.parse({}), DAY);
}

describe('the status of a model', () => {
  test.each<[string, string, string, string | undefined]>([
    ['anthropic/claude-opus-4-1-20250805', 'RETIRED', 'REPLACE', '2026-08-05'],
    ['anthropic/us.anthropic.claude-opus-4-1-20250805-v1:0', 'DEPRECATED', 'REPLACE', '2027-01-08'],
    ['anthropic/claude-opus-4-1@20250805', 'ACTIVE', 'KEEP', undefined],
    ['anthropic/us.anthropic.claude-opus-4-20250514-v1:0', 'RETIRED', 'REPLACE', '2026-05-31'],
    ['anthropic/claude-opus-4@20250514', 'ACTIVE', 'KEEP', undefined],
    // No source has the dates of the channel.
    ['anthropic/anthropic.claude-3-opus-20240229-v1:0', 'UNKNOWN', 'REVIEW', undefined],
    ['anthropic/claude-opus-4-5@20251101', 'UNKNOWN', 'REVIEW', undefined],
    // A model that its provider does not end ends nowhere.
    ['anthropic/us.anthropic.claude-opus-4-7', 'ACTIVE', 'KEEP', undefined],
    ['openai/us.openai.gpt-6-sol', 'ACTIVE', 'KEEP', undefined],
    // Google's models on Google Cloud have Google's dates.
    ['google/vertex_ai/gemini-2.0-flash-001', 'RETIRED', 'REPLACE', '2026-06-01'],
  ])('%s is %s, so %s', async (key, status, action, shutdownAt) => {
    const answer = await resolved(key);
    expect([answer.status, answer.action, answer.model?.lifecycle.shutdownAt]).toEqual([status, action, shutdownAt]);
  });

  test('without dates of its channel comes with the status of the own API', async () => {
    const { warnings, recommendedModelKey } = await resolved('anthropic/anthropic.claude-3-opus-20240229-v1:0');
    expect(warnings).toContain(
      "the channel sets its own dates, and the catalog has none; anthropic's own API: RETIRED",
    );
    expect(recommendedModelKey).toBeNull();
  });
});

test('a mapping to a model on Bedrock is warned of by the dates of Bedrock', () => {
  const warnings = (name: string) => modelWarnings(BUILT_IN_CATALOG, [name], NOW).join();
  expect(warnings('us.anthropic.claude-opus-4-1-20250805-v1:0')).toContain('ends on 2027-01-08');
  expect(warnings('claude-opus-4-1@20250805')).toBe('');
  expect(warnings('claude-opus-4-1')).toContain('is retired since 2026-08-05');
});

describe('the radar', () => {
  const use = (key: string): NamedUse => ({
    key,
    calls: 1,
    unpricedCalls: 0,
    inputTokens: 1,
    outputTokens: 1,
    costNanoUsd: 1n,
  });
  const view = { catalog: BUILT_IN_CATALOG, reviews: NO_REVIEWS, nowMs: NOW, horizonDays: 90 };

  test.each<[string[], string, string | null]>([
    [['us.anthropic.claude-opus-4-1-20250805-v1:0'], 'DEPRECATED', '2027-01-08'],
    [['us.anthropic.claude-opus-4-1-20250805-v1:0', 'claude-opus-4-1'], 'RETIRED', '2026-08-05'],
  ])('judges a model that was used as %j by the dates that hold there: %s', (names, status, shutdownAt) => {
    const [item] = modelsOnRadar(view, names.map(use));
    expect([item?.status, item?.shutdownAt]).toEqual([status, shutdownAt]);
  });
});
