/**
 * Answers of a deprecated model state its end and link to its replacement.
 */
import { expect, test } from 'vitest';
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import type { Catalog } from '../../src/catalog/model.ts';
import { lifecycleHeaders } from '../../src/gateway/lifecycle-headers.ts';

const DAY = Date.UTC(2026, 10, 24);
const told = (provider: string, model: string, nowMs = DAY) => lifecycleHeaders(catalog, { provider, model }, nowMs);

test('a deprecated model has its dates and its link, also under an alias, and until and after its end', () => {
  const expected = {
    Deprecation: `@${Date.UTC(2026, 9, 14) / 1000}`,
    Sunset: 'Thu, 14 Jan 2027 00:00:00 GMT',
    Link: '</v1/model-alternatives/openai/gpt-4o-mini-2024-07-18>; rel="successor-version"',
  };
  expect(told('openai', 'gpt-4o-mini-2024-07-18')).toEqual(expected);
  expect(told('openai', 'gpt-4o-mini')).toEqual(expected);
  expect(told('openai', 'gpt-4o-mini', Date.UTC(2027, 1, 1))).toEqual(expected);
});

test('a date that no source names is left out', () => {
  expect(told('google', 'gemini-2.5-flash')).toEqual({
    Sunset: 'Tue, 01 Dec 2026 00:00:00 GMT',
    Link: '</v1/model-alternatives/google/gemini-2.5-flash>; rel="successor-version"',
  });
});

test('an active model, an unknown one, and the same name at another vendor have none', () => {
  expect(told('openai', 'gpt-6-sol')).toEqual({});
  expect(told('acme', 'gpt-4o-mini')).toEqual({});
  expect(told('openai', 'ft:gpt-4o-mini:acme::x')).toEqual({});
  expect(
    lifecycleHeaders({ ...catalog, models: [] } as Catalog, { provider: 'openai', model: 'gpt-4o-mini' }, DAY),
  ).toEqual({});
});
