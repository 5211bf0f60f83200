/**
 * A call is priced only by a model that its name certainly means: the spellings of clients and clouds find it, and a
 * fine-tuned, unknown or nearly right name finds nobody.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { matchModel } from '../../src/catalog/matching.ts';
import type { Catalog, CatalogModel } from '../../src/catalog/model.ts';

const NOW = Date.UTC(2026, 10, 23);

function found(name: string): string | null {
  const match = matchModel(BUILT_IN_CATALOG, name, NOW);
  return match && `${match.strategy} ${match.model.provider}/${match.model.model}`;
}

const GPT_4O = 'openai/gpt-4o-2024-08-06';
const HAIKU = 'anthropic/claude-3-haiku-20240307';
const SONNET = 'anthropic/claude-3-5-sonnet-20241022';
const GEMINI = 'google/gemini-2.5-pro';

test.each([
  // As the catalog spells it.
  ['gpt-4o-2024-08-06', `exact ${GPT_4O}`],
  ['openai/gpt-4o-2024-08-06', `exact ${GPT_4O}`],
  ['google/gemini-2.5-pro', `exact ${GEMINI}`],
  ['gpt-4o', `alias ${GPT_4O}`],
  ['openai/gpt-4o', `alias ${GPT_4O}`],
  ['gemini-1.5-pro', 'alias google/gemini-1.5-pro-002'],
  // A date pin removed or added.
  ['claude-3-haiku', `snapshot ${HAIKU}`],
  ['anthropic/claude-3-haiku', `snapshot ${HAIKU}`],
  ['gpt-5.6-sol-2026-07-30', 'snapshot openai/gpt-5.6-sol'],
  ['gpt-5.6-sol-20260730', 'snapshot openai/gpt-5.6-sol'],
  // Case, spaces, paths and channels.
  ['GPT-4o', `normalized ${GPT_4O}`],
  [' gpt-4o ', `normalized ${GPT_4O}`],
  ['OpenAI/GPT-4o', `normalized ${GPT_4O}`],
  ['openai:gpt-4o', `normalized ${GPT_4O}`],
  ['models/gemini-2.5-pro', `normalized ${GEMINI}`],
  ['google/models/gemini-2.5-pro', `normalized ${GEMINI}`],
  ['gemini/gemini-2.5-pro', `normalized ${GEMINI}`],
  ['gemini/gemini-1.5-pro', 'normalized google/gemini-1.5-pro-002'],
  ['openrouter/anthropic/claude-3-haiku', `normalized ${HAIKU}`],
  ['azure/gpt-4o', `normalized ${GPT_4O}`],
  ['litellm/azure/gpt-4o', `normalized ${GPT_4O}`],
  // Bedrock.
  ['anthropic.claude-3-haiku-20240307-v1:0', `normalized ${HAIKU}`],
  ['anthropic.claude-3-haiku-20240307-v1:0:48k', `normalized ${HAIKU}`],
  ['us.anthropic.claude-3-5-sonnet-20241022-v2:0', `normalized ${SONNET}`],
  ['bedrock/eu.anthropic.claude-3-haiku-20240307-v1:0', `normalized ${HAIKU}`],
  ['global.anthropic.claude-3-haiku-20240307-v1:0', `normalized ${HAIKU}`],
  // Vertex.
  ['claude-3-haiku@20240307', `normalized ${HAIKU}`],
  ['vertex_ai/claude-3-haiku@20240307', `normalized ${HAIKU}`],
  ['publishers/anthropic/models/claude-3-haiku@20240307', `normalized ${HAIKU}`],
  ['gemini-2.5-pro@default', `normalized ${GEMINI}`],
  // Azure's deployments of GPT-3.5.
  ['gpt-35-turbo', 'normalized openai/gpt-3.5-turbo-0125'],
  ['azure/gpt-35-turbo-16k', 'normalized openai/gpt-3.5-turbo-16k-0613'],
])('%s means %s', (name, expected) => {
  expect(found(name)).toBe(expected);
});

test.each([
  // Fine-tuned: never at the price of the base.
  'ft:gpt-4o-2024-08-06',
  'ft:gpt-4o-2024-08-06:acme::abc123',
  'FT:gpt-4o-2024-08-06:acme::abc123',
  ' ft:gpt-4o-2024-08-06',
  'ft-gpt-4o',
  'openai/ft:gpt-4o',
  'openai:ft:gpt-4o',
  'openrouter/openai/ft:gpt-4o',
  'models/ft:gemini-2.5-pro',
  // Nearly right.
  'gpt-4o-min',
  'gpt-4o-minii',
  'gpt-4o-2024',
  'gpt-4o-2024-08',
  'gpt-4o-2024-08-0',
  'gpt-4o-2024-01-01',
  'gpt4o',
  'gpt-4.o',
  'my-gpt-4o',
  'gpt-4o-latest',
  'gemini-2.5-pr',
  'claude-3-haiku-20240308x',
  'azure/my-gpt-4o',
  'anthropic.claude-v2:1',
  // Another provider's model, or nobody's.
  'openai/gemini-2.5-pro',
  'google/gpt-4o',
  'anthropic/gpt-4o-2024-08-06',
  'mistral-large',
  'meta/llama-3-70b',
  'gpt',
  'claude',
  'gemini',
  'models/',
  'openai/',
  '',
  ' ',
  '/',
  'constructor',
  '__proto__',
  'hasOwnProperty',
])('%j means nobody', (name) => {
  expect(found(name)).toBeNull();
});

test('a name longer than any model name matches nothing', () => {
  expect(found('models/models/models/gpt-4o')).toBe(`normalized ${GPT_4O}`);
  expect(found(`gpt-4o${' '.repeat(300)}`)).toBeNull();
  expect(found('a/'.repeat(50_000))).toBeNull();
});

describe('a name without its date pin', () => {
  const model = (name: string) =>
    ({ provider: 'openai', model: name, aliases: [] as string[] }) as unknown as CatalogModel;
  const catalog = (...names: string[]): Catalog => ({
    version: 'test',
    publishedAtMs: 0,
    models: names.map(model),
    transitions: [],
  });

  test('matches the only dated model of that name', () => {
    expect(matchModel(catalog('x-2025-01-01', 'y-2025-01-01'), 'x', NOW)?.model.model).toBe('x-2025-01-01');
  });

  test.each([
    ['two', ['x-2025-01-01', 'x-2025-06-01']],
    ['three', ['x-2025-01-01', 'x-2025-06-01', 'x-20250901']],
  ])('means nobody where %s dated models share it', (_count, names) => {
    expect(matchModel(catalog(...names), 'x', NOW)).toBeNull();
  });

  test('matches the undated model if there is one', () => {
    expect(matchModel(catalog('x-2025-01-01', 'x'), 'x', NOW)).toMatchObject({
      strategy: 'exact',
      model: { model: 'x' },
    });
  });
});

describe('a name that a cloud provider sends, or one that must not be priced', () => {
  test('Vertex spelling of a second version matches its model', () => {
    expect(found('claude-3-5-sonnet-v2@20241022')).toBe(`normalized ${SONNET}`);
  });
  test('the US government region of Bedrock is a region like the others', () => {
    expect(found('us-gov.anthropic.claude-3-haiku-20240307-v1:0')).toBe(`normalized ${HAIKU}`);
  });
  test('a model under the wrong provider matches nothing in any spelling', () => {
    expect([found('OpenAI/gemini-2.5-pro'), found('openai:gemini-2.5-pro'), found('gemini/gpt-4o')]).toEqual([
      null,
      null,
      null,
    ]);
  });
  test('a second date pin is not ignored', () => {
    expect(found('gpt-4o-2024-08-06-2025-01-01')).toBeNull();
  });
});
