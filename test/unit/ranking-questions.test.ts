/**
 * An expert's answers: for each question, the models that the expert would accept as the first choice, compared with
 * the built-in catalog. An answer has several models if experts would differ, or if a model that is newer than the
 * catalog would be right.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { isMovingName, modelSize, modelSpecialty } from '../../src/catalog/lines.ts';
import { matchModel } from '../../src/catalog/matching.ts';
import { type CatalogModel, modelKeyOf } from '../../src/catalog/model.ts';
import type { LookupPolicy } from '../../src/catalog/ranking.ts';
import { type Resolution, resolveKey } from '../../src/catalog/resolution.ts';
import { LookupQuery, PURPOSES } from '../../src/contract/model-lookup.ts';
import { parseRequestedKey } from '../../src/lookup/requested-key.ts';
import { sampleOfEach } from '../support/sweep.ts';

const DAY = '2026-11-23';
const models = BUILT_IN_CATALOG.models;
/** For the rules of every model: some of each provider, kind of work, specialty and status. */
const SOME = sampleOfEach(
  models,
  (model) => [model.provider, model.kind, modelSpecialty(model), model.lifecycle.status].join(),
  2,
);

const SOL = 'gpt-6.2-sol gpt-6.1-sol gpt-6-sol';
const ASTRA = 'gpt-6.2-astra gpt-6-astra';
const LUNA = 'gpt-6-luna gpt-5.6-luna';
const SONNET = 'claude-sonnet-5-5 claude-sonnet-5';
const GEMINI_4 = 'gemini-4-carbon gemini-4-argon gemini-4-hydrogen';
const FLASH = 'gemini-3.8-flash gemini-3.6-flash';
const FLASH_LITE = 'gemini-3.5-flash-lite gemini-3.1-flash-lite gemini-2.5-flash-lite';

type Question = [wants: string, model: string, accepted: string, query?: Record<string, string>];

