/**
 * Reasoning effort is lowered to the plan's ceiling and to a level that the model supports.
 */
import { describe, expect, test } from 'vitest';
import models from '../../src/catalog/models.json' with { type: 'json' };
import {
  asksToThink,
  type Effort,
  effectiveEffort,
  effortCeiling,
  isEffort,
  withinCeiling,
} from '../../src/vendors/effort.ts';
import { EFFORTS } from '../../src/vendors/usage/figures.ts';

describe('the level that a model runs at', () => {
  test.each<[Effort, string[], Effort | undefined]>([
    ['high', ['low', 'medium', 'high'], 'high'],
    ['xhigh', ['low', 'medium', 'high'], 'high'],
    ['max', ['low', 'medium', 'high', 'xhigh'], 'xhigh'],
    ['medium', ['low', 'high'], 'low'],
    ['medium', ['minimal', 'high'], 'minimal'],
    // No lower level: the lowest of the model.
    ['low', ['medium', 'high', 'xhigh'], 'medium'],
    ['low', ['high'], 'high'],
    // `minimal` is the lowest level that reasons.
    ['minimal', ['minimal', 'low'], 'minimal'],
    ['minimal', ['none', 'low', 'medium'], 'low'],
    ['minimal', ['low', 'medium'], 'low'],
    ['minimal', ['none'], 'none'],
    // `none` if reasoning can be disabled.
    ['none', ['none', 'low'], 'none'],
    ['none', ['low', 'medium'], 'low'],
    ['none', ['minimal', 'low'], 'minimal'],
    ['low', ['none', 'medium'], 'none'],
    // The order of the list does not matter, and unknown words are ignored.
    ['xhigh', ['high', 'low', 'ultra'], 'high'],
    // A model without levels.
    ['high', [], undefined],
    ['high', ['ultra'], undefined],
  ])('%s on %j is %s', (requested, supported, effective) => {
    expect(effectiveEffort(requested, supported)).toBe(effective);
  });

  test.each(EFFORTS)('%s passes unchanged if the catalog does not know the levels', (requested) => {
    expect(effectiveEffort(requested, undefined)).toBe(requested);
  });

  test('on every model of the catalog, every request runs at a supported level, raised only to the lowest one', () => {
    const lists = models.flatMap((model) =>
      'reasoningEfforts' in model && model.reasoningEfforts ? [model.reasoningEfforts as string[]] : [],
    );
    expect(lists.length).toBeGreaterThan(50);
    expect(lists).toContainEqual([]);
    for (const supported of lists) {
      const lowest = EFFORTS.find((level) => supported.includes(level));
      for (const requested of EFFORTS) {
        const effective = effectiveEffort(requested, supported);
        // A model that takes no effort gets none.
        if (effective === undefined) {
          expect(supported).toEqual([]);
          continue;
        }
        expect(supported).toContain(effective);
        const raised = EFFORTS.indexOf(effective) > EFFORTS.indexOf(requested);
        if (raised && requested !== 'minimal') expect(effective).toBe(lowest);
      }
    }
  });
});

describe('the ceiling of a plan', () => {
  test.each([
    ['NONE', ['none', 'none', 'none', 'none', 'none', 'none', 'none']],
    ['LOW', ['none', 'minimal', 'low', 'low', 'low', 'low', 'low']],
    ['MEDIUM', ['none', 'minimal', 'low', 'medium', 'medium', 'medium', 'medium']],
    ['HIGH', [...EFFORTS]],
  ] as const)('%s', (level, expected) => {
    expect(EFFORTS.map((requested) => withinCeiling(requested, level))).toEqual(expected);
  });

  test('HIGH has no ceiling', () => {
    expect([effortCeiling('HIGH'), effortCeiling('MEDIUM'), effortCeiling('NONE')]).toEqual([
      undefined,
      'medium',
      'none',
    ]);
  });
});

test('only the known words are levels', () => {
  expect(['none', 'max', 'MAX', 'auto', '', null, 3].map(isEffort)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

describe('whether a request asks its model to think', () => {
  test.each<object>([
    { reasoning_effort: 'low' },
    { reasoning: { effort: 'high' } },
    { reasoning: { max_tokens: 2_000 } },
    { reasoning: { enabled: true } },
    { output_config: { effort: 'medium' } },
    { thinking: { type: 'enabled', budget_tokens: 1_024 } },
    { thinking: { type: 'adaptive' } },
    { thinking: { budget_tokens: 1_024 } },
    { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } },
    { generationConfig: { thinkingConfig: { thinkingBudget: -1 } } },
    { generation_config: { thinking_config: { thinking_budget: 512 } } },
    { reasoning_effort: 'none', thinking: { type: 'enabled' } },
  ])('%j does', (body) => {
    expect(asksToThink({ ...body })).toBe(true);
  });

  test.each<object>([
    {},
    { model: 'gpt-5.2', messages: [], max_tokens: 100 },
    { reasoning_effort: 'none' },
    { reasoning_effort: null },
    { reasoning: null },
    { reasoning: { effort: 'none' } },
    { reasoning: { summary: 'auto' } },
    { reasoning: { enabled: false } },
    { thinking: { type: 'disabled' } },
    { thinking: { type: 'disabled', budget_tokens: 1_024 } },
    { generationConfig: { maxOutputTokens: 100 } },
    { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    { generationConfig: { thinkingConfig: { includeThoughts: true } } },
  ])('%j does not', (body) => {
    expect(asksToThink({ ...body })).toBe(false);
  });
});
