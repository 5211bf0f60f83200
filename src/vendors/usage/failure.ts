/**
 * The error in a vendor's answer or in the middle of its stream, in the forms of the three vendors.
 *
 * The message is the vendor's own, shortened but not sanitized: the end of the call sanitizes what it records.
 */
import { type Fields, fieldsOrEmpty, isFields, listOrEmpty, type VendorFailure } from './figures.ts';

/** The longest error code that the end of a call accepts. */
const CODE_LENGTH_MAX = 100;
/** Longer than any message that is recorded. */
const MESSAGE_LENGTH_MAX = 4_000;
const UNNAMED = 'vendor_error';

/** The error in a body; `null` if there is none. */
export function readFailure(body: unknown): VendorFailure | null {
  const error = errorIn(body);
  return error === null ? null : readFailureBody(error);
}

/** The error in a body as the vendor wrote it; `null` if there is none. Google wraps some errors in an array. */
export function errorIn(body: unknown): unknown {
  const fields = fieldsOrEmpty(Array.isArray(body) ? body[0] : body);
  if (isError(fields.error)) return fields.error;
  // OpenAI's responses have an error event, or a failed response.
  if (fields.type === 'error') return fields;
  if (fields.type === 'response.failed') return fieldsOrEmpty(fields.response).error ?? {};
  const ofVendor = errorOfOthers(fields);
  if (ofVendor !== null) return ofVendor;
  // OpenRouter's error about the model that it asked (openrouter.ai/docs/api-reference/errors).
  return (
    listOrEmpty(fields.choices)
      .map((choice) => fieldsOrEmpty(choice).error)
      .find(isError) ?? null
  );
}

/** Errors in forms that differ from those of the three vendors. */
function errorOfOthers(fields: Fields): Fields | null {
  // vLLM and FastChat write the members of the error into the answer itself.
  if (fields.object === 'error') return fields;
  // MiniMax's state of every answer, 0 if all is well (platform.minimax.io/docs/api-reference/errorcode).
  const { status_code: code, status_msg: message } = fieldsOrEmpty(fields.base_resp);
  if (typeof code === 'number' && code !== 0) return { code, message };
  // Cloudflare's envelope (developers.cloudflare.com/fundamentals/api/reference).
  const [first] = listOrEmpty(fields.errors);
  return fields.success === false && isFields(first) ? first : null;
}

/** Some servers write an empty error beside a complete answer. */
function isError(error: unknown): boolean {
  return isFields(error) ? Object.keys(error).length > 0 : error != null && error !== '' && error !== false;
}

/** The error of an event named `error`, whatever its data is. */
export function readErrorEvent(data: string, body: unknown): VendorFailure {
  return readFailure(body) ?? readFailureBody(isFields(body) ? body : data);
}

function readFailureBody(error: unknown): VendorFailure {
  if (!isFields(error)) return { code: UNNAMED, message: failureMessage(error) };
  return { code: failureCode(error), message: failureMessage(error.message ?? listOrEmpty(error.details)[0]) };
}

/** Prefers a word to a number: `RESOURCE_EXHAUSTED` says more than 429. `type` is the least exact of the three. */
function failureCode(error: Fields): string {
  const candidates = [error.code, error.status, error.type];
  const word = candidates.find((value) => typeof value === 'string' && value.trim() !== '' && value !== 'error');
  const number = candidates.find((value) => typeof value === 'number' && Number.isFinite(value));
  const code = String(word ?? number ?? UNNAMED);
  return code.replace(/[^\x21-\x7e]+/g, '_').slice(0, CODE_LENGTH_MAX);
}

function failureMessage(value: unknown): string {
  const message = typeof value === 'string' ? value.slice(0, MESSAGE_LENGTH_MAX).trim() : '';
  return message || 'the vendor gave no reason';
}

/** Words of vendors' errors, by the status with which they usually come. */
const STATUS_OF_WORDS: readonly (readonly [RegExp, number])[] = [
  [/rate_?limit|too_many_requests|resource_exhausted|quota/i, 429],
  [/overloaded|unavailable/i, 503],
  [/timeout|deadline/i, 504],
  [/authentication|unauthenticated|invalid_api_key/i, 401],
  [/permission|forbidden/i, 403],
  [/not_found/i, 404],
  [/invalid|failed_precondition|context_length|bad_request/i, 400],
];

/** The HTTP status of an error that came with 200: its own, or the meaning of its words; 502 if neither is known. */
export function failureStatus(body: unknown): number {
  const error = fieldsOrEmpty(errorIn(body) ?? body);
  const numbers = [error.status, error.code, error.http_code, fieldsOrEmpty(body).status].map(Number);
  const said = numbers.find((number) => Number.isInteger(number) && number >= 400 && number < 600);
  if (said !== undefined) return said;
  const words = [error.type, error.code, error.status].filter((word) => typeof word === 'string').join(' ');
  return STATUS_OF_WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? 502;
}
