/**
 * Prompts made shorter in the application, with the savings on record. No prompt leaves it: only counts do.
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

/** How many tokens a text is, about; no vendor's tokenizer. */
export const estimateTokens: (text: string) => number = estimate;

export interface CompressionProfile {
  techniques: readonly ('json' | 'toon' | 'whitespace' | 'decoration' | 'politeness' | 'filler' | 'duplicates')[];
  /** 0 changes no wording, from 0.3 it is shortened, from 0.7 nuance goes. */
  aggressiveness: number;
  /** Kept byte for byte wherever they occur. */
  protectedPhrases: readonly string[];
  /** Prompts that are estimated below this are left as they are. */
  minInputTokens: number;
}

/** As the service's default, until an organization saves a profile of its own (`readCompressionProfile`). */
export const DEFAULT_PROFILE: CompressionProfile = {
  techniques: TECHNIQUES,
  aggressiveness: 0.3,
  protectedPhrases: [],
  minInputTokens: 0,
};

/** A text, or the messages of a conversation as OpenAI's and Anthropic's APIs write it. */
export type Prompt = string | readonly object[];

export interface CompressPromptInput<P extends Prompt> {
  /** The call that the prompt is for, which has been begun. */
  callId: string;
  prompt: P;
  profile?: CompressionProfile | undefined;
}

export interface CompressedPrompt<P extends Prompt> {
  /** Never longer than the one that was given. */
  prompt: P;
  /** Estimates: no vendor's tokenizer. */
  originalTokens: number;
  compressedTokens: number;
  techniques: string[];
  /** What the service recorded; `null` where it could not, and `error` says why. */
  recorded: Answers['compressPrompt'] | null;
  error: CallmeterError | null;
}

/** Rejects for nothing but a broken input: a record that fails must not keep a prompt from its model. */
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
