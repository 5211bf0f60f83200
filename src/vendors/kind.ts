/**
 * What each kind of vendor accepts: the endpoints that it has, how chat is asked for, the name of its output bound, how
 * it takes a key, and by which rules it counts tokens.
 */
import type { VendorKind } from '../domain/vendor-kind.ts';

/** Endpoints beside chat completions, which every kind can be asked for. */
type Endpoints =
  | 'embeddings'
  /** Images that are made of text alone. */
  | 'images'
  /** OpenAI's others: responses, completions of text, edits of images, audio, moderations. */
  | 'others'
  /** Anthropic's own. */
  | 'messages'
  /** Google's own. */
  | 'generateContent';

export interface Accepted {
  endpoints: readonly Endpoints[];
  /** The form in which chat completions are asked for. */
  chatAs: 'chat' | 'messages';
  /**
   * The newest name of the output bound in chat completions that the vendor is sure to know. One that knows the newest of
   * all may refuse a request with two.
   */
  chatBound: 'max_completion_tokens' | 'max_tokens';
  /** The header that takes its key. */
  keyHeader: 'authorization' | 'x-api-key' | 'x-goog-api-key';
  /** OpenAI's endpoints lie below the root of its own API, at `/openai`. */
  hasOpenAiBelow: boolean;
  /** Whose rules count images and sounds. */
  mediaOf: 'openai' | 'anthropic' | 'google' | 'others';
  /** Whose models it has, for the vocabulary of a text; `any` if that is not sure. */
  vocabularyOf: 'openai' | 'anthropic' | 'google' | 'any';
}

/** What an operator registered as compatible with OpenAI is taken to have all endpoints. */
const COMPATIBLE: Accepted = {
  endpoints: ['embeddings', 'images', 'others'],
  chatAs: 'chat',
  chatBound: 'max_tokens',
  keyHeader: 'authorization',
  hasOpenAiBelow: false,
  mediaOf: 'others',
  vocabularyOf: 'any',
};

export const ACCEPTED: Readonly<Record<VendorKind, Accepted>> = {
  openai: { ...COMPATIBLE, chatBound: 'max_completion_tokens', mediaOf: 'openai', vocabularyOf: 'openai' },
  // Of OpenAI's endpoints it has chat alone (platform.claude.com/docs/en/api/openai-sdk).
  anthropic: {
    endpoints: ['messages'],
    chatAs: 'messages',
    chatBound: 'max_completion_tokens',
    keyHeader: 'x-api-key',
    hasOpenAiBelow: false,
    mediaOf: 'anthropic',
    vocabularyOf: 'anthropic',
  },
  // Of OpenAI's endpoints it has chat, embeddings, images, batches and models (ai.google.dev/gemini-api/docs/openai).
  google: {
    endpoints: ['embeddings', 'images', 'generateContent'],
    chatAs: 'chat',
    chatBound: 'max_completion_tokens',
    keyHeader: 'x-goog-api-key',
    hasOpenAiBelow: true,
    mediaOf: 'google',
    vocabularyOf: 'google',
  },
  // The name of a model is that of a deployment, which does not tell its vocabulary.
  azure: { ...COMPATIBLE, chatBound: 'max_completion_tokens', mediaOf: 'openai' },
  bedrock: COMPATIBLE,
  vertex: COMPATIBLE,
  openrouter: COMPATIBLE,
  compatible: COMPATIBLE,
};

/** Tells of a kind whether it has the endpoints. */
export function offering(endpoints: Endpoints): (kind: VendorKind) => boolean {
  return (kind) => ACCEPTED[kind].endpoints.includes(endpoints);
}
