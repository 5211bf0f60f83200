/**
 * The error in a vendor's answer or in the middle of its stream, in the forms of the three vendors.
 *
 * The message is the vendor's own, cut but not cleaned: what is recorded of it is cleaned where the call ends.
 */
import { type Fields, fieldsOf, isFields, listOf, type VendorFailure } from './figures.ts';

/** What the end of a call takes as an error's code. */
const CODE_LENGTH_MAX = 100;
/** More than is ever read of a message. */
const MESSAGE_LENGTH_MAX = 4_000;
const UNNAMED = 'vendor_error';

/** `null` where the body speaks of no error. Google wraps some of its errors in an array. */
export function readFailure(body: unknown): VendorFailure | null {
  const fields = fieldsOf(Array.isArray(body) ? body[0] : body);
  if (fields.error !== undefined && fields.error !== null) return failureOf(fields.error);
  // OpenAI's responses: an event of its own, or the response that failed.
  if (fields.type === 'error') return failureOf(fields);
  if (fields.type === 'response.failed') return failureOf(fieldsOf(fields.response).error ?? {});
  return null;
}

/** An event that is named `error`, whatever it carries. */
export function readErrorEvent(data: string, body: unknown): VendorFailure {
  return readFailure(body) ?? failureOf(isFields(body) ? body : data);
}

function failureOf(error: unknown): VendorFailure {
  if (!isFields(error)) return { code: UNNAMED, message: messageOf(error) };
  return { code: codeOf(error), message: messageOf(error.message ?? listOf(error.details)[0]) };
}

/** The word before the number: `RESOURCE_EXHAUSTED` says more than 429, and `type` is the coarsest of the three. */
function codeOf(error: Fields): string {
  const candidates = [error.code, error.status, error.type];
  const word = candidates.find((value) => typeof value === 'string' && value.trim() !== '' && value !== 'error');
  const number = candidates.find((value) => typeof value === 'number' && Number.isFinite(value));
  const code = String(word ?? number ?? UNNAMED);
  return code.replace(/[^\x21-\x7e]+/g, '_').slice(0, CODE_LENGTH_MAX);
}

function messageOf(value: unknown): string {
  const message = typeof value === 'string' ? value.slice(0, MESSAGE_LENGTH_MAX).trim() : '';
  return message || 'the vendor gave no reason';
}
