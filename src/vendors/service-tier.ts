/**
 * The service tier of a request to a vendor: the requested one, in the vendor's word, and the one that served it, if a
 * header states it.
 */
import { isFields, readServiceTier, type VendorUsage } from './usage/figures.ts';

const WORD = /^[\w-]{1,50}$/;

/** OpenAI's and Anthropic's `service_tier`, or Google's `serviceTier`; `undefined` if the request names none. */
export function requestedServiceTier(body: unknown): string | undefined {
  if (!isFields(body)) return undefined;
  const { service_tier: tier = body.serviceTier } = body;
  return typeof tier === 'string' && WORD.test(tier) ? tier : undefined;
}

/** Google's Gemini API names the tier that served a request only in a header. */
const TIER_HEADER = 'x-gemini-service-tier';

/** The usage with the service tier in the answer's headers, if its body names none. */
export function withServedTier(reported: VendorUsage | null, headers: Headers): VendorUsage | null {
  return reported && { ...readServiceTier(headers.get(TIER_HEADER)), ...reported };
}
