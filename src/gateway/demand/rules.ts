/**
 * The language that describes the fields of an endpoint: the value that a field may hold, the bill that it can cause at
 * the vendor, and whether a browser's session may send it.
 *
 * A field that is in no table is unknown: a session may not send it, and credit does not pay for it. Nothing is
 * described below `any`: that is the caller's own JSON, such as the schema of a tool, and costs the tokens of its text.
 */

/**
 * The bills that a field can cause besides the tokens of its text. `demand.ts` gives the most that each can cost.
 *
 * - `image`, `audio`, `video`, `blob`: content of that kind; a blob says by its media type which kind it is
 * - `stored`: content that only the vendor knows, which can fill the model's context; `storedPrompt`: with tools of its
 *   own
 * - `answers`: so many answers; `outputBound`: at most so many tokens of each; `prediction`: tokens besides the answer
 * - `modalities`: the kinds of output; `spoken`: sound as output
 * - `serviceTier`, `speed`: rates of their own
 * - `cacheMark`: writes to the cache of a vendor that writes only if it is asked; `cacheLifetime`: by how long it keeps
 *   them
 * - `hosted`: a tool without a fee that the vendor runs; `webSearch`, `fileSearch`, `code`, `maps`, `drawing`: one with
 *   a fee; `usesBound`: at most so many uses of all hosted tools
 * - `otherModel`: a further model, with a price of its own; `reasoningMode`: more than one run of the model
 */
const BILLS = [
  'image',
  'audio',
  'video',
  'blob',
  'stored',
  'storedPrompt',
  'answers',
  'outputBound',
  'prediction',
  'modalities',
  'spoken',
  'serviceTier',
  'speed',
  'cacheMark',
  'cacheLifetime',
  'hosted',
  'webSearch',
  'fileSearch',
  'code',
  'maps',
  'drawing',
  'usesBound',
  'otherModel',
  'reasoningMode',
] as const;
export type Bill = (typeof BILLS)[number];

/**
 * The values that a field may hold. `null` always passes. Text and numbers pass too, except under `link`, `content` and
 * `only`, which bind sessions alone.
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
  /** Chosen by the member `type`; `untyped` is for objects without that member. */
  | { types: Readonly<Record<string, TypedMembers>>; untyped?: TypedMembers }
  /** One rule for text, another for an object. */
  | { text: Rule; object: Rule }
  | { bills: Bill; of: Rule }
  /** Closed to sessions, for the reason that the refusal gives. */
  | { closed: string; of: Rule };

export type Members = Readonly<Record<string, Rule>>;

export interface TypedMembers {
  /** The members besides `type`. */
  members: Members;
  bills?: Bill;
  /** A member that a session must send, as text. */
  needs?: string;
  /** Sessions may not send this type. */
  closed?: true;
}

export const REFERENCE = 'it names things that are stored at the vendor';
export const PERSON = 'the session says whom a call concerns';
export const PRICE = 'it has a price or a model of its own';
export const ACCOUNT = "it changes what the vendor keeps or does for the organization's account";
const VENDOR = 'only some vendors know it';

export const ONLY_FALSE: Rule = { only: [false] };

export const bills = (bill: Bill, of: Rule = 'value'): Rule => ({ bills: bill, of });
export const closed = (reason: string, of: Rule = 'value'): Rule => ({ closed: reason, of });
/** Content stored at the vendor, which no session may name. */
export const stored = (of: Rule = 'value'): Rule => closed(REFERENCE, bills('stored', of));

/** Fields of some vendors that cost nothing besides the tokens of their text. */
export const ofSomeVendors = (rule: 'value' | 'any', names: string): Members =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, closed(VENDOR, rule)]));

export const values = (names: string): Members =>
  Object.fromEntries(names.split(/\s+/).map((name): [string, Rule] => [name, 'value']));
