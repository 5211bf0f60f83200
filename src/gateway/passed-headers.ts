/**
 * The headers that pass between caller and vendor: those that OpenAI's and Anthropic's SDKs set for their APIs, and the
 * vendors' headers about limits and about their answer.
 */

import type { VendorCredential } from '../config/credentials.ts';

/** The headers of a caller with an API key. */
const TO_VENDOR = [
  'openai-beta',
  'openai-organization',
  'openai-project',
  'x-client-request-id',
  'anthropic-beta',
  'anthropic-version',
];

const TO_CALLER = /^(?:x-ratelimit|openai|anthropic-ratelimit|retry-after)(?:-|$)/;
/** The headers that a browser gets: the others reveal the organization's account at the vendor. */
const TO_BROWSER = /^retry-after(?:-|$)/;

/** The most headers of one answer that pass. */
const HEADERS_MAX = 50;

export function headersToVendor(read: (name: string) => string | undefined): Record<string, string> {
  const pairs = TO_VENDOR.map((name) => [name, read(name)] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/**
 * The headers of a request to a vendor: those of its form, then the caller's that pass, then the operator's. Later ones
 * win.
 */
export function requestHeaders(
  ofForm: Readonly<Record<string, string>>,
  toVendor: Readonly<Record<string, string>>,
  vendor: Pick<VendorCredential, 'headers'> | undefined,
): Record<string, string> {
  return { ...ofForm, ...toVendor, ...vendor?.headers };
}

/** The headers of an answer, with the vendor's that pass; the answer's own win. */
export function withVendorHeaders(
  own: Record<string, string>,
  ofVendor: Headers,
  isBrowser: boolean,
): Record<string, string> {
  const passes = isBrowser ? TO_BROWSER : TO_CALLER;
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const passed = [...ofVendor].filter(([name]) => passes.test(name) && !taken.has(name)).slice(0, HEADERS_MAX);
  return { ...Object.fromEntries(passed), ...own };
}
