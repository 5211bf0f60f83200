/**
 * Reads a request by the table of its endpoint: what it can make the vendor bill, and the first field that no table
 * knows. One walk for requests on credit; sessions have `../gateway/session-rules.ts`, which reads the same tables.
 */
import { type Fields, isFields } from '../vendors/usage/figures.ts';
import type { Bill, Members, Rule } from './rules.ts';

/** A field of a request. */
export interface Place {
  /** From the body on: `messages.0.name`. */
  path: string;
  value: unknown;
}

export interface ReadRequest {
  /** The fields that can make the vendor bill something, in the order of the body; at most `PLACES_MAX` of each. */
  bills: ReadonlyMap<Bill, readonly Place[]>;
  /** Fields that no table knows, at most `UNKNOWN_MAX`. */
  unknown: readonly string[];
}

/** More places of one kind are read and not listed: what counts is that there are some, and what the first ones say. */
const PLACES_MAX = 1_000;
const UNKNOWN_MAX = 100;
/** Of a longer path the beginning is told. */
const PATH_LENGTH_MAX = 200;

export function readRequest(members: Members, body: Fields): ReadRequest {
  const walk = new Walk();
  walk.members(members, body, '');
  return walk;
}

/** The depth of this recursion is bounded by the rules, which are finite. */
class Walk implements ReadRequest {
  readonly bills = new Map<Bill, Place[]>();
  readonly unknown: string[] = [];

  members(members: Members, value: Fields, path: string): void {
    for (const [name, member] of Object.entries(value)) {
      if (member === null || member === undefined) continue;
      const at = path === '' ? name : `${path}.${name}`;
      // Forms write a list so.
      const known = name.replace(/\[\]$/, '');
      if (Object.hasOwn(members, known)) this.#rule(members[known] as Rule, member, at);
      else this.#unknown(at);
    }
  }

  #rule(rule: Rule, value: unknown, path: string): void {
    if (value === null || rule === 'any') return;
    if (typeof rule === 'object' && 'closed' in rule) this.#rule(rule.of, value, path);
    else if (typeof rule === 'object' && 'bills' in rule) {
      this.#bill(rule.bills, value, path);
      this.#rule(rule.of, value, path);
    } else if (typeof rule === 'object' && 'text' in rule)
      this.#rule(typeof value === 'object' ? rule.object : rule.text, value, path);
    // Text, numbers and truth values are what they are: no vendor finds a field in them.
    else if (typeof value === 'object') this.#object(rule, value, path);
  }

  #object(
    rule: Exclude<Rule, 'any' | { closed: string } | { bills: Bill } | { text: Rule }>,
    value: object,
    path: string,
  ) {
    if (typeof rule === 'string' || 'only' in rule) {
      if (holdsObject(value)) this.#unknown(path);
    } else if (Array.isArray(value)) {
      if ('list' in rule) for (const [index, item] of value.entries()) this.#rule(rule.list, item, `${path}.${index}`);
      else this.#unknown(path);
    } else if ('members' in rule) this.members(rule.members, value as Fields, path);
    else if ('types' in rule) this.#typed(rule, value as Fields, path);
    // An object in the place of a list: Google takes one content for a list of one.
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
    if (known === undefined) this.#unknown(`${path}.type`);
    else {
      if (known.bills !== undefined) this.#bill(known.bills, value, path);
      this.members(known.members, members, path);
    }
  }

  #bill(bill: Bill, value: unknown, path: string): void {
    if (!isUsed(value)) return;
    const places = this.bills.get(bill) ?? [];
    if (places.length < PLACES_MAX) places.push({ path, value });
    this.bills.set(bill, places);
  }

  #unknown(path: string): void {
    if (this.unknown.length < UNKNOWN_MAX) this.unknown.push(path.slice(0, PATH_LENGTH_MAX));
  }
}

/** The name of an unknown field in `creditOpen`: places in lists are a `*`. */
export function fieldName(endpoint: string, path: string): string {
  return `field:${endpoint}/${path.replaceAll(/(?<=^|\.)\d+(?=\.|$)/g, '*')}`;
}

/** Text, numbers and lists of them cannot hold a field; an object can. */
function holdsObject(value: object): boolean {
  return !Array.isArray(value) || value.some((item) => (Array.isArray(item) ? holdsObject(item) : isFields(item)));
}

function isUsed(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}
