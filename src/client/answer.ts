/**
 * Turns an HTTP response into a value or into the right error.
 *
 * A status of 429, or of 500 and above, is classified even without the service's shape, because proxies also answer
 * with these. Every other response must have the service's own shape, otherwise it is SERVICE_INVALID_RESPONSE.
 */

import { parseJson } from '../platform/json.ts';
import { CallmeterError, type CallmeterErrorCode, type ErrorDetails } from './errors.ts';

export interface RawAnswer {
  /** The operation of the request. */
  operation: string;
  status: number;
  text: string;
  correlationId: string;
  retryAfterMs: number | undefined;
  headers: { get(name: string): string | null };
}

export type Outcome<T> = { ok: true; value: T } | { ok: false; error: CallmeterError };

type Json = Record<string, unknown>;

/** Reads `data` from an envelope (contract 2.1). It must have at least the members in `has`. */
export function readEnvelope(answer: RawAnswer, has: readonly string[]): Outcome<unknown> {
  const body = parse(answer.text);
  if (!isSuccess(answer)) return { ok: false, error: refusal(answer, isRecord(body?.error) ? body.error : null) };
  const data = isRecord(body?.result) && body.result.status === 'ACCEPTED' ? body.data : null;
  if (isRecord(data) && has.every((member) => data[member] !== undefined)) return { ok: true, value: data };
  return { ok: false, error: invalid(answer, "whose body is not this operation's answer") };
}

/** Reads the plain JSON of the model lookup, whose errors are `{ error, message }`. */
export function readPlain(answer: RawAnswer, has: readonly string[]): Outcome<unknown> {
  const body = parse(answer.text);
  if (!isSuccess(answer)) {
    const said = typeof body?.error === 'string' ? { code: body.error, message: body.message } : null;
    return { ok: false, error: refusal(answer, said) };
  }
  if (body?.schemaVersion === 1 && has.every((member) => body[member] !== undefined)) return { ok: true, value: body };
  return { ok: false, error: invalid(answer, "whose body is not this operation's answer") };
}

function refusal(answer: RawAnswer, said: Json | null): CallmeterError {
  const { operation, status, correlationId, retryAfterMs } = answer;
  const code = readErrorCode(status, said);
  if (code === null) return invalid(answer, status < 400 ? 'a redirect' : "whose body is not the service's");
  const details: ErrorDetails = { ...said, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  const hint = typeof said?.hint === 'string' ? `; ${said.hint}` : '';
  const message =
    typeof said?.message === 'string' ? `${said.code}: ${said.message}${hint}` : `answered with ${status}`;
  return new CallmeterError(code, `${operation}: ${message}`, { responseStatus: status, correlationId, details });
}

/** `null` for a response that the service would not send. */
function readErrorCode(status: number, said: Json | null): CallmeterErrorCode | null {
  if (status === 429) return 'SERVICE_RATE_LIMITED';
  // Proxies send 408. A conflict is temporary: the contract asks for a retry with the same key (4.10).
  if (status >= 500 || status === 408 || said?.code === 'CUSTOM_METER_CONFLICT') return 'SERVICE_SERVER_ERROR';
  if (status === 401 || status === 403) return 'SERVICE_AUTH_ERROR';
  return status >= 400 && said !== null ? 'SERVICE_BAD_REQUEST' : null;
}

function invalid({ operation, status, correlationId }: RawAnswer, what: string): CallmeterError {
  const message = `${operation}: answered with ${status}, ${what}; baseUrl may not be the address of the service`;
  return new CallmeterError('SERVICE_INVALID_RESPONSE', message, { responseStatus: status, correlationId });
}

function isSuccess({ status }: RawAnswer): boolean {
  return status >= 200 && status < 300;
}

function parse(text: string): Json | null {
  const parsed = parseJson(text);
  return parsed.ok && isRecord(parsed.value) ? parsed.value : null;
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
