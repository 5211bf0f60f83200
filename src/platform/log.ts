/**
 * The log: one JSON line per event, written only here.
 *
 * A line contains no values of a query, no parsed text and no long text. Errors that are stored or shown (`lastError`,
 * the health page) go through `errorText` as well.
 */

/** The longest text in a line, and of an error that is stored or shown. */
const TEXT_LENGTH_MAX = 300;
/** The longest chain of causes that is followed; an error may be its own cause. */
const CAUSES_MAX = 4;

/** The start of the message of a failed `drizzle` query; its SQL and its values follow. */
const QUERY_MESSAGE = /\bFailed query:[\s\S]*/;
/** D1 names the value that it does not accept. */
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

/** The messages of an error and its causes, without values that a customer may have sent. */
export function errorText(error: unknown): string {
  return cut(describeError(error, 0));
}

function describeError(error: unknown, depth: number): string {
  if (!(error instanceof Error)) return withoutValues(String(error));
  const { name, message, cause } = error;
  const reason = cause instanceof Error && depth < CAUSES_MAX ? describeError(cause, depth + 1) : '';
  // For a failed query, only the cause may be shown.
  if ('params' in error && reason !== '') return reason;
  // The message of a failed parse quotes the text.
  const text = name === 'SyntaxError' ? 'a text could not be read' : withoutValues(message);
  // D1's binding repeats the message of its cause.
  return reason === '' || (cause instanceof Error && text.endsWith(cause.message))
    ? `${name}: ${text}`
    : `${name}: ${text} (${reason})`;
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
