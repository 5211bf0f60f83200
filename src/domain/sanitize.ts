/**
 * Removes secrets and content from a failed call's error message before it is stored.
 *
 * Vendors echo keys, prompts and whole bodies in their messages. Credentials, e-mail addresses, opaque strings, long
 * quotations and bodies are each replaced by a word in brackets; the result is cut to a fixed length.
 */

const ERROR_MESSAGE_LENGTH_MAX = 500;
/** The rest of a longer message is not read, so that it costs no more than a short one. */
const READ_LENGTH_MAX = 4_000;

/** Words, numbers and short mixtures of both: the parts of a model's name, a path or an option. */
const NAME_PART = /^(?:[a-z]{1,14}|\d{1,8}|[a-z\d]{1,5})$/;
/** A longer quotation is a prompt or a completion. */
const QUOTE_LENGTH_MAX = 39;

const quoted = (text: string, content: string) => (content.length > QUOTE_LENGTH_MAX ? '[text]' : text);
const opaque = (text: string) => (text.split(/[-_./]/).every((part) => NAME_PART.test(part)) ? text : '[opaque]');

type Replacement = string | ((text: string, group: string) => string);
const REPLACEMENTS: readonly (readonly [RegExp, Replacement])[] = [
  [/\b(?:authorization\s{0,3}[:=]\s{0,3})?(bearer|basic)\s+[\w.~+/=-]{4,}/gi, '$1 [credential]'],
  [
    /\b(api[_-]?key|x-api-key|authorization|access[_-]?token|token|secret|password|passwd|pwd)(\s{0,3}[:=]\s{0,3})["']?[^\s"',;[]+/gi,
    '$1$2[credential]',
  ],
  [/\b(?:(?:sk|pk|rk|utk|ck|ak|cmp|gk|ek|xox[abp]|ghp|gho)[-_]|AKIA|ASIA|AIza)[A-Za-z0-9_-]{8,}/g, '[credential]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[credential]'],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g, '[email]'],
  // A quotation that the vendor or our own cut left open ends with the message.
  [/"((?:[^"\\]|\\.)*)(?:"|\\?$)/g, quoted],
  [/`([^`]*)(?:`|$)/g, quoted],
  [/(?<!\w)'((?:[^']|(?<=\w)'(?=\w))*)(?:'|$)/g, quoted],
  [/\b(?=[\w+/=-]*\d)[\w+/=-]{24,}/g, opaque],
  [/[A-Za-z0-9+/_=-]{40,}/g, opaque],
];

export function sanitizeErrorMessage(message: string): string {
  let clean = withoutBody(message.slice(0, READ_LENGTH_MAX), message.length > READ_LENGTH_MAX);
  for (const [pattern, replacement] of REPLACEMENTS) clean = clean.replace(pattern, replacement as string);
  return clean.replace(/\s+/g, ' ').trim().slice(0, ERROR_MESSAGE_LENGTH_MAX) || '[empty]';
}

/** Removes everything from the first tag on, and from the first brace to the last, or to the end if a body was cut. */
function withoutBody(text: string, cut: boolean): string {
  const plain = text.replace(/<[a-z!?/][\s\S]*/i, '[body]');
  const from = plain.indexOf('{');
  if (from < 0) return plain;
  const body = plain.slice(from);
  const whole = !cut && body.split('{').length === body.split('}').length;
  return `${plain.slice(0, from)}[body]${whole ? body.slice(body.lastIndexOf('}') + 1) : ''}`;
}
