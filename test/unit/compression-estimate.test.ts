/**
 * Estimates over samples: the part of a sample that counts as its prompt, and the sums of savings and money.
 */
import { describe, expect, test } from 'vitest';
import { addSample, listTechniques, NO_TOTALS } from '../../durable-objects/compression-job/estimate.ts';
import { readMessages } from '../../src/compression/conversation.ts';
import { TECHNIQUES } from '../../src/compression/techniques.ts';
import { estimateTokens } from '../../src/compression/tokens.ts';
import {
  type CompressionProfile,
  DEFAULT_COMPRESSION_PROFILE,
  TECHNIQUE_NAMES,
} from '../../src/contract/compression.ts';

const user = (content: unknown) => ({ role: 'user', content });

test('the contract has all techniques in their order', () => {
  expect(TECHNIQUE_NAMES).toEqual(TECHNIQUES);
  expect(DEFAULT_COMPRESSION_PROFILE.techniques).toEqual(TECHNIQUES);
});

describe('the prompt of a sample', () => {
  const messages = [user('a'), { role: 'assistant', content: 'b' }];
  test.each<[string, unknown, unknown]>([
    ['a text', 'Hi', [user('Hi')]],
    ['messages', messages, messages],
    ['texts', ['a', 'b'], [user('a'), user('b')]],
    ['a request with messages', { model: 'm', messages }, messages],
    [
      'a request with a system prompt beside them',
      { system: 's', messages },
      [{ role: 'system', content: 's' }, ...messages],
    ],
    [
      'a system prompt in parts',
      { system: [{ type: 'text', text: 's' }], messages: [] },
      [{ role: 'system', content: [{ type: 'text', text: 's' }] }],
    ],
    [
      'a request with input and instructions',
      { instructions: 'i', input: 'x' },
      [{ role: 'system', content: 'i' }, user('x')],
    ],
    ['a request with a prompt', { prompt: 'p' }, [user('p')]],
    ['an object', { a: [1, 2] }, [user('{"a":[1,2]}')]],
    ['a list of numbers', [1, 2], [user('[1,2]')]],
    ['an empty list', [], []],
    ['nothing', null, [user('null')]],
    ['a number', 5, [user('5')]],
  ])('of %s', (_of, input, expected) => expect(readMessages(input)).toEqual(expected));
});

describe('the totals', () => {
  const profile: CompressionProfile = { ...DEFAULT_COMPRESSION_PROFILE, aggressiveness: 1 };
  const text = 'Please note that, in order to answer, you should be very brief.   Thank you very much in advance!';

  test('add up sample by sample; techniques sum to the total, in tokens and to the nano-USD', () => {
    let totals = NO_TOTALS;
    // 3,333,333 nano-USD per million: every product is rounded.
    for (let n = 0; n < 10; n += 1) totals = addSample(totals, text, profile, 3_333_333n);
    expect(totals.originalTokens).toBe(10 * estimateTokens(text));
    const techniques = listTechniques(totals);
    expect(techniques.length).toBeGreaterThan(1);
    const saved = techniques.reduce((sum, { savedTokens }) => sum + savedTokens, 0);
    expect(saved).toBe(totals.originalTokens - totals.compressedTokens);
    const avoided = techniques.reduce((sum, { costAvoidedNanoUsd }) => sum + costAvoidedNanoUsd, 0n);
    expect([avoided, avoided > 0n]).toEqual([totals.costAvoidedNanoUsd, true]);
    for (const { technique, samples, savedTokens, costAvoidedNanoUsd } of techniques) {
      expect([technique, samples]).toEqual([technique, 10]);
      const each = Math.round(((savedTokens / 10) * 3_333_333) / 1e6);
      expect(costAvoidedNanoUsd).toBe(BigInt(10 * each));
    }
    expect(NO_TOTALS).toEqual({
      originalTokens: 0,
      compressedTokens: 0,
      costAvoidedNanoUsd: 0n,
      unpricedSamples: 0,
      byTechnique: {},
    });
  });

  test('of a model without a known price have tokens but no money', () => {
    const { costAvoidedNanoUsd, unpricedSamples, originalTokens, compressedTokens } = addSample(
      NO_TOTALS,
      text,
      profile,
      null,
    );
    expect([costAvoidedNanoUsd, unpricedSamples, compressedTokens < originalTokens]).toEqual([0n, 1, true]);
  });

  test('of a prompt below the minimum count its tokens unchanged', () => {
    const totals = addSample(NO_TOTALS, text, { ...profile, minInputTokens: 1_000 }, 1n);
    expect([totals.compressedTokens, totals.byTechnique]).toEqual([estimateTokens(text), {}]);
  });
});
