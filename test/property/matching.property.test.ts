/**
 * Every name in the catalog keeps its meaning under every decoration, pricing never guesses, and the public lookup
 * answers any text, the same each time.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { FUZZY_SCORE_MIN } from '../../src/catalog/fuzzy.ts';
import { lookUpModel, matchModel } from '../../src/catalog/matching.ts';
import type { Provider } from '../../src/catalog/model.ts';
import { CHARACTER } from '../support/characters.ts';

const NOW = Date.UTC(2026, 10, 23);
const PROVIDERS: Provider[] = ['openai', 'anthropic', 'google'];

/** Every name and alias, with the model that it means. */
const NAMES = BUILT_IN_CATALOG.models.flatMap((model) =>
  [model.model, ...model.aliases].map((name) => ({ name, model })),
);
const names = fc.constantFrom(...NAMES);

const ANYWHERE = [
  (name: string) => name,
  (name: string) => ` ${name}\t`,
  (name: string) => name.replaceAll('-', '\u2011'),
  (name: string) => `openrouter/${name}`,
  (name: string) => `litellm/${name}`,
  (name: string) => `models/${name}`,
  (name: string) => `${name}:online`,
  (name: string) => `${name}:beta`,
  (name: string) => `${name}@default`,
];

const DECORATIONS: Record<Provider, ((name: string) => string)[]> = {
  openai: [
    ...ANYWHERE,
    (name) => `openai/${name}`,
    (name) => `openai:${name}`,
    (name) => `openrouter/openai/${name}`,
    (name) => `azure/${name}`,
    (name) => `azure/eu/${name}`,
    (name) => `openai/responses/${name}`,
    (name) => name.replace(/^gpt-3\.5-/, 'gpt-35-'),
  ],
  anthropic: [
    ...ANYWHERE,
    (name) => `anthropic/${name}`,
    (name) => `anthropic:${name}`,
    (name) => `openrouter/anthropic/${name}`,
    (name) => `anthropic.${name}`,
    (name) => `us.anthropic.${name}`,
    (name) => `bedrock/us-east-1/anthropic.${name}`,
    (name) => `arn:aws:bedrock:us-east-1::foundation-model/anthropic.${name}`,
    (name) => `arn:aws:bedrock:us-east-1:123456789012:inference-profile/global.anthropic.${name}`,
    (name) => `anthropic.${name}${/\d$/.test(name) ? '-v1:0' : ''}`,
    (name) => `anthropic.${name}${/\d$/.test(name) ? '-v1' : ''}`,
    (name) => `publishers/anthropic/models/${name}`,
    (name) => `vertex_ai/${name.replace(/-(?=\d{8}$)/, '@')}`,
    (name) => name.replace(/(?<=\d)-(?=\d(?:-|$))/, '.'),
    (name) => name.replace(/^claude-([a-z]+)-(\d-\d)(?=-|$)/, 'claude-$2-$1'),
  ],
  google: [
    ...ANYWHERE,
    (name) => `google/${name}`,
    (name) => `gemini/${name}`,
    (name) => `google/models/${name}`,
    (name) => `vertex_ai/${name}`,
    (name) => `publishers/google/models/${name}`,
    (name) => `projects/p/locations/us-central1/publishers/google/models/${name}`,
    (name) => name.replace(/-(?=\d{3}$)/, '@'),
  ],
};

const CASES = [
  (name: string) => name,
  (name: string) => name.toUpperCase(),
  (name: string) => name.replace(/[a-z]+/g, (word) => word.charAt(0).toUpperCase() + word.slice(1)),
];

