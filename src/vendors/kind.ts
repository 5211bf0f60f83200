/**
 * The requests that each kind of vendor accepts: its endpoints, the form of chat, the name of its output bound, the
 * header for its key, and the rules by which it counts tokens.
 */
import type { VendorKind } from '../domain/vendor-kind.ts';

/** Endpoints besides chat completions, which every kind can be asked for. */
type Endpoints =
  | 'embeddings'
  /** Images that are made from text alone. */
  | 'images'
  /** OpenAI's others: responses, text completions, edits of images, audio, moderations. */
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
   * The newest name of the output bound in chat completions that the vendor certainly knows. One that knows the newest
   * of all may refuse a request with two.
   */
  chatBound: 'max_completion_tokens' | 'max_tokens';
  /** The header that takes its key. */
  keyHeader: 'authorization' | 'x-api-key' | 'x-goog-api-key';
  /** OpenAI's endpoints lie below the root of its own API, at `/openai`. */
  hasOpenAiBelow: boolean;
  /** The vendor whose rules count images and sounds. */
  mediaRules: 'openai' | 'anthropic' | 'google' | 'others';
  /** The vendor whose models it has, for the vocabulary of a text; `any` if that is not certain. */
  vocabularyOwner: 'openai' | 'anthropic' | 'google' | 'any';
}

/** A vendor that an operator registered as compatible with OpenAI is assumed to have all endpoints. */
const COMPATIBLE: Accepted = {
  endpoints: ['embeddings', 'images', 'others'],
  chatAs: 'chat',
  chatBound: 'max_tokens',
  keyHeader: 'authorization',
  hasOpenAiBelow: false,
  mediaRules: 'others',
  vocabularyOwner: 'any',
};

export const ACCEPTED: Readonly<Record<VendorKind, Accepted>> = {
  openai: { ...COMPATIBLE, chatBound: 'max_completion_tokens', mediaRules: 'openai', vocabularyOwner: 'openai' },
  // It has only chat of OpenAI's endpoints (platform.claude.com/docs/en/api/openai-sdk).
  anthropic: {
    endpoints: ['messages'],
    chatAs: 'messages',
    chatBound: 'max_completion_tokens',
    keyHeader: 'x-api-key',
    hasOpenAiBelow: false,
    mediaRules: 'anthropic',
    vocabularyOwner: 'anthropic',
  },
  // It has chat, embeddings, images, batches and models of OpenAI's endpoints (ai.google.dev/gemini-api/docs/openai).
  google: {
    endpoints: ['embeddings', 'images', 'generateContent'],
    chatAs: 'chat',
    chatBound: 'max_completion_tokens',
    keyHeader: 'x-goog-api-key',
    hasOpenAiBelow: true,
    mediaRules: 'google',
    vocabularyOwner: 'google',
  },
  // A model's name is that of a deployment, which does not determine its vocabulary.
  azure: { ...COMPATIBLE, chatBound: 'max_completion_tokens', mediaRules: 'openai' },
  bedrock: COMPATIBLE,
  vertex: COMPATIBLE,
  openrouter: COMPATIBLE,
  compatible: COMPATIBLE,
};

/** Returns whether a kind has the endpoints. */
export function offering(endpoints: Endpoints): (kind: VendorKind) => boolean {
  return (kind) => ACCEPTED[kind].endpoints.includes(endpoints);
}
