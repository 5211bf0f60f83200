/**
 * A vendor's count of a prompt, for later prompts that begin with it: the digests by which the customer's object knows
 * prompts that it never sees.
 *
 * A digest is an HMAC-SHA-256 over everything that decides the vendor's count: the address, the model, every field that
 * is not a message, every version header, and the messages in their order. Its key is derived from the deployment's
 * secret for one customer, so that digests of two customers cannot be compared. A digest bounds tokens, not rates: the
 * vendor's cache may miss.
 */

import { matchModel } from '../../catalog/matching.ts';
import type { Catalog } from '../../catalog/model.ts';
import type { CallBound } from '../../domain/bound.ts';
import type { CustomerKey } from '../../domain/ids.ts';
import { takeUsage } from '../../domain/usage.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import type { Env } from '../../env.ts';
import type { CountedPrompt, PromptBeginnings } from '../../objects/customer-commands.ts';
import { toBase64Url } from '../../platform/base64.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { remember } from '../../platform/isolate-memory.ts';
import type { Fields } from '../../vendors/usage/figures.ts';
import { type Conversation, readConversation, SEAM_TOKENS } from '../demand/conversation.ts';
import { endpointAt } from '../demand/endpoints.ts';
import type { Outcome } from './end.ts';

/** A prompt with a lower bound is not followed, because that gains nothing. */
const FOLLOWED_TOKENS_MIN = 4_096;
/** The most beginnings of a prompt that its customer's object gets; the longest ones are sent. */
export const BEGINNINGS_MAX = 64;
/**
 * Half of an HMAC. Nobody can search for two prompts with one digest, because digests and their key stay inside; a
 * collision by chance needs about 2^64 prompts.
 */
const DIGEST_BYTES = 16;
const HASH_BYTES = 32;
/** Keys of customers that one isolate remembers. */
const KEYS_MAX = 1_000;

/** A count below a quarter of our own estimate does not cover the whole prompt. */
const PART_OF_ESTIMATE_MIN = 4;
const VERSION_HEADER = /^(?:anthropic|openai)-|beta|version/;
/** What a digest stands for: a beginning of a prompt, or a stored response. */
const BEGINNING = 0;
const RESPONSE = 1;

/** A request to a model. */
export interface FollowedRequest extends CustomerKey {
  /** The path of the address. */
  path: string;
  body: Fields;
  attempts: readonly FollowedAttempt[];
}

interface FollowedAttempt {
  bound: CallBound;
  /** As in `boundedRequest`. */
  following: readonly (number | null)[] | null;
  kind: VendorKind;
  /** Everything besides the body that decides the count of the prompt. Plain JSON. */
  terms: unknown;
}

/** A prompt whose tokens can be known. */
export interface FollowedPrompt {
  beginnings: PromptBeginnings;
  /** The digest of the whole prompt. */
  whole: string;
  /** The digest of a prompt that follows the answer; `null` if the vendor does not store it. */
  afterResponse(responseId: string): Promise<string> | null;
}

/** The end of a call whose prompt is followed. */
export interface FollowedEnd extends Pick<Outcome, 'usage' | 'parts' | 'error'> {
  /** The name of the requested model, and of the model that the answer states. */
  asked: string;
  served: string | undefined;
  isFallback: boolean | undefined;
  responseId: string | undefined;
  /** Callmeter's own count of the prompt. */
  estimate: number;
  /** The request asked to think, but its output bound left no room for it, so the vendor got another prompt. */
  lostThinking: boolean;
}

/** The counts to store for later prompts, if the vendor counted all of this prompt and nothing else. */
export async function countedPrompts(
  catalog: Catalog,
  prompt: FollowedPrompt | null,
  { usage, parts = [], error, asked, served = asked, isFallback, responseId, estimate, lostThinking }: FollowedEnd,
): Promise<CountedPrompt[] | undefined> {
  if (!prompt || usage === null || usage.unclear || error || parts.length > 0 || isFallback || lostThinking) return;
  if (!isSameModel(catalog, asked, served, Date.now())) return;
  const { inputTokens, responseTokens } = takeUsage(usage).usage;
  // A vendor that refused the prompt, or that reports only the uncached part, has not counted all of it.
  if (responseTokens === 0 || inputTokens * PART_OF_ESTIMATE_MIN < estimate) return;
  const after = responseId === undefined ? null : await prompt.afterResponse(responseId);
  return [[prompt.whole, inputTokens], ...(after === null ? [] : [[after, inputTokens + responseTokens] as const])];
}

function isSameModel(catalog: Catalog, asked: string, served: string, nowMs: number): boolean {
  if (asked === served) return true;
  const [wanted, found] = [matchModel(catalog, asked, nowMs)?.model, matchModel(catalog, served, nowMs)?.model];
  return wanted !== undefined && wanted === found;
}

const keys = remember(() => new BoundedMap<string, CryptoKey>(KEYS_MAX));
const encoder = new TextEncoder();
/** An isolate's memory for texts that are hashed: new memory for each text costs more than the hash. */
const SCRATCH_BYTES = 1024 * 1024;
/** The most UTF-8 bytes of a code unit. */
const UTF8_BYTES_MAX = 3;
const scratch = remember(() => new Uint8Array(SCRATCH_BYTES));

