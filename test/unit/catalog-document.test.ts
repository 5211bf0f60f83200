/**
 * The catalog document: the built-in data pass through it unchanged, and misspelt data do not pass at all.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { readCatalogDocument } from '../../src/catalog/validate.ts';
import {
  CatalogDifferences,
  CatalogDocument,
  CatalogInfo,
  CatalogModel,
  PublishedCatalog,
  Transition,
} from '../../src/contract/catalog.ts';

const read = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, '../../src/catalog', name), 'utf8'));

type RawModel = Record<'lifecycle' | 'pricing' | 'modalities', Record<string, object>>;

/** The built-in data with one model changed. */
function documentWith(change: (model: RawModel) => void, index = 0) {
  const models = read('models.json');
  change(models[index]);
  return { models };
}

const problemsOf = (raw: unknown) => readCatalogDocument(raw).problems;

describe('the built-in data', () => {
  test('pass through the schema without loss', () => {
    const models = read('models.json');
    expect(models).toHaveLength(322);
    for (const model of models) expect(CatalogModel.parse(model)).toEqual(model);
    const transitions = read('transitions.json');
    expect(transitions).toHaveLength(393);
    for (const transition of transitions) expect(Transition.parse(transition)).toEqual(transition);
  });

  test('are the catalog in the Worker', () => {
    const { models, transitions, version } = BUILT_IN_CATALOG;
    expect(CatalogDocument.parse({ version, models, transitions })).toEqual({
      version: '2026-11-27',
      models: read('models.json'),
      transitions: read('transitions.json'),
    });
  });
});

test('a plain array is a document of models', () => {
  expect(CatalogDocument.parse(read('models.json'))).toEqual({ models: read('models.json') });
});

describe('an unknown member is rejected by its name', () => {
  test.each<[string, (model: RawModel) => void]>([
    ['contextToken', (model) => Object.assign(model, { contextToken: 5 })],
    ['lifecycle.shutDownAt', (model) => Object.assign(model.lifecycle, { shutDownAt: '2026-01-01' })],
    ['lifecycle.source.link', (model) => Object.assign(model.lifecycle.source ?? {}, { link: 'https://x.org' })],
    ['pricing.inputUSDPerMillion', (model) => Object.assign(model.pricing, { inputUSDPerMillion: 1 })],
    ['modalities.inputs', (model) => Object.assign(model.modalities, { inputs: ['text'] })],
  ])('%s', (field, change) => {
    const index = BUILT_IN_CATALOG.models.findIndex(({ model }) => model === 'claude-2');
    expect(problemsOf(documentWith(change, index))).toEqual([
      { modelKey: 'anthropic/claude-2', field, message: 'is unknown' },
    ]);
  });

  test('of the document', () => {
    expect(problemsOf({ ...documentWith(() => undefined), transition: [] })).toEqual([
      { modelKey: '', field: 'transition', message: 'is unknown' },
    ]);
  });
});

describe('an invalid value is rejected with its path', () => {
  const cases: [string, Record<string, unknown>][] = [
    ['model', { model: 'two words' }],
    ['model', { model: '' }],
    ['provider', { provider: 'mistral' }],
    ['releasedAt', { releasedAt: '20 Nov 2026' }],
    ['contextTokens', { contextTokens: 0 }],
    ['contextTokens', { contextTokens: 1.5 }],
    ['pricing.inputUsdPerMillion', { pricing: { inputUsdPerMillion: -1, outputUsdPerMillion: 1, source: 'x' } }],
    ['pricing.outputUsdPerMillion', { pricing: { inputUsdPerMillion: 1, outputUsdPerMillion: -1, source: 'x' } }],
    [
      'pricing.batchMultiplier',
      { pricing: { inputUsdPerMillion: 1, outputUsdPerMillion: 1, batchMultiplier: 2, source: 'x' } },
    ],
    ['displayName', { displayName: 'Claude\u001b[2J' }],
    ['capabilities.0', { capabilities: ['Tools'] }],
  ];
  test.each(cases)('%s: %j', (field, facts) => {
    const problems = problemsOf(documentWith((model) => Object.assign(model, facts)));
    expect(problems.map((problem) => problem.field)).toEqual([field]);
  });

  test.each([
    ['version', { version: 'v7' }],
    ['version', { version: '2026-11-20-rc1' }],
    ['version', { version: '2026-13-45' }],
    ['models', { models: [] }],
    ['models', { models: 'all' }],
  ])('%s: %j', (field, members) => {
    const problems = problemsOf({ ...documentWith(() => undefined), ...members });
    expect(problems.map((problem) => problem.field)).toEqual([field]);
  });

  test.each([[null], [7], ['catalog'], [undefined]])('%j is no document', (raw) => {
    expect(problemsOf(raw)).toHaveLength(1);
  });
});

test('every field on the wire is described', () => {
  const undescribed: string[] = [];
  const walk = (schema: z.core.JSONSchema.BaseSchema, path: string) => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      if (!(field as z.core.JSONSchema.BaseSchema).description) undescribed.push(`${path}.${name}`);
      walk(field as z.core.JSONSchema.BaseSchema, `${path}.${name}`);
    }
    for (const inner of [schema.items, ...(schema.anyOf ?? [])])
      if (inner) walk(inner as z.core.JSONSchema.BaseSchema, `${path}[]`);
  };
  for (const [name, schema] of Object.entries({ CatalogDocument, CatalogInfo, CatalogDifferences, PublishedCatalog })) {
    walk(z.toJSONSchema(schema, { io: 'input', reused: 'inline' }), name);
  }
  expect(undescribed).toEqual([]);
});