const QUESTIONS: Record<LookupPolicy['purpose'], Question[]> = {
  upgrade: [
    ['the current flagship, not a mini', 'openai/gpt-5.1', SOL],
    ['the current flagship', 'openai/gpt-5.2', SOL],
    ['the current flagship', 'openai/gpt-5.4', SOL],
    ['a flagship that is newer, though it costs less', 'openai/gpt-5.5', `${SOL} gpt-5.6-sol`],
    ['the next release of the line', 'openai/gpt-6-sol', 'gpt-6.1-sol gpt-6.2-sol'],
    ['the middle size of today', 'openai/gpt-5.4-mini', 'gpt-6.1-terra'],
    ['the smallest size of today', 'openai/gpt-5.4-nano', LUNA],
    ['the line itself, or the flagship at the same price', 'openai/gpt-5.6-terra', `gpt-6.1-terra ${SOL}`],
    ['the same line', 'openai/gpt-5.6-luna', 'gpt-6-luna'],
    ['the largest line', 'openai/gpt-5.4-pro', `${ASTRA} gpt-5.5-pro`],
    ['a general model, since coding has no newer one of its own', 'openai/gpt-5.3-codex', SOL],
    ["the provider's word", 'openai/gpt-5', `${SOL} gpt-5.6-sol`],
    ["the provider's word", 'openai/gpt-4o-mini', LUNA],
    [
      'a security model, or a general one if none is open',
      'openai/gpt-5.5-cyber-preview',
      `gpt-6-cyber gpt-5.6-cyber ${SOL}`,
    ],
    ['the newest Opus, not a Sonnet', 'anthropic/claude-opus-4-5', 'claude-opus-5-5'],
    ['the newest Opus', 'anthropic/claude-opus-5', 'claude-opus-5-5'],
    ['the newest Sonnet', 'anthropic/claude-sonnet-4-6', 'claude-sonnet-5-5'],
    ['the newest Haiku', 'anthropic/claude-haiku-4-5', 'claude-haiku-5-5'],
    ['the newest Fable', 'anthropic/claude-fable-5', 'claude-fable-5-2'],
    ["the provider's word", 'anthropic/claude-sonnet-4-5', SONNET],
    ['the newest Flash by its own name, not by `latest`', 'google/gemini-3.6-flash', 'gemini-3.8-flash'],
    ['a large one of the next generation', 'google/gemini-3.1-pro-preview', GEMINI_4],
    [
      'the next Flash-Lite, once its price is allowed',
      'google/gemini-3.1-flash-lite',
      'gemini-3.5-flash-lite',
      { maxPriceIncreasePercent: '100' },
    ],
    ['the higher version', 'openai/gpt-realtime-2', 'gpt-realtime-2.1'],
    ['a newer image model', 'openai/gpt-image-2', 'gpt-image-2.6-sunburst gpt-image-2.5-sunburst'],
    [
      'the larger embedding',
      'openai/text-embedding-ada-002',
      'text-embedding-3-large text-embedding-3-small',
      { maxPriceIncreasePercent: '100' },
    ],
    ['the next embedding', 'google/gemini-embedding-001', 'gemini-embedding-2', { maxPriceIncreasePercent: '50' }],
  ],
  fallback: [
    ['a peer at another provider', 'openai/gpt-5.1', `${GEMINI_4} ${SONNET}`],
    ['a peer at another provider', 'openai/gpt-6.1-sol', `${GEMINI_4} ${SONNET}`],
    ['a peer at another provider', 'anthropic/claude-sonnet-5-5', `${SOL} ${GEMINI_4}`],
    ['a peer at another provider', 'google/gemini-4-carbon', `${SOL} ${SONNET}`],
    ['the nearest to an Opus', 'anthropic/claude-opus-5', `${SOL} gpt-5.6-sol gpt-5.5 ${GEMINI_4}`],
    [
      'the largest of another provider, once its price is allowed',
      'anthropic/claude-fable-5-2',
      ASTRA,
      { maxPriceIncreasePercent: '50' },
    ],
    ['another middle size', 'anthropic/claude-haiku-4-5', `gpt-6.1-terra gpt-5.4-mini ${FLASH}`],
    ['another middle size', 'openai/gpt-5.4-mini', `${FLASH} claude-haiku-5-5`],
    ['another small one inside the price', 'google/gemini-3.8-flash', `gpt-5.4-mini ${LUNA} claude-haiku-5-5`],
    ['another small one', 'openai/gpt-5.6-luna', `${FLASH_LITE} claude-haiku-5-5`],
    ['no security model for a coding one', 'openai/gpt-5.3-codex', `${GEMINI_4} ${SONNET}`],
    ['one that takes video', 'anthropic/claude-opus-5', GEMINI_4, { requiredParameters: 'video_input' }],
    [
      'one of the same provider, if no other is allowed',
      'openai/gpt-6.1-sol',
      `${SOL} gpt-5.6-sol`,
      { allowedProviders: 'openai' },
    ],
    ['another image model', 'openai/gpt-image-2', 'gemini-3-pro-image gemini-nano-banana-2.1'],
    ['another voice', 'google/gemini-3.8-live', 'gpt-realtime-2.1 gpt-realtime-2 gpt-live-1'],
  ],
  retirement: [
    ['the current flagship', 'openai/gpt-5.1', SOL],
    ['a model that is no older', 'openai/gpt-5.3-codex', `${SOL} gpt-5.6-sol`],
    ['the smallest size of today', 'openai/gpt-5.4-nano', LUNA],
    ["the provider's word", 'openai/o3', `${SOL} gpt-5.6-sol`],
    ["the provider's word", 'openai/gpt-3.5-turbo-instruct', 'gpt-5.6-terra gpt-6.1-terra'],
    ["the provider's word", 'openai/whisper-1', 'gpt-transcribe'],
    ["the provider's word", 'anthropic/claude-3-5-sonnet-20241022', `${SONNET} claude-sonnet-4-6`],
    ["the provider's word", 'google/gemini-2.0-flash', FLASH],
    ['an Opus', 'anthropic/claude-opus-4-6', 'claude-opus-5-5 claude-opus-5'],
    ['a Sonnet', 'anthropic/claude-sonnet-5', 'claude-sonnet-5-5'],
    ['the line under its new version', 'google/gemini-3.6-flash', 'gemini-3.8-flash'],
  ],
};

async function resolve(path: string, query: Record<string, string>): Promise<Resolution> {
  const parsed = parseRequestedKey(path);
  if (!parsed.ok) throw new Error(parsed.refusal.message);
  return resolveKey(BUILT_IN_CATALOG, parsed.key, LookupQuery.parse(query), DAY);
}

/** The first choice: the recommendation, otherwise the head of the list for the purpose. */
function answerOf(resolution: Resolution, purpose: LookupPolicy['purpose']): string | undefined {
  const { recommendedModelKey, equivalents, variants, alternatives } = resolution;
  const lists = purpose === 'fallback' ? [alternatives, equivalents, variants] : [equivalents, variants, alternatives];
  return recommendedModelKey ?? lists.flat()[0]?.modelKey;
}

