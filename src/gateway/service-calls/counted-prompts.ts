/**
 * What a vendor counted for a prompt, for a later one that begins with it: the digests by which the customer's object knows
 * prompts that it never sees.
 *
 * A digest is an HMAC-SHA-256 over all that decides how the vendor counts: where it is asked, the model, every field and
 * header of a version that is no message, and the messages in their order. Its key is derived from the deployment's secret
 * for one customer, so that digests of two customers cannot be compared. A digest bounds tokens, not rates: the vendor's
 * cache may miss.
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
import { type Conversation, conversationOf, SEAM_TOKENS } from '../demand/conversation.ts';
import { endpointAt } from '../demand/endpoints.ts';
import type { Outcome } from './end.ts';

/** A prompt whose bound is lower is not followed: nothing is gained. */
const FOLLOWED_TOKENS_MIN = 4_096;
/** Beginnings of a prompt that its customer's object is told, the longest ones. */
export const BEGINNINGS_MAX = 64;
/**
 * Half of an HMAC: nobody can look for two prompts with one digest, because nobody outside learns digests or their key, and
 * by chance two of 2^64 would have to be made.
 */
const DIGEST_BYTES = 16;
const HASH_BYTES = 32;
/** Keys of customers that one isolate remembers. */
const KEYS_MAX = 1_000;

/** A count of less than this part of our own, a quarter, is not one of the whole prompt. */
const PART_OF_ESTIMATE_MIN = 4;
const VERSION_HEADER = /^(?:anthropic|openai)-|beta|version/;
/** What a digest stands for. */
const BEGINNING = 0;
const RESPONSE = 1;

/** A request to a model. */
export interface FollowedRequest extends CustomerKey {
  /** Of the address. */
  path: string;
  body: Fields;
  attempts: readonly FollowedAttempt[];
}

interface FollowedAttempt {
  bound: CallBound;
  /** As `boundedRequest` has it. */
  following: readonly (number | null)[] | null;
  kind: VendorKind;
  /** All besides the body that decides how the prompt is counted. Plain JSON. */
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

/** How a call ended whose prompt is followed. */
export interface FollowedEnd extends Pick<Outcome, 'usage' | 'parts' | 'error'> {
  /** The name of the model that was asked, and of the one that the answer says. */
  asked: string;
  served: string | undefined;
  isFallback: boolean | undefined;
  responseId: string | undefined;
  /** Our own count of the prompt. */
  estimate: number;
  /** The request switched thinking on, and its output bound left no room for it, so that the vendor got another prompt. */
  lostThinking: boolean;
}

/** What is known of later prompts, if the vendor counted this one, all of it and nothing else. */
export async function countedPrompts(
  catalog: Catalog,
  prompt: FollowedPrompt | null,
  { usage, parts = [], error, asked, served = asked, isFallback, responseId, estimate, lostThinking }: FollowedEnd,
): Promise<CountedPrompt[] | undefined> {
  if (!prompt || usage === null || usage.unclear || error || parts.length > 0 || isFallback || lostThinking) return;
  if (!isSameModel(catalog, asked, served, Date.now())) return;
  const { inputTokens, responseTokens } = takeUsage(usage).usage;
  // A vendor that refused the prompt, or that says only what its cache did not have, has not counted all of it.
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
/** Memory of one isolate for texts that are hashed; making new one for each costs more than the hash. */
const SCRATCH_BYTES = 1024 * 1024;
/** Of a code unit. */
const UTF8_BYTES_MAX = 3;
const scratch = remember(() => new Uint8Array(SCRATCH_BYTES));

/** The prompts of the attempts; `null` for one of which nothing can be known, and for all of them without a secret. */
export async function followedPrompts(
  { VENDOR_KEY_SECRET: secret }: Pick<Env, 'VENDOR_KEY_SECRET'>,
  { organizationId, customerId, path, body, attempts }: FollowedRequest,
): Promise<(FollowedPrompt | null)[]> {
  const isFollowed = attempts.map(
    ({ bound: { prompt }, following, kind }) =>
      prompt !== undefined &&
      following !== null &&
      // What has one name there is served by several vendors, of which some cut a prompt.
      kind !== 'openrouter' &&
      (prompt.tokens >= FOLLOWED_TOKENS_MIN || isStored(path, body)),
  );
  const conversation = secret && isFollowed.includes(true) ? conversationOf(path, body) : null;
  if (!secret || !conversation) return attempts.map(() => null);
  const { fields, pieces } = conversation;
  const [key, ofFields, ...ofPieces] = await Promise.all([
    keyOf(secret, { organizationId, customerId }),
    hashOf(fields),
    ...pieces.map(hashOf),
  ]);
  return Promise.all(
    attempts.map(async ({ following, terms }, index) => {
      if (!following || !isFollowed[index]) return null;
      const digestOf = digestsUnder(key, [await hashOf(JSON.stringify(terms)), ofFields]);
      return followedPrompt(digestOf, conversation, ofPieces, following, isStored(path, body));
    }),
  );
}

/** Headers that name a version, a beta or an account; not those of credentials, or of a single request. */
export function versionHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const names = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  return Object.fromEntries(names.filter(([name]) => VERSION_HEADER.test(name)).sort());
}

/** A later request may have such a prompt behind the id of its response alone. */
function isStored(path: string, { store }: Fields): boolean {
  return endpointAt(path)?.name === 'responses' && store !== false;
}

async function followedPrompt(
  digestOf: DigestOf,
  { ends, follows }: Conversation,
  pieces: readonly Uint8Array[],
  following: readonly (number | null)[],
  isStored: boolean,
): Promise<FollowedPrompt> {
  const afterResponse = async (responseId: string) => digestOf(RESPONSE, [await hashOfResponse(responseId)]);
  const more = (messages: number) => following[messages] ?? null;
  const earlier = follows === undefined ? [] : [await hashOfResponse(follows)];
  const beginning = async (index: number) => digestOf(BEGINNING, [...earlier, ...pieces.slice(0, index + 1)]);
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

/** Makes digests under one root, which is what decides of the prompts besides their messages. */
function digestsUnder(key: CryptoKey, root: readonly Uint8Array[]): DigestOf {
  return async (kind, hashes) => {
    const bytes = new Uint8Array(1 + (root.length + hashes.length) * HASH_BYTES);
    bytes[0] = kind;
    for (const [index, hash] of [...root, ...hashes].entries()) bytes.set(hash, 1 + index * HASH_BYTES);
    const digest = await crypto.subtle.sign('HMAC', key, bytes);
    return toBase64Url(new Uint8Array(digest, 0, DIGEST_BYTES));
  };
}

/** No piece of messages begins like this. */
const hashOfResponse = (responseId: string) => hashOf(`response ${responseId}`);

async function hashOf(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(text)));
}

/** The text in UTF-8, in memory that the next call uses again: a digest has copied its bytes when it returns its promise. */
function bytesOf(text: string): Uint8Array {
  if (text.length * UTF8_BYTES_MAX > SCRATCH_BYTES) return encoder.encode(text);
  const { written } = encoder.encodeInto(text, scratch.value);
  return scratch.value.subarray(0, written);
}

async function keyOf(secret: string, { organizationId, customerId }: CustomerKey): Promise<CryptoKey> {
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
