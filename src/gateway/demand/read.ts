/**
 * Reads a request by the table of its endpoint: the bills that it can cause at the vendor, and the first field that no
 * table knows. One walk for requests on credit; sessions use `../session-rules.ts`, which reads the same tables.
 */
import { CREDIT_OPEN_MAX } from '../../contract/credit-open.ts';
import { type Fields, isFields } from '../../vendors/usage/figures.ts';
import type { Bill, Members, Rule } from './rules.ts';

/** A field of a request. */
export interface Place {
  /** The path from the body on: `messages.0.name`. */
  path: string;
  value: unknown;
}

export interface ReadRequest {
  /** The fields that can make the vendor bill something, in the order of the body; at most `PLACES_MAX` of each kind. */
  bills: ReadonlyMap<Bill, readonly Place[]>;
  /** The paths of fields that no table knows: one for each name that `fieldName` gives, at most `UNKNOWN_MAX`. */
  unknown: readonly string[];
}

/** A field beyond it counts as unknown, because it is not read. */
const PLACES_MAX = 10_000;
/** One more than an organization can open, so that one field always stays closed. */
const UNKNOWN_MAX = CREDIT_OPEN_MAX + 1;
/** A longer path ends with an ellipsis, which no entry of `creditOpen` has. */
const PATH_LENGTH_MAX = 200;

export function readRequest(members: Members, body: Fields): ReadRequest {
  const walk = new Walk();
  walk.members(members, body, '');
  return walk;
}

/** The depth of this recursion is bounded by the rules, which are finite. */
class Walk implements ReadRequest {
  readonly bills = new Map<Bill, Place[]>();
  /** Unknown fields by name. */
  readonly #unknown = new Map<string, string>();

  get unknown(): string[] {
    return [...this.#unknown.values()];
  }

  members(members: Members, value: Fields, path: string): void {
    for (const [name, member] of Object.entries(value)) {
      if (member === null || member === undefined) continue;
      const at = path === '' ? name : `${path}.${name}`;
      if (Object.hasOwn(members, name)) this.#rule(members[name] as Rule, member, at);
      else this.#addUnknown(at);
    }
  }

  #rule(rule: Rule, value: unknown, path: string): void {
    if (value === null || rule === 'any') return;
    if (typeof rule === 'object' && 'closed' in rule) this.#rule(rule.of, value, path);
    else if (typeof rule === 'object' && 'bills' in rule) {
      // No vendor documents the meaning of a word in place of an object, so it asks for the field that it names.
      if (isUsed(value) || (rule.of === 'any' && typeof value !== 'object')) this.#bill(rule.bills, value, path);
      this.#rule(rule.of, value, path);
    } else if (typeof rule === 'object' && 'text' in rule)
      this.#rule(typeof value === 'object' ? rule.object : rule.text, value, path);
    // Text, numbers and truth values hold no further field for any vendor.
    else if (typeof value === 'object') this.#object(rule, value, path);
  }

  #object(
    rule: Exclude<Rule, 'any' | { closed: string } | { bills: Bill } | { text: Rule }>,
    value: object,
    path: string,
  ) {
    if (typeof rule === 'string' || 'only' in rule) {
      if (holdsObject(value)) this.#addUnknown(path);
    } else if (Array.isArray(value)) {
      if ('list' in rule) for (const [index, item] of value.entries()) this.#rule(rule.list, item, `${path}.${index}`);
      else this.#addUnknown(path);
    } else if ('members' in rule) this.members(rule.members, value as Fields, path);
    else if ('types' in rule) this.#typed(rule, value as Fields, path);
    // An object in place of a list: Google takes one content for a list with one content.
    else this.#rule(rule.list, value, path);
  }

  #typed({ types, untyped }: Extract<Rule, { types: unknown }>, value: Fields, path: string): void {
    const { type, ...members } = value;
    const isUntyped = type === undefined || type === null;
    const known = isUntyped
      ? untyped
      : typeof type === 'string' && Object.hasOwn(types, type)
        ? types[type]
        : undefined;
    if (known === undefined) this.#addUnknown(`${path}.type`);
    else {
      if (known.bills !== undefined) this.#bill(known.bills, value, path);
      this.members(known.members, members, path);
    }
  }

  #bill(bill: Bill, value: unknown, path: string): void {
    const places = this.bills.get(bill) ?? [];
    if (places.length < PLACES_MAX) places.push({ path, value });
    else this.#addUnknown(path);
    this.bills.set(bill, places);
  }

  #addUnknown(path: string): void {
    if (this.#unknown.size >= UNKNOWN_MAX) return;
    const told = path.length > PATH_LENGTH_MAX ? `${path.slice(0, PATH_LENGTH_MAX)}…` : path;
    const name = withoutPlaces(told);
    if (!this.#unknown.has(name)) this.#unknown.set(name, told);
  }
}

/** The name of an unknown field in `creditOpen`: a `*` stands for a place in a list. */
export function fieldName(endpoint: string, path: string): string {
  return `field:${endpoint}/${withoutPlaces(path)}`;
}

function withoutPlaces(path: string): string {
  return path.replaceAll(/(?<=^|\.)\d+(?=\.|$)/g, '*');
}

/** Text, numbers and lists of them cannot hold a field; an object can. */
function holdsObject(value: object): boolean {
  return !Array.isArray(value) || value.some((item) => (Array.isArray(item) ? holdsObject(item) : isFields(item)));
}

/** Whether a field asks for its feature: `false`, an empty text and an empty list do not. */
function isUsed(value: unknown): boolean {
  if (value === false || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}