/** Matched once: the same few hundred names are asked for many thousand times. */
const matched = new Map<string, CatalogModel | undefined>();
function modelOf(name: string): CatalogModel | undefined {
  if (!matched.has(name)) matched.set(name, matchModel(BUILT_IN_CATALOG, name, Date.parse(DAY))?.model);
  return matched.get(name);
}
const computed = ({ equivalents, variants, alternatives }: Resolution) =>
  [...equivalents, ...variants, ...alternatives].filter(({ confidence }) => confidence === 'candidate');

test('there are at least forty questions, and each has an answer in the catalog', () => {
  const all = Object.values(QUESTIONS).flat();
  expect(all.length).toBeGreaterThanOrEqual(40);
  for (const [, model, accepted] of all) {
    expect(modelOf(model), model).toBeDefined();
    expect(accepted.split(' ').some(modelOf), accepted).toBe(true);
  }
});

describe.each(PURPOSES)('an expert asks for %s', (purpose) => {
  test.each(QUESTIONS[purpose])('%s: of %s he accepts %s %j', async (_wants, model, accepted, query = {}) => {
    const answer = answerOf(await resolve(model, { purpose, ...query }), purpose);
    const acceptedModels = accepted.split(' ').flatMap((name) => modelOf(name) ?? []);
    expect(acceptedModels.map(modelKeyOf)).toContain(answer && modelKeyOf(modelOf(answer) as CatalogModel));
  });

  test('no model for special work is a candidate for one that is not made for it', async () => {
    const faults: string[] = [];
    for (const model of SOME) {
      for (const { modelKey } of computed(await resolve(modelKeyOf(model), { purpose, allowPreview: 'true' }))) {
        const specialty = modelSpecialty(modelOf(modelKey) as CatalogModel);
        if (specialty !== null && specialty !== modelSpecialty(model)) faults.push(`${modelKey} for ${model.model}`);
      }
    }
    expect(faults).toEqual([]);
  });

  test('no smaller model of the provider, and no moving name, is before one that is neither', async () => {
    for (const model of SOME) {
      const { equivalents } = await resolve(modelKeyOf(model), { purpose, maxPriceIncreasePercent: '1000' });
      const isBehind = ({ modelKey }: { modelKey: string }) => {
        const candidate = modelOf(modelKey) as CatalogModel;
        return modelSize(candidate) < modelSize(model) || (isMovingName(candidate) && !isMovingName(model));
      };
      const list = equivalents.filter(({ confidence }) => confidence === 'candidate');
      const firstBehind = list.findIndex(({ reasons = [] }) =>
        reasons.some((reason) => /^(smaller|moving)/.test(reason)),
      );
      expect(list.filter(isBehind).length, model.model).toBe(
        list.filter(({ reasons = [] }) => reasons.some((reason) => /^(smaller|moving)/.test(reason))).length,
      );
      if (firstBehind >= 0)
        expect(
          list.slice(firstBehind).map(({ category }) => category),
          model.model,
        ).not.toContain('upgrade');
    }
  });
});

describe('a candidate', () => {
  test('of another kind says so', async () => {
    const { alternatives } = await resolve('openai/gpt-3.5-turbo-instruct', {});
    expect(alternatives[0]?.rationale).toMatch(/^chat model .*; the requested one is a completion model/);
    const { alternatives: same } = await resolve('openai/gpt-5.1', {});
    expect(same[0]?.rationale).toBe('chat model of like price and size');
  });

  test('for general use says what the requested one is made for', async () => {
    const { equivalents, excluded } = await resolve('openai/gpt-5.3-codex', {});
    expect(equivalents[0]?.rationale).toBe(
      'chat model for general use of openai; the requested one is made for coding',
    );
    const cyber = excluded.find(({ modelKey }) => modelKey === 'openai/gpt-5.6-cyber');
    expect(cyber?.reasons).toContain('specialty: made for security');
  });

  test('that speaks is not replaced by one that only writes', async () => {
    const { excluded, equivalents } = await resolve('openai/gpt-audio', { maxPriceIncreasePercent: '1000' });
    expect(excluded.find(({ modelKey }) => modelKey === 'openai/gpt-6.1-sol')?.reasons).toContain(
      'output: gives no audio',
    );
    expect(equivalents.map(({ modelKey }) => modelKey)).toEqual(['openai/gpt-audio-1.5']);
  });

  test('ranks behind for what is said first of its reasons', async () => {
    const { equivalents } = await resolve('openai/gpt-5.1', {});
    const mini = equivalents.find(({ modelKey }) => modelKey === 'openai/gpt-5.4-mini-2026-03-17');
    expect(mini).toMatchObject({
      category: 'alternative',
      reasons: expect.arrayContaining(['smaller: of a smaller line of openai']),
    });
    expect(equivalents[0]?.category).toBe('upgrade');
  });
});
