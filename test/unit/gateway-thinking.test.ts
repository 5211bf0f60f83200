/**
 * Under a plan's ceiling a model thinks no more than the plan allows, in each vendor's own words; without one a request
 * passes as it came.
 */
import { describe, expect, test } from 'vitest';
import { generateContent } from '../../src/gateway/dialects/generate-content.ts';
import { messages } from '../../src/gateway/dialects/messages.ts';
import { ceilingOf, chooseEffort } from '../../src/vendors/effort.ts';

const LEVELS = ['low', 'medium', 'high', 'max'];
type Ceiling = 'NONE' | 'LOW' | 'MEDIUM' | 'HIGH';

describe('messages', () => {
  const sent = (fields: object, ceiling: Ceiling, supported: string[] | undefined = LEVELS) => {
    const request = { model: 'claude', messages: [], max_tokens: 100, ...fields };
    const { effort } = chooseEffort(messages.effortAsked(request), ceiling, supported);
    const {
      model,
      messages: _messages,
      max_tokens: _bound,
      ...rest
    } = messages.vendorBody(request, {
      provider: 'anthropic',
      model: 'claude',
      effort,
      ceiling: ceilingOf(ceiling),
      outputTokensMax: undefined,
      addsUsage: true,
    });
    expect(model).toBe('claude');
    return rest;
  };
  const enabled = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } });
  const effort = (level: string) => ({ output_config: { effort: level } });

  test.each<[object, Ceiling, object]>([
    [{}, 'HIGH', {}],
    [{}, 'MEDIUM', {}],
    [{}, 'LOW', effort('low')],
    [effort('max'), 'HIGH', effort('max')],
    [effort('max'), 'MEDIUM', effort('medium')],
    [effort('low'), 'MEDIUM', effort('low')],
    [
      { output_config: { effort: 'max', format: { type: 'json_schema' } } },
      'LOW',
      { output_config: { format: { type: 'json_schema' }, effort: 'low' } },
    ],
    [enabled(30_000), 'HIGH', enabled(30_000)],
    [enabled(30_000), 'MEDIUM', enabled(16_384)],
    [enabled(2_000), 'MEDIUM', enabled(2_000)],
    [{ thinking: { type: 'adaptive' } }, 'NONE', effort('low')],
    [enabled(2_000), 'NONE', effort('low')],
    [{ thinking: { type: 'disabled' } }, 'HIGH', { thinking: { type: 'disabled' } }],
  ])('%j under %s is sent as %j', (asked, ceiling, expected) => {
    expect(sent(asked, ceiling)).toEqual(expected);
  });

  test('a model without levels gets none, and its budget is lowered all the same', () => {
    expect(sent({ ...effort('high'), ...enabled(9_000) }, 'LOW', [])).toEqual(enabled(4_096));
  });
});

describe('content', () => {
  const sent = (thinkingConfig: object | undefined, ceiling: Ceiling) => {
    const request = { model: 'gemini', contents: [], ...(thinkingConfig && { generationConfig: { thinkingConfig } }) };
    const { effort } = chooseEffort(generateContent.effortAsked(request), ceiling, LEVELS);
    const terms = {
      provider: 'google',
      model: 'gemini',
      effort,
      ceiling: ceilingOf(ceiling),
      outputTokensMax: undefined,
      addsUsage: true,
    };
    const body = generateContent.vendorBody(request, terms);
    expect(body.model).toBeUndefined();
    return (body.generationConfig as { thinkingConfig?: object } | undefined)?.thinkingConfig;
  };

  test.each<[object | undefined, Ceiling, object | undefined]>([
    [undefined, 'HIGH', undefined],
    [undefined, 'LOW', { thinkingLevel: 'LOW' }],
    [{ thinkingLevel: 'HIGH' }, 'HIGH', { thinkingLevel: 'HIGH' }],
    [{ thinkingLevel: 'HIGH', includeThoughts: true }, 'MEDIUM', { thinkingLevel: 'MEDIUM', includeThoughts: true }],
    [{ thinking_level: 'HIGH' }, 'LOW', { thinking_level: 'LOW' }],
    [{ thinkingBudget: 20_000 }, 'HIGH', { thinkingBudget: 20_000 }],
    [{ thinkingBudget: 20_000 }, 'MEDIUM', { thinkingBudget: 16_384 }],
    [{ thinkingBudget: -1 }, 'MEDIUM', { thinkingBudget: 16_384 }],
    [{ thinkingBudget: -1 }, 'HIGH', { thinkingBudget: -1 }],
    [{ thinkingBudget: 0 }, 'HIGH', { thinkingBudget: 0 }],
    [{ thinkingBudget: 0 }, 'LOW', { thinkingBudget: 0 }],
  ])('%j under %s is sent as %j', (asked, ceiling, expected) => {
    expect(sent(asked, ceiling)).toEqual(expected);
  });
});
