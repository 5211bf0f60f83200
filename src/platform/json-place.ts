/**
 * Finds a value in the bytes of a JSON text, so that it can be replaced while every other byte stays as it is. Whatever
 * stands in strings is skipped and need not be valid UTF-8.
 */

/** From its first byte to behind its last. */
export interface Place {
  start: number;
  end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const decoder = new TextDecoder();

/**
 * The value of the last name, in the object that the names before it lead to; `null` where a name is not there, or
 * twice. The text is valid JSON.
 */
export function placeOf(json: Uint8Array, names: readonly string[]): Place | null {
  let place: Place = { start: 0, end: json.length };
  for (const name of names) {
    const [found, ...others] = membersNamed(json, place, name);
    if (!found || others.length > 0) return null;
    place = found;
  }
  return place;
}

/** The values that the object has under the name. */
function membersNamed(json: Uint8Array, object: Place, name: string): Place[] {
  const found: Place[] = [];
  let depth = 0;
  let string: Place = { start: 0, end: 0 };
  /** Where the value of a member of this name begins, while it is read. */
  let start: number | null = null;
  for (let at = object.start; at < object.end; at += 1) {
    switch (json[at]) {
      case QUOTE:
        string = { start: at, end: endOfString(json, at) };
        at = string.end - 1;
        break;
      case COLON:
        if (depth === 1 && textAt(json, string) === name) start = at + 1;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        break;
      case COMMA:
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth === 1 && start !== null) {
          found.push(withoutSpace(json, { start, end: at }));
          start = null;
        }
        if (json[at] !== COMMA) depth -= 1;
    }
  }
  return found;
}

/** The string, whose characters may be escaped. */
function textAt(json: Uint8Array, { start, end }: Place): string {
  return JSON.parse(decoder.decode(json.subarray(start, end))) as string;
}

/** The index after the closing quote of the string that begins at `from`. */
function endOfString(json: Uint8Array, from: number): number {
  for (let quote = json.indexOf(QUOTE, from + 1); quote >= 0; quote = json.indexOf(QUOTE, quote + 1)) {
    let slashes = quote;
    while (json[slashes - 1] === BACKSLASH) slashes -= 1;
    // The quote is escaped by an odd number of backslashes.
    if ((quote - slashes) % 2 === 0) return quote + 1;
  }
  return json.length;
}

function withoutSpace(json: Uint8Array, { start, end }: Place): Place {
  const place = { start, end };
  while (isSpace(json[place.start])) place.start += 1;
  while (isSpace(json[place.end - 1])) place.end -= 1;
  return place;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
