/**
 * Tells a temporary outage of storage (503, the request may be retried) from a bug (500).
 *
 * D1 reports errors as messages only, so the message decides. An error in the statement itself (syntax, a constraint,
 * an overflow, a wrong type) is a bug: a retry would fail again.
 */
import { NoAnswerInTime } from './timeout.ts';

const OUTAGE_REASON = 'the database cannot be reached for the moment';

/** The service cannot answer now; the request may be retried. */
export class ServiceUnavailable extends Error {
  override readonly name = 'ServiceUnavailable';
}

/**
 * Messages of D1 and KV while they are unavailable. From the list of errors in D1's documentation
 * (https://developers.cloudflare.com/d1/observability/debug-d1/#error-list); "internal error" is the runtime's own,
 * "Failed to get session commit token" is workerd's message for a locked file, and messages of KV's binding begin with
 * the method that failed. Only the start of each message is compared, because a value may follow.
 */
const OUTAGE =
  /^(?:D1_ERROR: )?(?:D1 DB reset because its code was updated|Internal error (?:while starting up|in) D1 DB storage|D1 DB storage operation exceeded timeout|D1 DB is overloaded|D1 DB's isolate exceeded its memory limit|D1 DB exceeded its CPU time limit|Cannot resolve D1 DB|Replica disconnected from primary|Network connection lost|Failed to get session commit token|Can't read from request stream|Exceeded maximum DB size|Your account has exceeded D1's|internal error; reference = |KV (?:GET|PUT|DELETE|LIST) failed: (?:429|5\d\d))/;

/**
 * Result codes of SQLite about the file and the machine (https://www.sqlite.org/rescode.html). D1's messages end with
 * them.
 */
const SQLITE_OUTAGE =
  /: SQLITE_(?:BUSY|LOCKED|NOMEM|INTERRUPT|IOERR|FULL|CANTOPEN|PROTOCOL)(?:_[A-Z]+)?(?: \(extended: \w+\))?$/;

/**
 * Errors in a statement: any other result code of SQLite, and errors of D1's binding and parser without a code (the
 * same list, and workerd's source).
 */
const BUG =
  /\bSQLITE_[A-Z]|D1_(?:TYPE|EXEC|SESSION)_ERROR|D1_COLUMN_NOTFOUND|Wrong number of parameter bindings|No SQL statements detected|only one statement|integer overflow/;

/** The longest chain of causes that is followed; an error may be its own cause. */
const CAUSES_MAX = 4;

/** The message for the caller if storage is unavailable; `null` if the error is a bug. */
export function unavailableReason(error: unknown): string | null {
  const chain = listCauses(error);
  // Found by name, because an error from a Durable Object arrives without its class.
  const unavailable = chain.find(({ name }) => name === 'ServiceUnavailable');
  if (unavailable) return unavailable.message;
  if (chain.some((each) => each instanceof NoAnswerInTime || isMarkedUnavailable(each))) return OUTAGE_REASON;
  const texts = chain.map(({ message }) => message).filter((message) => !message.startsWith('Failed query:'));
  if (texts.some((text) => OUTAGE.test(text) || SQLITE_OUTAGE.test(text))) return OUTAGE_REASON;
  if (texts.some((text) => BUG.test(text))) return null;
  // An error in a statement matches BUG. Any other error of D1 means that the statement did not reach it.
  return texts.some((text) => text.startsWith('D1_ERROR')) || isUnansweredQuery(chain) ? OUTAGE_REASON : null;
}

/** The refusal for a request that threw an error: 503 if storage is unavailable, 500 for a fault of the service. */
export function thrownRefusal(error: unknown): { code: 'SERVICE_UNAVAILABLE' | 'INTERNAL_ERROR'; message: string } {
  const reason = unavailableReason(error);
  return reason === null
    ? { code: 'INTERNAL_ERROR', message: 'the service failed; the request may be repeated' }
    : { code: 'SERVICE_UNAVAILABLE', message: reason };
}

/**
 * The error to throw if reading configuration failed. Such a read only queries D1, so every error that is not clearly a
 * bug counts as an outage, also with an unknown message.
 */
export function unreadable(cause: unknown): unknown {
  const isOurs = listCauses(cause).some(({ name, message }) => name !== 'Error' || BUG.test(message));
  if (isOurs && unavailableReason(cause) === null) return cause;
  return new ServiceUnavailable(OUTAGE_REASON, { cause });
}

function listCauses(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let each = error; each instanceof Error && chain.length < CAUSES_MAX; each = each.cause) chain.push(each);
  return chain;
}

/** The runtime's marks of a connection error or an overloaded object. */
function isMarkedUnavailable(error: Error): boolean {
  const { retryable, overloaded } = error as { retryable?: boolean; overloaded?: boolean };
  return retryable === true || overloaded === true;
}

/** A failed `drizzle` query. Code that fails on the rows throws an error of another kind, such as TypeError. */
function isUnansweredQuery([query, cause]: readonly Error[]): boolean {
  return query !== undefined && 'params' in query && (cause === undefined || cause.name === 'Error');
}
