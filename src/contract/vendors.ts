/**
 * An organization's model vendors: their addresses and keys.
 */
import { z } from 'zod';

export const vendorProvider = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1 to 64 lower-case letters, digits or dashes')
  .describe('Vendor: openai, anthropic, google, or another one with an OpenAI-compatible address');

/** Base addresses of known vendors with the version prefix, as in OpenAI's SDK. */
export const VENDOR_BASE_URLS: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
};

const useReportedCost = z
  .boolean()
  .describe('A cost that the vendor reports in its answer is the cost of the call, in place of what the price gives');

export const SetVendorRequest = z.object({
  apiKey: z
    .string()
    .regex(/^[\x21-\x7e]{1,500}$/, 'must be 1 to 500 visible ASCII characters')
    .describe("The vendor's key; stored encrypted and never returned"),
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .max(500)
    .refine((value) => {
      const url = URL.parse(value);
      // Invalid addresses break the rule above. An empty query or fragment is visible only in the text.
      return url === null || (url.username === '' && url.password === '' && !/[?#]/.test(value));
    }, 'must have no user, query or fragment')
    .transform((value) => value.replace(/\/+$/, ''))
    .optional()
    .describe(
      'Address with the version prefix; calls to its origin are allowed for the organization, also where it is local',
    ),
  useReportedCost: useReportedCost.optional(),
});

export type SetVendorRequest = z.infer<typeof SetVendorRequest>;

export const Vendor = z.object({
  provider: z.string().describe('Vendor'),
  baseUrl: z.string().describe('Address'),
  keyHint: z.string().describe('The last four characters of the key'),
  useReportedCost,
});

export type Vendor = z.infer<typeof Vendor>;

export const DeletedVendor = z.object({ provider: z.string().describe('Vendor') });
