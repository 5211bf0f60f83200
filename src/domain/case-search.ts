/**
 * Case-insensitive prefix search in D1: the lowercase form in which a text is stored, and the range of forms with a
 * given prefix. Texts are ordered by code points, as SQLite orders them.
 */

/**
 * The stored form of a text. Each character is lowered by itself, so that a prefix of a text stays a prefix of its
 * form.
 */
export function lowerCase(text: string): string {
  return Array.from(text, (character) => character.toLowerCase()).join('');
}

/**
 * The forms to look for: all letters lowered, and ASCII letters lowered only, because SQLite's own lower() knows ASCII
 * only.
 */
export function soughtForms(search: string): string[] {
  return [...new Set([lowerCase(search), search.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())])];
}

const CODE_POINT_MAX = 0x10ffff;
/** Surrogates: no well-formed text has these code points. */
const [SURROGATE_FIRST, SURROGATE_LAST] = [0xd800, 0xdfff];

/** The first text after all texts with this prefix; `null` where there is none. */
export function endOfPrefix(prefix: string): string | null {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === CODE_POINT_MAX) points.pop();
  const last = points.pop();
  if (last === undefined) return null;
  const next = last + 1 >= SURROGATE_FIRST && last + 1 <= SURROGATE_LAST ? SURROGATE_LAST + 1 : last + 1;
  return String.fromCodePoint(...points, next);
}
