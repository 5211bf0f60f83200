/**
 * A JSON value as source text, of TypeScript or of Python. On one line if it fits, otherwise a line for each member.
 */

export interface Notation {
  text(value: string): string;
  key(name: string): string;
  /** `null`, `true` and `false`. */
  constants: readonly [string, string, string];
  /** The text inside the braces of an object on one line. */
  padding: string;
  indent: string;
}

const LINE_MAX = 96;

export const TYPESCRIPT: Notation = {
  // JSON's strings are strings of TypeScript; the rest of the code uses single quotes.
  text: (value) => `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`,
  key: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : TYPESCRIPT.text(name)),
  constants: ['null', 'true', 'false'],
  padding: ' ',
  indent: '  ',
};

export const PYTHON: Notation = {
  text: (value) => JSON.stringify(value),
  key: (name) => JSON.stringify(name),
  constants: ['None', 'True', 'False'],
  padding: '',
  indent: '    ',
};

/** `indent` is the indent of the line on which the value begins, `used` the number of its used characters. */
export function literal(value: unknown, notation: Notation, indent = '', used = indent.length): string {
  const short = onOneLine(value, notation);
  if (used + short.length <= LINE_MAX || typeof value !== 'object' || value === null) return short;
  const inner = indent + notation.indent;
  const member = (name: string, part: unknown) =>
    `${inner}${name}${literal(part, notation, inner, inner.length + name.length + 1)},`;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const members = Array.isArray(value)
    ? value.map((item) => member('', item))
    : Object.entries(value).map(([name, part]) => member(`${notation.key(name)}: `, part));
  return [open, ...members, indent + close].join('\n');
}

function onOneLine(value: unknown, notation: Notation): string {
  const { constants, padding } = notation;
  if (value === null) return constants[0];
  if (typeof value === 'boolean') return value ? constants[1] : constants[2];
  if (typeof value === 'string') return notation.text(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => onOneLine(item, notation)).join(', ')}]`;
  const members = Object.entries(value).map(([name, part]) => `${notation.key(name)}: ${onOneLine(part, notation)}`);
  return members.length === 0 ? '{}' : `{${padding}${members.join(', ')}${padding}}`;
}
