/**
 * What an error says of itself, for logs and for operators. A query that failed carries its SQL and its values in its
 * message; only why it failed is said, because values may be anything that a customer sent.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if ('params' in error && cause !== undefined) return errorText(cause);
  const reason = cause instanceof Error ? ` (${errorText(cause)})` : '';
  return `${error.name}: ${error.message}${reason}`;
}
