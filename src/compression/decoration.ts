/**
 * Removes decoration: long rulers, repeated exclamation and question marks, the asterisks of bold text. The meaning may
 * change: dots and dashes may be Morse, an outline or a drawing, and emphasis may be meant.
 *
 * A ruler that touches a letter or a digit stays whole, as in `-----BEGIN KEY-----`. Underscores are names
 * (`__init__`), and the number of `#` is a heading's level: both stay.
 */

/** Three characters are enough for a ruler, a table's separator and an ellipsis in Markdown. */
const RULER_LENGTH = 3;

const RULER = /([-=*~.+])\1{3,}/g;
const WORD = /[\p{L}\p{N}_/\\]/u;

export function trimDecoration(prose: string): string {
  let plain = prose.replace(RULER, (ruler: string, mark: string, at: number) => {
    const touches = (mark !== '.' && WORD.test(prose[at - 1] ?? '')) || WORD.test(prose[at + ruler.length] ?? '');
    return touches ? ruler : mark.repeat(RULER_LENGTH);
  });
  plain = plain.replace(/(?<=[\p{L}\p{N})])([!?])\1+(?=\s|$)/gu, '$1');
  // The text within the marks is bounded, so that the search is linear.
  plain = plain.replace(/(?<![\p{L}\p{N}*\\])\*\*(?=[^\s*])([^*\n]{0,200}[^\s*])\*\*(?![\p{L}\p{N}*])/gu, '$1');
  return plain;
}
