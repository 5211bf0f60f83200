/**
 * The positions of the parts of a JSON text, without parsing it: the ends of strings, in bytes that arrive in chunks
 * and in a text, and the members of an object. The text is valid JSON; for any other text the positions mean nothing,
 * but reading ends.
 */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** From its first character to the one after its last. */
export interface Place {
  start: number;
  end: number;
}

export interface MemberPlace {
  /** With its quotes. */
  name: Place;
  value: Place;
}

/** White space of JSON. */
export function isSpace(code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** This many bytes are looked at one by one before the runtime's search, which costs more to begin. */
const NEAR_BYTES = 32;

/** The end of the string that is being read, in chunks that end anywhere. */
export class StringEnd {
  /** The last chunk ended within the string. */
  isOpen = false;
  /** The last byte is a backslash that escapes the next one. */
  #escapes = false;

  /** The index of the closing quote, for a string that continues at `from`; `until` if it does not end before. */
  find(bytes: Uint8Array, from: number, until = bytes.length): number {
    let at = this.#escapes ? from + 1 : from;
    // A text with one escaped quote often has many: each makes the search begin later.
    for (let near = NEAR_BYTES; at < until && bytes[at] !== QUOTE; near *= 4) {
      const nearEnd = Math.min(until, at + near);
      while (at < nearEnd && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
      if (at >= nearEnd && at < until) at = nextQuote(bytes, at, until);
    }
    this.isOpen = at >= until;
    this.#escapes = at > until;
    return this.isOpen ? until : at;
  }

  /** The string is over, although no quote closes it. */
  leave(): void {
    this.isOpen = false;
    this.#escapes = false;
  }
}

/** The next quote, or `until` if there is none before it; if the quote is escaped, the index after it. */
function nextQuote(bytes: Uint8Array, from: number, until: number): number {
  const quote = bytes.indexOf(QUOTE, from);
  const end = quote < 0 || quote > until ? until : quote;
  let slashes = end;
  while (slashes > from && bytes[slashes - 1] === BACKSLASH) slashes -= 1;
  return (end - slashes) % 2 === 0 ? end : end + 1;
}

/** The members of the object in `text`, in their order, and the number of names in it, including nested ones. */
export function scanMembers(text: string, object: Place = { start: 0, end: text.length }) {
  const members: MemberPlace[] = [];
  let names = 0;
  let depth = 0;
  let name: Place = { start: 0, end: 0 };
  /** The member whose value is being read. */
  let open: MemberPlace | null = null;
  for (let at = object.start; at < object.end; at += 1) {
    const mark = text.charCodeAt(at);
    switch (mark) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (depth === 1 && open === null) name = { start: at, end };
        at = end - 1;
        break;
      }
      case COLON:
        names += 1;
        if (depth !== 1) break;
        open = { name, value: { start: at + 1, end: at + 1 } };
        members.push(open);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        break;
      case COMMA:
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        if (depth === 1 && open) {
          open.value = withoutSpace(text, { start: open.value.start, end: at });
          open = null;
        }
        if (mark !== COMMA) depth -= 1;
    }
  }
  return { members, names };
}

function withoutSpace(text: string, { start, end }: Place): Place {
  const place = { start, end };
  while (isSpace(text.charCodeAt(place.start))) place.start += 1;
  while (isSpace(text.charCodeAt(place.end - 1))) place.end -= 1;
  return place;
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
