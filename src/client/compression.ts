/**
 * Compresses prompts in the application and records the savings. Only token counts leave the application, never a
 * prompt.
 *
 * ```ts
 * import { compressPrompt } from 'callmeter/client/compression';
 *
 * await callmeter.withCall({ customerId: 'alice' }, async (call) => {
 *   const { prompt } = await compressPrompt(callmeter, { callId: call.callId, prompt: messages });
 *   // ... run the model with the shorter messages ...
 * });
 * ```
 */
import { compressText } from '../compression/compress.ts';
import { compressMessages } from '../compression/messages.ts';
import { TECHNIQUES } from '../compression/techniques.ts';
import { estimateTokens as estimate } from '../compression/tokens.ts';
import type { Client } from './client.ts';
import type { CallmeterError } from './errors.ts';
import type { RequestOptions } from './methods.ts';
import type { Answers } from './wire.ts';

/** Estimates the tokens of a text. It is not a vendor's tokenizer. */
export const estimateTokens: (text: string) => number = estimate;

export interface CompressionProfile {
  techniques: readonly ('json' | 'toon' | 'whitespace' | 'decoration' | 'politeness' | 'filler' | 'duplicates')[];
  /** 0 changes no wording; from 0.3 wording is shortened; from 0.7 nuance may be lost. */
  aggressiveness: number;
  /** Phrases that stay unchanged, byte for byte. */
  protectedPhrases: readonly string[];
  /** Prompts with fewer estimated tokens are not compressed. */
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
}

export interface CompressedPrompt<P extends Prompt> {
  /** The compressed prompt, never longer than the original. */
  prompt: P;
  /** Estimated tokens before compression; not a vendor's tokenizer. */
  originalTokens: number;
  compressedTokens: number;
  techniques: string[];
  /** What the service recorded; `null` if recording failed, and `error` says why. */
  recorded: Answers['compressPrompt'] | null;
  error: CallmeterError | null;
}

/**
 * Compresses a prompt and reports the savings. Rejects only for invalid input: if recording fails, you still get the
 * prompt.
 */
export async function compressPrompt<P extends Prompt>(
  callmeter: Pick<Client, 'compressPrompt'>,
  { callId, prompt, profile = DEFAULT_PROFILE }: CompressPromptInput<P>,
  options?: RequestOptions,
): Promise<CompressedPrompt<P>> {
  const { shorter, originalTokens, compressedTokens, techniques } = compressed(prompt, profile);
  const result = { prompt: shorter as P, originalTokens, compressedTokens, techniques };
  const provider = techniques.length === 1 && techniques[0] === 'toon' ? 'toon' : 'heuristic';
  try {
    const promptCompression = { provider, originalTokens, compressedTokens, techniques } as const;
    return { ...result, recorded: await callmeter.compressPrompt({ callId, promptCompression }, options), error: null };
  } catch (error) {
    return { ...result, recorded: null, error: error as CallmeterError };
  }
}

function compressed(prompt: Prompt, profile: CompressionProfile) {
  const isText = typeof prompt === 'string';
  const text = isText ? compressText(prompt, profile) : null;
  const messages = isText ? null : compressMessages(prompt, profile);
  const { originalTokens = 0, compressedTokens = 0, techniques = [] } = text ?? messages ?? {};
  return {
    shorter: text?.text ?? messages?.messages,
    originalTokens,
    compressedTokens,
    techniques: techniques.map(({ name }) => name),
  };
}
