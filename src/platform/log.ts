/**
 * What the service writes to its log: one JSON line for an event, the only place that writes any.
 *
 * A line holds no values of a query, no text that was parsed, and no long text. What is stored or shown of an error
 * (`lastError`, the messages of the health page) is its `errorText` as well.
 */

/** Of every text in a line, and of an error where it is stored or shown. */
const TEXT_LENGTH_MAX = 300;
/** Causes that are followed; an error may be its own cause. */
const CAUSES_MAX = 4;

/** `drizzle` begins the message of a failed query so, and goes on with its SQL and its values. */
const QUERY_MESSAGE = /\bFailed query:[\s\S]*/;
/** D1 says which value it does not take. */
const VALUE_MESSAGE = /(not supported for value) [\s\S]*/;

export function log(
  level: 'warn' | 'error',
  event: string,
  fields: Readonly<Record<string, unknown>>,
  error?: unknown,
): void {
  const line = { event, ...fields, ...(error !== undefined && { error: errorText(error) }) };
  console[level](JSON.stringify(line, (_, value: unknown) => shown(value)));
}

/** What an error says of itself and of its causes, without values that a customer may have sent. */
export function errorText(error: unknown): string {
  return cut(textOf(error, 0));
}

function textOf(error: unknown, depth: number): string {
  if (!(error instanceof Error)) return withoutValues(String(error));
  const { name, message, cause } = error;
  const reason = cause instanceof Error && depth < CAUSES_MAX ? textOf(cause, depth + 1) : '';
  // A failed query says nothing itself that may be shown, but for why it failed.
  if ('params' in error && reason !== '') return reason;
  // What cannot be parsed is quoted in the message.
  const said = name === 'SyntaxError' ? 'a text could not be read' : withoutValues(message);
  // D1's binding says again what its cause says.
  return reason === '' || (cause instanceof Error && said.endsWith(cause.message))
    ? `${name}: ${said}`
    : `${name}: ${said} (${reason})`;
}

function withoutValues(message: string): string {
  return message.replace(QUERY_MESSAGE, 'a query failed').replace(VALUE_MESSAGE, '$1');
}

function shown(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'string' ? cut(value) : value;
}

function cut(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX - 1)}…` : text;
}
