/**
 * What a browser's session may send to a model: the language of the rules, and what both endpoints have in common.
 *
 * The table of an endpoint is part of its dialect. A field that is in no table is closed, so a field that a vendor adds
 * stays closed until somebody opens it. A field is open if it shapes the answer and costs no more than the tokens of
 * the answer. It is closed if it names something in the organization's account at the vendor, speaks of another person,
 * or has a price or a model of its own. Source: OpenAI's API reference, as the types of its SDK have it; a test
 * compares the two.
 */

/**
 * What a field may hold. `null` always passes. Text and numbers pass too, except under `link`, `content` and `only`.
 *
 * - `value`: text, a number or a truth value, or a list of these
 * - `any`: any JSON, because nothing in it is more than a description
 * - `link`: an address that the vendor fetches, or a `data:` URL
 * - `content`: the content itself, as a `data:` URL or in base64
 */
export type Rule =
  | 'value'
  | 'any'
  | 'link'
  | 'content'
  | { only: readonly (string | boolean)[] }
  | { list: Rule }
  | { members: Members }
  /** By the member `type`; `untyped` is for objects without that member. */
  | { types: Record<string, TypedMembers>; untyped?: Members }
  /** One rule for text, another for an object. */
  | { text: Rule; object: Rule };

export type Members = Readonly<Record<string, Rule>>;

export interface TypedMembers {
  /** Beside `type`. */
  members: Members;
  /** A member that must be present, as text. */
  needs?: string;
}

/** The tables of one endpoint. */
export interface SessionFields {
  /** The fields that are open, with what each may hold. */
  open: Members;
  /** Fields that are known and closed, with the reason that the refusal gives. */
  closed: Readonly<Record<string, string>>;
}

export const REFERENCE = 'it names things that are stored at the vendor';
const PERSON = 'the session says whom a call concerns';
export const PRICE = 'it has a price or a model of its own';
export const ACCOUNT = "it changes what the vendor keeps or does for the organization's account";

export const ONLY_FALSE: Rule = { only: [false] };
export const USER_LOCATION: Members = { city: 'value', country: 'value', region: 'value', timezone: 'value' };

/** Open at both endpoints. */
export const COMMON_OPEN: Members = {
  model: 'value',
  models: 'value',
  // Only the session's own id passes: see `identify`.
  customer: 'value',
  user: 'value',
  // Fields of the service's other clients, which are taken out.
  conversationId: 'value',
  conversationTitle: 'value',
  projectId: 'value',
  compress: 'value',
  parallel_tool_calls: 'value',
  service_tier: { only: ['auto'] },
  store: ONLY_FALSE,
  stream: 'value',
  stream_options: { members: { include_usage: 'value', include_obfuscation: 'value' } },
  temperature: 'value',
  top_logprobs: 'value',
  top_p: 'value',
};

/** Closed at both endpoints. */
export const COMMON_CLOSED = {
  feature: PERSON,
  tags: PERSON,
  metadata: ACCOUNT,
  moderation: PRICE,
  // With these a browser could put the blame on another user, or push another user's prompts out of the vendor's cache.
  safety_identifier: PERSON,
  prompt_cache_key: ACCOUNT,
  prompt_cache_options: REFERENCE,
  prompt_cache_retention: ACCOUNT,
} as const;
