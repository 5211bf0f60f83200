/**
 * Whether storage is away for the moment (503, to be sent again) or an error is a fault of ours (500).
 *
 * D1 says what went wrong in words alone, so the words decide. What a statement itself is refused for (its syntax, a
 * constraint, an overflow, a value of a wrong type) is ours: sent again, it would be refused again.
 */
import { NoAnswerInTime } from './timeout.ts';

const AWAY_REASON = 'the database cannot be reached for the moment';

/** The service cannot answer now; the request may be sent again. */
export class ServiceUnavailable extends Error {
  override readonly name = 'ServiceUnavailable';
}

/**
 * What D1 and KV say while they are away. From the list of errors in D1's documentation
 * (https://developers.cloudflare.com/d1/observability/debug-d1/#error-list); "internal error" is the runtime's own,
 * "Failed to get session commit token" is what workerd says of a locked file, and what KV's binding says begins with
 * the method that failed. Each is the beginning, because a value may follow.
 */
const AWAY =
  /^(?:D1_ERROR: )?(?:D1 DB reset because its code was updated|Internal error (?:while starting up|in) D1 DB storage|D1 DB storage operation exceeded timeout|D1 DB is overloaded|D1 DB's isolate exceeded its memory limit|D1 DB exceeded its CPU time limit|Cannot resolve D1 DB|Replica disconnected from primary|Network connection lost|Failed to get session commit token|Can't read from request stream|Exceeded maximum DB size|Your account has exceeded D1's|internal error; reference = |KV (?:GET|PUT|DELETE|LIST) failed: (?:429|5\d\d))/;

/**
 * Result codes of SQLite that are about the file and the machine (https://www.sqlite.org/rescode.html); D1 ends with
 * them.
 */
const SQLITE_AWAY =
  /: SQLITE_(?:BUSY|LOCKED|NOMEM|INTERRUPT|IOERR|FULL|CANTOPEN|PROTOCOL)(?:_[A-Z]+)?(?: \(extended: \w+\))?$/;

/**
 * What D1 says of a statement: any other result code of SQLite, and what its binding and its parser refuse without one
 * (the same list, and workerd's source).
 */
const OURS =
  /\bSQLITE_[A-Z]|D1_(?:TYPE|EXEC|SESSION)_ERROR|D1_COLUMN_NOTFOUND|Wrong number of parameter bindings|No SQL statements detected|only one statement|integer overflow/;

/** Causes that are looked at; an error may be its own cause. */
const CAUSES_MAX = 4;

/** What a caller may be told where storage is away; `null` where the error is a fault of ours. */
export function unavailableReason(error: unknown): string | null {
  const chain = causesOf(error);
  // By name, because an object's error comes without its class.
  const said = chain.find(({ name }) => name === 'ServiceUnavailable');
  if (said) return said.message;
  if (chain.some((each) => each instanceof NoAnswerInTime || isMarkedAway(each))) return AWAY_REASON;
  const texts = chain.map(({ message }) => message).filter((message) => !message.startsWith('Failed query:'));
  if (texts.some((text) => AWAY.test(text) || SQLITE_AWAY.test(text))) return AWAY_REASON;
  if (texts.some((text) => OURS.test(text))) return null;
  // What D1 says of a statement has one of those marks. Without one, the statement did not reach it.
  return texts.some((text) => text.startsWith('D1_ERROR')) || isUnansweredQuery(chain) ? AWAY_REASON : null;
}

/**
 * What to throw where a reading of configuration failed, which does nothing but ask D1: whatever is not plainly a fault
 * of ours came from there, also in words that nobody knows.
 */
export function unreadable(cause: unknown): unknown {
  const isOurs = causesOf(cause).some(({ name, message }) => name !== 'Error' || OURS.test(message));
  if (isOurs && unavailableReason(cause) === null) return cause;
  return new ServiceUnavailable(AWAY_REASON, { cause });
}

/** The error and what caused it. */
function causesOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let each = error; each instanceof Error && chain.length < CAUSES_MAX; each = each.cause) chain.push(each);
  return chain;
}

/** As the runtime marks an error of a connection, or of an object that has too much to do. */
function isMarkedAway(error: Error): boolean {
  const { retryable, overloaded } = error as { retryable?: boolean; overloaded?: boolean };
  return retryable === true || overloaded === true;
}

/** A query of `drizzle` that broke off. Code that fails on its rows has an error of its own kind, such as TypeError. */
function isUnansweredQuery([query, cause]: readonly Error[]): boolean {
  return query !== undefined && 'params' in query && (cause === undefined || cause.name === 'Error');
}
