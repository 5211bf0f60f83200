/**
 * Refusals, in the words of each vendor.
 */
import type { Fields } from '../../vendors/usage/figures.ts';
import { newId } from './dialect.ts';

/** Google's OpenAI-compatible endpoints wrap Google's own errors in a list. */
export type ErrorForm = 'openai' | 'anthropic' | 'google' | 'google-openai';

interface Names {
  openai: string;
  anthropic: string;
  google: string;
}

const NAMES: Readonly<Record<number, Names>> = {
  400: { openai: 'invalid_request_error', anthropic: 'invalid_request_error', google: 'INVALID_ARGUMENT' },
  401: { openai: 'invalid_request_error', anthropic: 'authentication_error', google: 'UNAUTHENTICATED' },
  403: { openai: 'permission_error', anthropic: 'permission_error', google: 'PERMISSION_DENIED' },
  404: { openai: 'invalid_request_error', anthropic: 'not_found_error', google: 'NOT_FOUND' },
  413: { openai: 'invalid_request_error', anthropic: 'request_too_large', google: 'INVALID_ARGUMENT' },
  429: { openai: 'rate_limit_exceeded', anthropic: 'rate_limit_error', google: 'RESOURCE_EXHAUSTED' },
  500: { openai: 'server_error', anthropic: 'api_error', google: 'INTERNAL' },
  503: { openai: 'server_error', anthropic: 'overloaded_error', google: 'UNAVAILABLE' },
  529: { openai: 'server_error', anthropic: 'overloaded_error', google: 'UNAVAILABLE' },
};

const OPENAI_CODES: Readonly<Record<number, string>> = { 401: 'invalid_api_key', 429: 'rate_limit_exceeded' };

export function failureBody(form: ErrorForm, status: number, message: string, field: string | null): unknown {
  const names = NAMES[status] ?? (NAMES[status < 500 ? 400 : 500] as Names);
  if (form === 'anthropic')
    return { type: 'error', error: { type: names.anthropic, message }, request_id: newId('req_') };
  const google: Fields = { error: { code: status, message, status: names.google } };
  if (form === 'google') return google;
  if (form === 'google-openai') return [google];
  return { error: { message, type: names.openai, param: field, code: OPENAI_CODES[status] ?? null } };
}
