/**
 * The token estimate: deterministic, 0 for nothing, near the counts of tokenizers, and in time that grows only with the
 * length.
 */
import { describe, expect, test } from 'vitest';
import { estimateTokens } from '../../src/compression/tokens.ts';
import { estimateOf } from '../compression/figures.ts';
import { corpora, ERROR_MAX } from '../compression/texts.ts';

test.each([
  ['', 0],
  ['a', 1],
  ['The quick brown fox jumps over the lazy dog.', 10],
  ['internationalization', 3],
  ['camelCaseName HTTPServer', 5],
  ['1234567', 3],
  ['a b', 2],
  ['a  b', 3],
  ['a\n    b', 4],
  ['{"id":1,"name":"Ann"}', 9],
  ['--------', 1],
  ['Größe', 2],
  ['東京都', 3],
  ['getElementById', 4],
  ['Straßenbahn', 3],
  ['🙂', 1],
  ['\ud83d', 1],
])('%j is %d', (text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens);
});

test('English prose has about four characters per token', () => {
  const text =
    'Callmeter meters calls at the edge: an application asks whether a customer may make a call, runs the model, and reports what it used.';
  expect(text.length / estimateTokens(text)).toBeGreaterThan(3.5);
  expect(text.length / estimateTokens(text)).toBeLessThan(6);
});

describe('beside o200k_base, on texts that it was not fitted to, the estimate is', () => {
  test.each(corpora())('near for $name', ({ name, kind, texts }) => {
    expect(Math.abs(estimateOf(name, texts).error)).toBeLessThanOrEqual(ERROR_MAX[kind]);
  });

  test('judged in more than 40 languages', () => {
    const languages = corpora().filter(({ kind }) => kind === 'language');
    expect(new Set(languages.map(({ name }) => name.split(':')[0])).size).toBeGreaterThan(40);
  });
});

describe('a megabyte is estimated', () => {
  test.each([' ', '\n', 'a', 'A', 'aA', '1', '-', '"', '{', 'é', '中', '\ud800', '🙂', '\u0301'])('of %j', (unit) => {
    const count = Math.ceil(1_000_000 / unit.length);
    const whole = estimateTokens(unit.repeat(count));
    const half = estimateTokens(unit.repeat(count / 2));
    expect(whole).toBeGreaterThan(0);
    expect(Math.abs(whole - 2 * half)).toBeLessThanOrEqual(2);
  });
});