describe('every name and alias', () => {
  test('resolves to its model in every spelling and case, for pricing and for the lookup', () => {
    for (const { name, model } of NAMES) {
      for (const spell of DECORATIONS[model.provider].flatMap((decorate) =>
        CASES.map((change) => change(decorate(name))),
      )) {
        expect([spell, matchModel(BUILT_IN_CATALOG, spell, NOW)?.model.model]).toEqual([spell, model.model]);
        expect([spell, lookUpModel(BUILT_IN_CATALOG, spell, NOW, model.provider)?.model.model]).toEqual([
          spell,
          model.model,
        ]);
        expect(lookUpModel(BUILT_IN_CATALOG, spell, NOW)).toEqual(matchModel(BUILT_IN_CATALOG, spell, NOW));
      }
    }
  });

  test('resolves to nothing under another provider', () => {
    for (const { name, model } of NAMES) {
      for (const provider of PROVIDERS.filter((other) => other !== model.provider)) {
        expect([name, provider, lookUpModel(BUILT_IN_CATALOG, name, NOW, provider)]).toEqual([name, provider, null]);
        expect([name, provider, matchModel(BUILT_IN_CATALOG, `${provider}/${name}`, NOW)]).toEqual([
          name,
          provider,
          null,
        ]);
      }
    }
  });

  test('is found as the base of a fine-tuned or free model, but never used for pricing', () => {
    for (const { name, model } of NAMES) {
      for (const spell of [
        `ft:${name}`,
        `ft:${name}:acme::x`,
        `FT:${name}:org:name:id`,
        `${model.provider}/ft:${name}:a::b`,
        `${name}:free`,
      ]) {
        expect([spell, matchModel(BUILT_IN_CATALOG, spell, NOW)]).toEqual([spell, null]);
        expect([spell, lookUpModel(BUILT_IN_CATALOG, spell, NOW)]).toEqual([spell, { model, strategy: 'normalized' }]);
      }
    }
  });
});

/** Text of every kind, and names with one place changed. */
const damaged = fc
  .tuple(names, fc.nat(), fc.string({ unit: 'grapheme', maxLength: 3 }), fc.nat({ max: 2 }))
  .map(([{ name }, place, text, cut]) => {
    const at = place % (name.length + 1);
    return name.slice(0, at) + text + name.slice(at + cut);
  });
const pieces = fc.constantFrom(
  ...[
    'ft:',
    'openai/',
    'models/',
    'bedrock/',
    'anthropic.',
    'us.',
    'arn:aws:bedrock:',
    '-',
    '@',
    ':',
    '-v1:0',
    '-20240101',
    '-2024-01-01',
    'claude-',
    'gpt-',
    '4',
    '.5',
  ],
);
const texts = fc.oneof(
  fc.string({ unit: CHARACTER, maxLength: 400 }),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
  fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join('').slice(0, 400)),
  damaged,
);

describe('any text', () => {
  test('has the same result each time, in any order of the catalog', () => {
    const reversed = { ...BUILT_IN_CATALOG, models: [...BUILT_IN_CATALOG.models].reverse() };
    fc.assert(
      fc.property(texts, fc.option(fc.constantFrom(...PROVIDERS), { nil: undefined }), (name, provider) => {
        const match = lookUpModel(BUILT_IN_CATALOG, name, NOW, provider);
        expect(lookUpModel(BUILT_IN_CATALOG, name, NOW, provider)).toEqual(match);
        expect(lookUpModel(reversed, name, NOW, provider)).toEqual(match);
      }),
      { numRuns: 2000 },
    );
  });

  test('is never priced by a guess: the lookup finds everything that pricing finds', () => {
    fc.assert(
      fc.property(texts, (name) => {
        const priced = matchModel(BUILT_IN_CATALOG, name, NOW);
        if (priced === null) return;
        expect(priced.strategy).not.toBe('fuzzy');
        expect(lookUpModel(BUILT_IN_CATALOG, name, NOW)).toEqual(priced);
      }),
      { numRuns: 2000 },
    );
  });

  test('has a score within its bounds if and only if the match is fuzzy', () => {
    fc.assert(
      fc.property(damaged, (name) => {
        const match = lookUpModel(BUILT_IN_CATALOG, name, NOW);
        expect(match?.strategy === 'fuzzy').toBe(match?.score !== undefined);
        expect(match?.score ?? 1).toBeGreaterThanOrEqual(FUZZY_SCORE_MIN);
        expect(match?.score ?? 1).toBeLessThanOrEqual(1);
      }),
      { numRuns: 2000 },
    );
  });
});
