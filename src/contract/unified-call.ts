/**
 * The unified call on the wire: begin, the vendor's request and end in one (contract 4.3).
 */
import { z } from 'zod';
import { EndFactFields, ListedFactFields } from './call-facts.ts';
import { BeginCallBody, BeginCallData, EndCallData, refineParts, UsageFields, UsageSource } from './calls.ts';
import { TEXT_LENGTH_MAX, text } from './fields.ts';
import { isRecord, resolveIdentity } from './identity.ts';
import { servedTier } from './prices.ts';

export const VENDOR_TIMEOUT_MS = 30_000;
const VENDOR_TIMEOUT_MS_MAX = 300_000;
const HEADERS_MAX = 50;

const VendorRequest = z.object({
  url: z
    .string()
    .min(1)
    .max(4_096)
    .describe('Address of the vendor: https, public; or one that the operator registered'),
  provider: text(TEXT_LENGTH_MAX).optional().describe('Executing vendor, as recorded'),
  method: z.enum(['POST', 'GET']).default('POST').describe('HTTP method'),
  headers: z
    .record(z.string().max(200), z.string().max(8_192))
    .refine((headers) => Object.keys(headers).length <= HEADERS_MAX, `must have at most ${HEADERS_MAX} members`)
    .optional()
    .describe('Headers for the vendor; never stored'),
  body: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("The vendor's request; an OpenAI reasoning effort is left out for a model that takes none"),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(VENDOR_TIMEOUT_MS_MAX)
    .default(VENDOR_TIMEOUT_MS)
    .describe('For the whole answer'),
  responseType: z
    .enum(['json', 'text', 'stream'])
    .default('json')
    .describe('What comes back in `vendor.body`: the parsed JSON, the text, or the text of the whole stream'),
});

const ReportedUsage = UsageFields.extend(EndFactFields.shape)
  .extend(ListedFactFields.shape)
  .extend({
    isPremium: z.boolean().optional().describe('Overrides premium detection'),
  })
  .superRefine(refineParts);

export const CallBody = BeginCallBody.extend({
  vendor: VendorRequest.optional().describe('The request that the service makes to the vendor'),
  usage: ReportedUsage.optional().describe('Usage of a call without a vendor'),
  end: z
    .object({
      error: z
        .object({
          code: text(100).describe('Error code'),
          message: z.string().trim().min(1).max(20_000).describe('Error message'),
        })
        .optional()
        .describe('Makes the call FAILED'),
    })
    .optional()
    .describe('How the call ended'),
});

export const CallRequest = z.preprocess((body) => resolveCachedTokens(resolveIdentity(body)), CallBody);
export type CallRequest = z.infer<typeof CallBody>;

/** Some clients send `cachedInputTokens` as `cachedTokens`. */
function resolveCachedTokens(body: unknown): unknown {
  if (!isRecord(body) || !isRecord(body.usage)) return body;
  const { cachedTokens, cachedInputTokens = cachedTokens } = body.usage;
  return cachedInputTokens === undefined ? body : { ...body, usage: { ...body.usage, cachedInputTokens } };
}

export const CallData = z.object({
  begin: BeginCallData.describe('What the call was allowed'),
  end: EndCallData.optional().describe('What the call cost; absent where it was denied, or is still being recorded'),
  vendor: z
    .object({
      ok: z.boolean().describe('The vendor answered 2xx'),
      status: z
        .number()
        .int()
        .describe("The vendor's status; 504 where it did not answer in time, 502 where it could not be reached"),
      modelUsed: z.string().optional().describe('Model by the vendor'),
      error: z
        .object({
          message: z.string().describe('What went wrong'),
          details: z
            .record(z.string(), z.unknown())
            .describe(
              "The vendor's own error, if it is one; `code` `VENDOR_ANSWER_TOO_LARGE` if the answer was charged and cannot be passed on: the call's id is in `begin`",
            ),
        })
        .optional()
        .describe('Present where the vendor failed'),
      body: z.unknown().describe("The vendor's answer"),
    })
    .optional()
    .describe('Present where a vendor was asked'),
  endUsage: UsageFields.extend({
    serviceTier: servedTier.optional(),
    tokens: z.number().describe('Output tokens'),
    usageSource: UsageSource,
    modelUsed: z.string().describe('Model that ran; empty if no model is known'),
  })
    .optional()
    .describe('Usage as recorded; absent if the call was denied'),
});

export type CallData = z.infer<typeof CallData>;
