/**
 * The shared parts of the tests of vendors' usage: bodies in the form of each endpoint, and the usage that is read from
 * them.
 */
import type { VendorUsage } from '../../src/vendors/usage.ts';

const NONE = { inputTokens: 0, cachedInputTokens: 0, cacheWriteInputTokens: 0, responseTokens: 0, reasoningTokens: 0 };
export const used = (figures: Partial<VendorUsage>): VendorUsage => ({ ...NONE, ...figures });
export const openai = { modelUsed: 'gpt-5.2', providerUsed: 'openai' } as const;
export const claude = { modelUsed: 'claude-sonnet-5', providerUsed: 'anthropic' } as const;
export const gemini = { modelUsed: 'gemini-3.5-flash', providerUsed: 'google' } as const;

export const chat = (usage: unknown, model = 'gpt-5.2') => ({ object: 'chat.completion', model, choices: [], usage });
export const response = (usage: unknown, more: object = {}) => ({
  object: 'response',
  model: 'gpt-5.2',
  status: 'completed',
  output: [],
  usage,
  ...more,
});
export const content = (usageMetadata: unknown, more: object = {}) => ({
  candidates: [],
  usageMetadata,
  modelVersion: 'gemini-3.5-flash',
  ...more,
});
