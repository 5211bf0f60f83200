/**
 * Each answer that vendors really give and that was once read wrongly is read by its vendor's rule (test/fixtures/answers).
 */
import { describe, expect, test } from 'vitest';
import { readUsage } from '../../src/vendors/usage.ts';
import { GOLDEN_ANSWERS, streamRead } from '../support/golden-answers.ts';

test('there are 60 of them at least, each with its rule and its source', () => {
  expect(GOLDEN_ANSWERS.length).toBeGreaterThanOrEqual(60);
  for (const { rule, source } of GOLDEN_ANSWERS) {
    expect(rule).toMatch(/^\S.{10,}[.]$/);
    expect(new URL(source).protocol).toBe('https:');
  }
});

describe('is read by its rule', () => {
  test.each(GOLDEN_ANSWERS.map((golden) => [golden.name, golden] as const))('%s', (_, { answer, events, usage }) => {
    expect(events ? streamRead(events).usage() : readUsage(answer)).toEqual(usage);
  });
});

describe('its events in any order have no lower figure', () => {
  const streams = GOLDEN_ANSWERS.flatMap(({ name, events, usage }) => (events ? [[name, events, usage] as const] : []));
  test.each(streams)('%s', (_, events, usage) => {
    const [first, ...rest] = events;
    // The first event shows the form, and the end of a message its kind.
    const reversed = streamRead([first, ...rest.toReversed()]).usage();
    for (const name of ['inputTokens', 'cachedInputTokens', 'responseTokens'] as const) {
      expect(reversed?.[name]).toBeGreaterThanOrEqual(usage[name]);
    }
  });
});
