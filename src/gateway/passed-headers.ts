/**
 * The headers that pass between caller and vendor: what OpenAI's and Anthropic's SDKs set for their APIs, and what the
 * vendors say about limits and about how they answered.
 */

import type { VendorCredential } from '../config/credentials.ts';

/** Of a caller with an API key. */
const TO_VENDOR = [
  'openai-beta',
  'openai-organization',
  'openai-project',
  'x-client-request-id',
  'anthropic-beta',
  'anthropic-version',
];

const TO_CALLER = /^(?:x-ratelimit|openai|anthropic-ratelimit|retry-after)(?:-|$)/;
/** What a browser gets: the others tell about the organization's account at the vendor. */
const TO_BROWSER = /^retry-after(?:-|$)/;

/** The most headers of one answer that pass. */
const HEADERS_MAX = 50;

export function headersToVendor(read: (name: string) => string | undefined): Record<string, string> {
  const pairs = TO_VENDOR.map((name) => [name, read(name)] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** The headers of a request to a vendor: those of its form, those of the caller that pass, and the operator's, which win. */
export function requestHeaders(
  ofForm: Readonly<Record<string, string>>,
  toVendor: Readonly<Record<string, string>>,
  vendor: Pick<VendorCredential, 'headers'> | undefined,
): Record<string, string> {
  return { ...ofForm, ...toVendor, ...vendor?.headers };
}

/** Headers of an answer, with those of its vendor that pass; the answer's own win. */
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
