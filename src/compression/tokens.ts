/**
 * Estimates the number of tokens of a text with one regular expression, without a vendor's tokenizer.
 *
 * It splits a text where byte-pair tokenizers split it before they merge (words at a change of case, digits by threes,
 * punctuation, whitespace) and counts each piece by its length. Deterministic; the empty text has 0 tokens, and a
 * prefix never more than the whole text. Linear in the length: every character that a branch of the expression reads is
 * consumed by that branch or by the next one.
 */

/** Common English words are one token; longer words consist of parts of about this length. */
const LETTERS_PER_TOKEN = 8;
/** The length of a part in accented Latin, Greek, Cyrillic, Arabic and other alphabets. */
const OTHER_LETTERS_PER_TOKEN = 3;
/** Rulers such as `--------` and indentation are single tokens up to about this length. */
const RUN_PER_TOKEN = 16;
const NEWLINES_PER_TOKEN = 4;

const PIECE = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\p{N}{1,3}|[\p{L}\p{M}]+|([-=_*#~.!?])\1{3,}|[!-/:-@[-`{-~]{1,3}|\s+|./gsu;
const BLANK = /^\s/;
const LETTER = /^[\p{L}\p{M}]/u;
/** Chinese, Japanese and Korean characters: about one token each. */
const IDEOGRAPH = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u{20000}-\u{3ffff}]/u;

export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECE)) tokens += tokensOfPiece(piece);
  return tokens;
}

function tokensOfPiece(piece: string): number {
  const code = piece.charCodeAt(0);
  if (code === 0x20 && piece.length === 1) return 0; // A single space belongs to the word after it.
  if (BLANK.test(piece)) return tokensOfBlank(piece);
  if (code < 0x80) {
    if (/[A-Za-z]/.test(piece[0] ?? '')) return Math.ceil(piece.length / LETTERS_PER_TOKEN);
    return piece.length > 3 ? Math.ceil(piece.length / RUN_PER_TOKEN) : 1;
  }
  return LETTER.test(piece) ? tokensOfWord(piece) : 1;
}

function tokensOfBlank(piece: string): number {
  let newlines = 0;
  for (let at = 0; at < piece.length; at += 1) if (piece.charCodeAt(at) === 0x0a) newlines += 1;
  const blanks = piece.length - newlines;
  return Math.ceil(newlines / NEWLINES_PER_TOKEN) + (blanks > 1 ? Math.ceil(blanks / RUN_PER_TOKEN) : 0);
}

/**
 * A word with letters outside ASCII: an ideograph counts one token, another letter a fraction of a token.
 */
function tokensOfWord(word: string): number {
  let ideographs = 0;
  let ascii = 0;
  let others = 0;
  for (const letter of word) {
    if (letter < '\x80') ascii += 1;
    else if (IDEOGRAPH.test(letter)) ideographs += 1;
    else others += 1;
  }
  return ideographs + Math.ceil(ascii / LETTERS_PER_TOKEN + others / OTHER_LETTERS_PER_TOKEN);
}
