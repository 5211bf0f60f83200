/**
 * Search for the beginning of a text, whatever the case: the form in which a text is kept for it, and the range of
 * those forms that begin alike. Texts are ordered by code points, as SQLite orders them.
 */

/**
 * The form of a text that is kept. Each character is lowered by itself, so that the beginning of a text is that of its
 * form.
 */
export function lowerCase(text: string): string {
  return Array.from(text, (character) => character.toLowerCase()).join('');
}

/**
 * Forms to look for. A text that was kept by SQLite, which knows no case but that of ASCII, has the other letters as
 * they were written: such letters are found as they are written too.
 */
export function soughtForms(search: string): string[] {
  return [...new Set([lowerCase(search), search.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())])];
}

const CODE_POINT_MAX = 0x10ffff;
/** Code points that no well-formed text has. */
const [SURROGATE_FIRST, SURROGATE_LAST] = [0xd800, 0xdfff];

/** The first text after all that begin with this one; `null` where none comes after them. */
export function endOfPrefix(prefix: string): string | null {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === CODE_POINT_MAX) points.pop();
  const last = points.pop();
  if (last === undefined) return null;
  const next = last + 1 >= SURROGATE_FIRST && last + 1 <= SURROGATE_LAST ? SURROGATE_LAST + 1 : last + 1;
  return String.fromCodePoint(...points, next);
}
