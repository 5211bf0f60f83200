/**
 * Whether D1 refused a batch for what is in it, so that sending it again cannot help.
 *
 * D1 says so in words alone. The list is closed on purpose: whatever is not on it counts as D1 being away, and waits.
 * That includes a full or overloaded database, and a table or column that a migration has yet to bring.
 */
const REFUSALS = [
  // A constraint of a table, or a trigger that raises.
  /SQLITE_CONSTRAINT|constraint failed/i,
  // A sum, or a number that is read from text, beyond 64 bits.
  /integer overflow/i,
  // A text, a row or a statement beyond what D1 takes.
  /SQLITE_TOOBIG|string or blob too big|statement too long/i,
  // A value that its column cannot hold.
  /SQLITE_MISMATCH|datatype mismatch/i,
  // The JSON in which rows travel.
  /malformed JSON|JSON cannot hold BLOB values/i,
];
const REASON_LENGTH_MAX = 200;

/** Why D1 refused the batch; `null` where it may take it another time. */
export function refusalReason(error: unknown): string | null {
  const { message = '' } = error instanceof Error ? error : {};
  const isRefused = REFUSALS.some((refusal) => refusal.test(message));
  return isRefused ? message.replace(/^D1_ERROR: /, '').slice(0, REASON_LENGTH_MAX) : null;
}