/** The prompts of the attempts; `null` for a prompt that cannot be followed, and for all of them without a secret. */
export async function followedPrompts(
  { VENDOR_KEY_SECRET: secret }: Pick<Env, 'VENDOR_KEY_SECRET'>,
  { organizationId, customerId, path, body, attempts }: FollowedRequest,
): Promise<(FollowedPrompt | null)[]> {
  const isFollowed = attempts.map(
    ({ bound: { prompt }, following, kind }) =>
      prompt !== undefined &&
      following !== null &&
      // OpenRouter serves one name by several vendors, and some of them cut a prompt.
      kind !== 'openrouter' &&
      (prompt.tokens >= FOLLOWED_TOKENS_MIN || isStored(path, body)),
  );
  const conversation = secret && isFollowed.includes(true) ? readConversation(path, body) : null;
  if (!secret || !conversation) return attempts.map(() => null);
  const { fields, pieces } = conversation;
  const [key, ofFields, ...ofPieces] = await Promise.all([
    deriveKey(secret, { organizationId, customerId }),
    sha256(fields),
    ...pieces.map(sha256),
  ]);
  return Promise.all(
    attempts.map(async ({ following, terms }, index) => {
      if (!following || !isFollowed[index]) return null;
      const digest = digestsUnder(key, [await sha256(JSON.stringify(terms)), ofFields]);
      return followedPrompt(digest, conversation, ofPieces, following, isStored(path, body));
    }),
  );
}

/** Headers that name a version, a beta or an account; not headers of credentials or of a single request. */
export function versionHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const names = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  return Object.fromEntries(names.filter(([name]) => VERSION_HEADER.test(name)).sort());
}

/** A later request may contain such a prompt only through the id of its response. */
function isStored(path: string, { store }: Fields): boolean {
  return endpointAt(path)?.name === 'responses' && store !== false;
}

async function followedPrompt(
  digest: DigestOf,
  { ends, follows }: Conversation,
  pieces: readonly Uint8Array[],
  following: readonly (number | null)[],
  isStored: boolean,
): Promise<FollowedPrompt> {
  const afterResponse = async (responseId: string) => digest(RESPONSE, [await hashOfResponse(responseId)]);
  const more = (messages: number) => following[messages] ?? null;
  const earlier = follows === undefined ? [] : [await hashOfResponse(follows)];
  const beginning = async (index: number) => digest(BEGINNING, [...earlier, ...pieces.slice(0, index + 1)]);
  const known = await Promise.all([
    ...(follows === undefined ? [] : [afterResponse(follows).then((digest) => ({ digest, more: more(0) }))]),
    ...[...ends.entries()]
      .slice(follows === undefined ? -BEGINNINGS_MAX : 1 - BEGINNINGS_MAX)
      .map(async ([index, messages]) => ({ digest: await beginning(index), more: more(messages) })),
  ]);
  return {
    beginnings: known.flatMap(({ digest, more: tokens }) =>
      tokens === null ? [] : [[digest, tokens + SEAM_TOKENS] as const],
    ),
    whole: known.at(-1)?.digest ?? '',
    afterResponse: (responseId) => (isStored ? afterResponse(responseId) : null),
  };
}

type DigestOf = (kind: number, hashes: readonly Uint8Array[]) => Promise<string>;

/** Makes digests under one root. The root covers everything of the prompts besides their messages. */
function digestsUnder(key: CryptoKey, root: readonly Uint8Array[]): DigestOf {
  return async (kind, hashes) => {
    const bytes = new Uint8Array(1 + (root.length + hashes.length) * HASH_BYTES);
    bytes[0] = kind;
    for (const [index, hash] of [...root, ...hashes].entries()) bytes.set(hash, 1 + index * HASH_BYTES);
    const digest = await crypto.subtle.sign('HMAC', key, bytes);
    return toBase64Url(new Uint8Array(digest, 0, DIGEST_BYTES));
  };
}

/** No piece of messages begins with this text. */
const hashOfResponse = (responseId: string) => sha256(`response ${responseId}`);

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', encodeUtf8(text)));
}

/**
 * The text in UTF-8, in memory that the next call reuses: a digest has copied its bytes when it returns its promise.
 */
function encodeUtf8(text: string): Uint8Array {
  if (text.length * UTF8_BYTES_MAX > SCRATCH_BYTES) return encoder.encode(text);
  const { written } = encoder.encodeInto(text, scratch.value);
  return scratch.value.subarray(0, written);
}

async function deriveKey(secret: string, { organizationId, customerId }: CustomerKey): Promise<CryptoKey> {
  const purpose = JSON.stringify(['counted prompts', organizationId, customerId]);
  const name = `${secret} ${purpose}`;
  const known = keys.value.get(name);
  if (known) return known;
  const material = await crypto.subtle.importKey('raw', encoder.encode(secret), 'HKDF', false, ['deriveKey']);
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(HASH_BYTES), info: encoder.encode(purpose) };
  const form = { name: 'HMAC', hash: 'SHA-256', length: 256 };
  const key = await crypto.subtle.deriveKey(derivation, material, form, false, ['sign']);
  keys.value.set(name, key);
  return key;
}
