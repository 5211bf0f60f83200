/**
 * Under a plan's ceiling a model thinks no more than the plan allows, in each vendor's own words; without one a request
 * passes unchanged. A stream is held in steps only if its model does not think.
 */
import { describe, expect, test } from 'vitest';
import { withBounds } from '../../src/gateway/admission.ts';
import { chatCompletions } from '../../src/gateway/dialects/chat-completions.ts';
import type { Dialect, ModelRequest } from '../../src/gateway/dialects/dialect.ts';
import { generateContent, streamGenerateContent } from '../../src/gateway/dialects/generate-content.ts';
import { messages } from '../../src/gateway/dialects/messages.ts';
import { chooseEffort, effortCeiling } from '../../src/vendors/effort.ts';

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
      model: 'claude',
      effort,
      ceiling: effortCeiling(ceiling),
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
      ceiling: effortCeiling(ceiling),
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

describe('a stream that credit pays for', () => {
  const WITH_NONE = ['none', 'low', 'high'];
  const chat: ModelRequest = { model: 'm', messages: [], stream: true };
  const message: ModelRequest = { ...chat, max_tokens: 100 };
  const content: ModelRequest = { model: 'm', contents: [], stream: true };
  const thinkingConfig = (config: object) => ({ generationConfig: { thinkingConfig: config } });

  test.each<[string, Dialect, ModelRequest, { reasons?: boolean; efforts?: string[] }, boolean]>([
    ['of a model that cannot think', chatCompletions, chat, { reasons: false, efforts: [] }, true],
    ['of a model at its own effort', chatCompletions, chat, { efforts: WITH_NONE }, false],
    ['without effort', chatCompletions, { ...chat, reasoning_effort: 'none' }, { efforts: WITH_NONE }, true],
    [
      'of a model that has to think',
      chatCompletions,
      { ...chat, reasoning_effort: 'none' },
      { efforts: LEVELS },
      false,
    ],
    ['of a message', messages, message, { efforts: LEVELS }, false],
    [
      'of a message without thinking',
      messages,
      { ...message, thinking: { type: 'disabled' } },
      { efforts: LEVELS },
      true,
    ],
    ['of content', streamGenerateContent, content, { efforts: LEVELS }, false],
    [
      'of content without a budget',
      streamGenerateContent,
      { ...content, ...thinkingConfig({ thinkingBudget: 0 }) },
      {},
      true,
    ],
    [
      'of content at a level that its model lacks',
      streamGenerateContent,
      { ...content, ...thinkingConfig({ thinkingLevel: 'NONE' }) },
      { efforts: LEVELS },
      false,
    ],
  ])(
    '%s is held in steps only if nothing hidden is billed; else its bound fits the balance',
    (_what, dialect, request, limits, inSteps) => {
      const attempt = {
        provider: 'openai',
        kind: 'openai' as const,
        baseUrl: 'https://vendor.test/v1',
        model: 'm',
        modelKey: 'openai/m',
        tier: 'standard' as const,
        price: { available: false as const, reason: 'MODEL_NOT_IN_CATALOG' as const },
        assertsTier: false,
        onDowngrade: false,
        limits: { reasons: true, efforts: undefined, contextTokens: undefined, maxOutputTokens: 1_000, ...limits },
      };
      const [bounded] = withBounds(dialect, { request }, [attempt], { allowUnpricedModels: false, creditOpen: [] });
      const { bound } = bounded ?? {};
      expect([bound?.inSteps, bound?.fitsBalance ?? false]).toEqual([inSteps, !inSteps]);
    },
  );
});
