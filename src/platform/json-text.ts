/**
 * JSON with some changed members, while all others stay byte for byte: numbers keep their digits, and nested values are
 * not written anew.
 *
 * One pass finds the members. A text that has a name twice in one object is written anew, because its reader might take
 * the member that was not checked.
 */
import { type MemberPlace, type Place, scanMembers } from './json-scan.ts';
import type { RequestBody } from './request-body.ts';

type Fields = Readonly<Record<string, unknown>>;

export class JsonText implements RequestBody {
  readonly contentType = 'application/json';
  readonly #text: string;
  readonly #value: unknown;
  #members: readonly MemberPlace[] | null | undefined;

  /** `value` is the parsed value of the text, which is valid JSON. */
  constructor(text: string, value: unknown) {
    this.#text = text;
    this.#value = value;
  }

  /**
   * The text, in which each member that differs between the two objects is as in `after`: set, added at the end, or
   * left out. Members with the same value or the same object stay unchanged.
   */
  changed(before: Fields, after: Fields): string {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    const changes = new Set([...names].filter((name) => !Object.is(before[name], after[name])));
    const members = this.#found();
    return members === null ? JSON.stringify(after) : spliced(this.#text, members, changes, after);
  }

  /** The members; `null` if a name occurs twice in one object, or the text is not an object. */
  #found(): readonly MemberPlace[] | null {
    if (this.#members === undefined) {
      const { members, names } = scanMembers(this.#text);
      this.#members = names === namesIn(this.#value) ? members : null;
    }
    return this.#members;
  }
}

/**
 * Each byte as one character, so that positions in this text are positions in the bytes, which need not be valid UTF-8.
 */
const bytewise = new TextDecoder('latin1');
const utf8 = new TextDecoder();

/**
 * The value of the last name, in the object to which the earlier names lead; `null` if a name is missing, or occurs
 * twice. The bytes are valid JSON.
 */
export function findValue(json: Uint8Array, names: readonly string[]): Place | null {
  const text = bytewise.decode(json);
  let place: Place = { start: 0, end: json.length };
  for (const name of names) {
    const named = scanMembers(text, place).members.filter((member) => nameIn(json, member.name) === name);
    const [found] = named;
    if (!found || named.length > 1) return null;
    place = found.value;
  }
  return place;
}

/** The name, whose characters may be escaped. */
function nameIn(json: Uint8Array, { start, end }: Place): string {
  return JSON.parse(utf8.decode(json.subarray(start, end))) as string;
}

function spliced(text: string, members: readonly MemberPlace[], changes: ReadonlySet<string>, after: Fields): string {
  const [first] = members;
  const opening = first ? text.slice(0, first.name.start) : text.slice(0, text.lastIndexOf('}'));
  const parts = [opening];
  const rest = new Set(changes);
  let isFirst = true;
  for (const [index, { name: named, value }] of members.entries()) {
    const name = JSON.parse(text.slice(named.start, named.end)) as string;
    const changed = rest.delete(name);
    if (changed && after[name] === undefined) continue;
    // Includes the characters between it and the previous member.
    if (!isFirst) parts.push(text.slice(members[index - 1]?.value.end, named.start));
    isFirst = false;
    parts.push(text.slice(named.start, changed ? value.start : value.end));
    if (changed) parts.push(JSON.stringify(after[name]));
  }
  for (const name of rest) {
    if (after[name] === undefined) continue;
    parts.push(isFirst ? '' : ',', JSON.stringify(name), ':', JSON.stringify(after[name]));
    isFirst = false;
  }
  parts.push(text.slice(members.at(-1)?.value.end ?? opening.length));
  return parts.join('');
}

/** The names in a value; the depth of this recursion is bounded by that of a request. */
function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values = Object.values(value);
  let names = Array.isArray(value) ? 0 : values.length;
  for (const member of values) names += namesIn(member);
  return names;
}
