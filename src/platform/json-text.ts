/**
 * The text of a JSON object, in which members change while all others stay as they were written, byte for byte: numbers
 * keep their digits, and what is nested is not written anew.
 *
 * One pass finds the members. A text that has a name twice in one object is written anew, because its reader might take
 * the other member than the one that was checked.
 */
import type { RequestBody } from './request-body.ts';

interface Member {
  name: string;
  /** Where its name begins, its value begins, and its value ends. */
  start: number;
  value: number;
  end: number;
}

type Fields = Readonly<Record<string, unknown>>;

export class JsonText implements RequestBody {
  readonly contentType = 'application/json';
  readonly #text: string;
  readonly #value: unknown;
  #members: readonly Member[] | null | undefined;

  /** `value` is what the text stands for; a text that is valid JSON. */
  constructor(text: string, value: unknown) {
    this.#text = text;
    this.#value = value;
  }

  /**
   * The text, in which each member that differs between the two objects is as in `after`: set, added at the end, or
   * left out. Members that are the same value or the same object stay as they are.
   */
  changed(before: Fields, after: Fields): string {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    const changes = new Set([...names].filter((name) => !Object.is(before[name], after[name])));
    const members = this.#found();
    return members === null ? JSON.stringify(after) : spliced(this.#text, members, changes, after);
  }

  /** The members; `null` where a name occurs twice in one object, or the text is no object. */
  #found(): readonly Member[] | null {
    if (this.#members === undefined) {
      const { members, names } = membersOf(this.#text);
      this.#members = names === namesIn(this.#value) ? members : null;
    }
    return this.#members;
  }
}

function spliced(text: string, members: readonly Member[], changes: ReadonlySet<string>, after: Fields): string {
  const [first] = members;
  const opening = first ? text.slice(0, first.start) : text.slice(0, text.lastIndexOf('}'));
  const parts = [opening];
  const rest = new Set(changes);
  let isFirst = true;
  for (const [index, { name, start, value, end }] of members.entries()) {
    const changed = rest.delete(name);
    if (changed && after[name] === undefined) continue;
    // With what stands between it and the member before.
    if (!isFirst) parts.push(text.slice(members[index - 1]?.end, start));
    isFirst = false;
    parts.push(changed ? text.slice(start, value) + JSON.stringify(after[name]) : text.slice(start, end));
  }
  for (const name of rest) {
    if (after[name] === undefined) continue;
    parts.push(isFirst ? '' : ',', JSON.stringify(name), ':', JSON.stringify(after[name]));
    isFirst = false;
  }
  parts.push(text.slice(members.at(-1)?.end ?? opening.length));
  return parts.join('');
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The members of the object, and the number of names in it and in all that it holds. */
function membersOf(text: string): { members: Member[]; names: number } {
  const members: Member[] = [];
  let names = 0;
  let depth = 0;
  /** The member whose value is being read. */
  let open: Member | null = null;
  let nameStart = 0;
  let nameEnd = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (depth === 1 && open === null) [nameStart, nameEnd] = [at, end];
        at = end - 1;
        break;
      }
      case COLON:
        names += 1;
        if (depth !== 1) break;
        open = { name: JSON.parse(text.slice(nameStart, nameEnd)) as string, start: nameStart, value: 0, end: 0 };
        open.value = afterSpace(text, at + 1);
        members.push(open);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        break;
      case COMMA:
        if (depth === 1) open = closed(text, open, at);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth === 1) open = closed(text, open, at);
        depth -= 1;
    }
  }
  return { members, names };
}

/** Ends the value of a member before the comma or brace at `at`. */
function closed(text: string, member: Member | null, at: number): null {
  if (member) {
    member.end = at;
    while (isSpace(text.charCodeAt(member.end - 1))) member.end -= 1;
  }
  return null;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The index after the closing quote of the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = quote;
    while (text.charCodeAt(slashes - 1) === BACKSLASH) slashes -= 1;
    // The quote is escaped by an odd number of backslashes.
    if ((quote - slashes) % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** The names in a value; the depth of this recursion is bounded by that of a request. */
function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values = Object.values(value);
  let names = Array.isArray(value) ? 0 : values.length;
  for (const member of values) names += namesIn(member);
  return names;
}
