/**
 * Compresses prompts in the application and records the savings. Only token counts leave the application, never a
 * prompt.
 *
 * ```ts
 * import { createClient } from 'callmeter/client';
 * import { compressPrompt } from 'callmeter/client/compression';
 *
 * const callmeter = createClient({ apiKey: process.env.CALLMETER_KEY, baseUrl: 'http://127.0.0.1:8787' });
 * const messages = [{ role: 'user', content: `You are a clerk. Sum up:\n\n${JSON.stringify([{ id: 1 }], null, 2)}` }];
 * await callmeter.withCall({ customerId: 'alice' }, async (call) => {
 *   const { prompt } = await compressPrompt(callmeter, { callId: call.callId, prompt: messages });
 *   // ... run the model with the shorter messages ...
 *   call.setUsage({ providerUsed: 'openai', modelUsed: 'gpt-6-luna', inputTokens: prompt.length, responseTokens: 40 });
 * });
 * ```
 */
import { compressText } from '../compression/compress.ts';
import { meaningMayChange } from '../compression/levels.ts';
import { compressMessages } from '../compression/messages.ts';
import { TECHNIQUES } from '../compression/techniques.ts';
import { estimateTokens as estimate } from '../compression/tokens.ts';
import type { Client } from './client.ts';
import type { CallmeterError } from './errors.ts';
import type { RequestOptions } from './methods.ts';
import type { Answers } from './wire.ts';

/**
 * Estimates the tokens that OpenAI's `o200k_base` makes of a text: within 10 % for English, code and JSON, within 15 % for
 * other languages. It is not a vendor's tokenizer.
 */
export const estimateTokens: (text: string) => number = estimate;

export interface CompressionProfile {
  techniques: readonly ('json' | 'toon' | 'whitespace' | 'decoration' | 'politeness' | 'filler' | 'duplicates')[];
  /**
   * Below 0.3 nothing is lost; from 0.3 on, the published rewrites also apply, which keep the sense; from 0.7 on, the
   * meaning may change.
   */
  aggressiveness: number;
  /** Phrases that stay unchanged, byte for byte. */
  protectedPhrases: readonly string[];
  /** Prompts with fewer tokens are not compressed. */
  minInputTokens: number;
}

/** The service's default, which applies until an organization saves its own profile (`readCompressionProfile`). */
export const DEFAULT_PROFILE: CompressionProfile = {
  techniques: TECHNIQUES,
  aggressiveness: 0.3,
  protectedPhrases: [],
  minInputTokens: 0,
};

/** A text, or the messages of a conversation in the format of OpenAI or Anthropic. */
export type Prompt = string | readonly object[];

export interface CompressPromptInput<P extends Prompt> {
  /** The call that the prompt belongs to. It must have begun. */
  callId: string;
  prompt: P;
  profile?: CompressionProfile | undefined;
  /** Counts the tokens of a text, such as your vendor's tokenizer; default `estimateTokens`. */
  countTokens?: ((text: string) => number) | undefined;
}

/** Tokens of the texts that a technique changed, before and after it. */
export interface TechniqueSaving {
  name: CompressionProfile['techniques'][number];
  originalTokens: number;
  compressedTokens: number;
  savedTokens: number;
}

export interface CompressedPrompt<P extends Prompt> {
  /** The compressed prompt, never longer than the original. */
  prompt: P;
  /** Tokens before and after, by the same count. */
  originalTokens: number;
  compressedTokens: number;
  /** `ESTIMATE` unless you passed `countTokens`. */
  countedBy: 'ESTIMATE' | 'CALLER';
  /** The techniques that changed the prompt, in the order in which they were applied. Their savings sum to the whole. */
  techniques: TechniqueSaving[];
  /** Whether the profile's aggressiveness may change the meaning: from 0.7 on. */
  meaningMayChange: boolean;
  /** The service's record; `null` if recording failed, and `error` is the reason. */
  recorded: Answers['compressPrompt'] | null;
  error: CallmeterError | null;
}

/**
 * Compresses a prompt and reports the savings. Rejects only for invalid input: if recording fails, you still get the
 * prompt.
 */
export async function compressPrompt<P extends Prompt>(
  callmeter: Pick<Client, 'compressPrompt'>,
  { callId, prompt, profile = DEFAULT_PROFILE, countTokens }: CompressPromptInput<P>,
  options?: RequestOptions,
): Promise<CompressedPrompt<P>> {
  const { shorter, originalTokens, compressedTokens, techniques } = compressed(
    prompt,
    profile,
    countTokens ?? estimate,
  );
  const result = {
    prompt: shorter as P,
    originalTokens,
    compressedTokens,
    countedBy: countTokens ? ('CALLER' as const) : ('ESTIMATE' as const),
    techniques,
    meaningMayChange: meaningMayChange(profile.aggressiveness),
  };
  const names = techniques.map(({ name }) => name);
  const provider = names.length === 1 && names[0] === 'toon' ? 'toon' : 'heuristic';
  try {
    const promptCompression = { provider, originalTokens, compressedTokens, techniques: names } as const;
    return { ...result, recorded: await callmeter.compressPrompt({ callId, promptCompression }, options), error: null };
  } catch (error) {
    return { ...result, recorded: null, error: error as CallmeterError };
  }
}

function compressed(prompt: Prompt, profile: CompressionProfile, countTokens: (text: string) => number) {
  if (typeof prompt === 'string') {
    const { text, ...counts } = compressText(prompt, profile, countTokens);
    return { shorter: text, ...counts };
  }
  const { messages, ...counts } = compressMessages(prompt, profile, countTokens);
  return { shorter: messages, ...counts };
}
