/**
 * Case-insensitive search in D1: the lowercase form in which a text is stored, and the forms in which a search matches
 * a part of it.
 */

/**
 * The stored form of a text. Each character is lowered by itself, so that a part of a text stays a part of its form.
 */
export function lowerCase(text: string): string {
  return Array.from(text, (character) => character.toLowerCase()).join('');
}

/**
 * The forms to search for: all letters lowered, and only ASCII letters lowered, because SQLite's own lower() knows only
 * ASCII.
 */
export function soughtForms(search: string): string[] {
  return [...new Set([lowerCase(search), search.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())])];
}
