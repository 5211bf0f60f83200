/**
 * An organization's vendors: their addresses and keys.
 */
import { z } from 'zod';
import { isOpenPath, OPEN_PATH_RULE } from '../domain/open-paths.ts';
import { mayBeFixed } from '../domain/vendor-headers.ts';
import { VENDOR_KINDS } from '../domain/vendor-kind.ts';

export const vendorProvider = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1 to 64 lower-case letters, digits or dashes')
  .describe('Name of the vendor: openai, anthropic, google, or one of your own');

/** Base addresses of known vendors with the version prefix, as in OpenAI's SDK. */
export const VENDOR_BASE_URLS: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
};

const kind = z
  .enum(VENDOR_KINDS)
  .describe('Kind of the vendor: whose API it has, which decides what Callmeter sends it');

const useReportedCost = z
  .boolean()
  .describe('A cost that the vendor reports in its answer is the cost of the call, in place of what the price gives');

/** The most headers that a vendor always gets. */
const VENDOR_HEADERS_MAX = 20;

const vendorHeaders = z
  .record(
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,99}$/, 'must be 1 to 100 lower-case letters, digits or dashes')
      .refine(mayBeFixed, 'must not be a header of credentials, of the connection or of the body'),
    z.string().regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,498}[\x21-\x7e])?$/, 'must be 1 to 500 ASCII characters'),
  )
  .refine(
    (headers) => Object.keys(headers).length <= VENDOR_HEADERS_MAX,
    `must have at most ${VENDOR_HEADERS_MAX} headers`,
  )
  .describe('Headers that each request to the vendor gets, such as `anthropic-beta`; not secret, and no credentials');

/** The most open paths of a vendor, and the length of the longest. */
const OPEN_PATHS_MAX = 50;
const OPEN_PATH_LENGTH_MAX = 200;

const passthrough = z
  .array(z.string().max(OPEN_PATH_LENGTH_MAX).refine(isOpenPath, OPEN_PATH_RULE))
  .max(OPEN_PATHS_MAX)
  .describe(
    'Paths of the vendor that `/v1/passthrough/{provider}/` reaches with its key, from the root of its host, such as `/v1/rerank`; `/v1/jobs/*` opens all paths below `/v1/jobs/`',
  );

/**
 * Placeholders for a key in documents: `sk-...`, `***`, `<key>`, `YOUR-API-KEY`. A stored one would fail every request.
 */
const PLACEHOLDER = /\.{3}|\*{3}|^<.*>$|^(?:sk-)?your[-_]/i;

export const SetVendorRequest = z.object({
  apiKey: z
    .string()
    .regex(/^[\x21-\x7e]{1,500}$/, 'must be 1 to 500 visible ASCII characters')
    .refine((key) => !PLACEHOLDER.test(key), 'must be a key, not a placeholder such as sk-... or YOUR-KEY')
    .meta({ format: 'password', description: "The vendor's key; stored encrypted and never returned" }),
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
    .describe('Address with the version prefix; the organization may call its origin, even if it is local'),
  kind: kind
    .optional()
    .describe(
      'Kind of the vendor: whose API it has, which decides what Callmeter sends it. Without it: that of the address if its host is known, else `openai`, `anthropic`, `google` or `azure` if that is the whole name of the vendor, else `compatible`',
    ),
  useReportedCost: useReportedCost.optional(),
  headers: vendorHeaders.optional(),
  passthrough: passthrough.optional(),
});

export type SetVendorRequest = z.infer<typeof SetVendorRequest>;

export const Vendor = z.object({
  provider: z.string().describe('Vendor'),
  baseUrl: z.string().describe('Address'),
  kind,
  keyHint: z.string().describe('The last four characters of the key'),
  useReportedCost,
  headers: z
    .record(z.string(), z.string())
    .optional()
    .describe('Headers that each request to the vendor gets; absent if there are none'),
  passthrough: z.array(z.string()).optional().describe('Open paths; absent if there are none'),
});

export type Vendor = z.infer<typeof Vendor>;

export const DeletedVendor = z.object({ provider: z.string().describe('Vendor') });
