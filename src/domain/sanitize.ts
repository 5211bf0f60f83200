/**
 * What may be kept of a failed call's error message: the reason, without what it leaked.
 *
 * Vendors echo keys, prompts and whole bodies in their messages. Credentials, addresses, opaque strings, quoted text
 * and bodies are replaced by a word in brackets that says what stood there; the rest is cut to a fixed length.
 */

export const ERROR_MESSAGE_LENGTH_MAX = 500;
/** No message is read further than this, so that a long one costs no more than a short one. */
const READ_LENGTH_MAX = 4_000;

const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:authorization\s{0,3}[:=]\s{0,3})?(bearer|basic)\s+[\w.~+/=-]{4,}/gi, '$1 [credential]'],
  [
    /\b(api[_-]?key|x-api-key|authorization|access[_-]?token|token|secret|password|passwd|pwd)(\s{0,3}[:=]\s{0,3})["']?[^\s"',;[]+/gi,
    '$1$2[credential]',
  ],
  [/\b(?:sk|pk|rk|utk|ck|ak|cmp|gk|ek|xox[abp]|ghp|gho|AKIA|ASIA|AIza)[-_]?[A-Za-z0-9_-]{8,}/g, '[credential]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[credential]'],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g, '[email]'],
  [/"[^"]{40,}"|'[^']{40,}'|`[^`]{40,}`/g, '[text]'],
  [/\b(?=[\w+/=-]*\d)[\w+/=-]{24,}/g, '[opaque]'],
  [/[A-Za-z0-9+/_=-]{40,}/g, '[opaque]'],
];

export function sanitizeErrorMessage(message: string): string {
  let clean = message.slice(0, READ_LENGTH_MAX);
  clean = replaceSpan(clean, '{', '}', '[body]');
  clean = replaceSpan(clean, '<', '>', '[body]');
  for (const [pattern, replacement] of REPLACEMENTS) clean = clean.replace(pattern, replacement);
  return clean.replace(/\s+/g, ' ').trim().slice(0, ERROR_MESSAGE_LENGTH_MAX) || '[empty]';
}

/** Replaces everything from the first `open` to the last `close`, or to the end where a cut body never closes. */
function replaceSpan(text: string, open: string, close: string, replacement: string): string {
  const from = text.indexOf(open);
  if (from < 0) return text;
  const to = text.lastIndexOf(close);
  return to > from ? text.slice(0, from) + replacement + text.slice(to + 1) : text.slice(0, from) + replacement;
}
