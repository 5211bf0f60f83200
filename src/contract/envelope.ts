/**
 * The envelope of every answer of the metering interface and the operator API (contract 2.1).
 */
import { z } from 'zod';
import { ERROR_STATUS, type ErrorCode } from './errors.ts';
import { instant } from './fields.ts';

export const MEDIA_TYPE = 'application/vnd.service.v1+json';
export const CORRELATION_HEADER = 'x-usage-correlation-id';
export const IDEMPOTENCY_HEADER = 'Idempotency-Key';
export const REPLAY_HEADER = 'Idempotency-Replayed';
/**
 * A header of operators without a bearer token: a page of another origin cannot send it, because no preflight allows
 * it.
 */
export const OPERATOR_HEADER = 'x-service-operator';

const correlationId = z.string().describe("The caller's correlation identifier, or one made for this request");

export function successEnvelope<Data extends z.ZodType>(codes: readonly string[], data: Data) {
  return z.object({
    result: z.object({
      status: z.literal('ACCEPTED').describe('The request was carried out'),
      code: z.enum(codes as [string, ...string[]]).describe('What was done'),
      message: z.string().optional().describe('A hint for people'),
      timestamp: instant.describe('When the answer was made'),
    }),
    data,
    correlationId,
  });
}

/** The component in `MODEL_NOT_PRICED` and `BOUND_UNKNOWN`, in each form of errors. */
export const closedComponent = z
  .string()
  .optional()
  .describe('What credit cannot pay for: a component of the price, `model`, or a field that is not known');

export const ErrorEnvelope = z.object({
  result: z.object({
    status: z.literal('ERROR').describe('The request was refused and changed nothing'),
    code: z.enum(Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]).describe('Why'),
    message: z.string().describe('Why, for people'),
    timestamp: instant.describe('When the answer was made'),
  }),
  error: z.looseObject({
    code: z.string().describe('The same code as in `result`'),
    message: z.string().describe('The same message as in `result`'),
    details: z
      .array(z.object({ path: z.string().describe('The field'), message: z.string().describe('The rule') }))
      .optional()
      .describe('Each rule that the input broke'),
    reason: z
      .string()
      .optional()
      .describe(
        "API_KEY_SCOPE_REQUIRED if a scope is missing; CUSTOMER_NOT_FOUND if there is no subscription because the customer was never seen; ROLLING_LIMIT if the plan's rolling limit allows no further call for now",
      ),
    retryAfterSeconds: z
      .number()
      .int()
      .optional()
      .describe('When to repeat the request, as the header `Retry-After` says'),
    requiredScope: z.string().optional().describe('The missing scope'),
    component: closedComponent,
    param: z.string().optional().describe('The field of the request that asks for it'),
    hint: z.string().optional().describe('What to change, if code and message do not say it'),
  }),
  correlationId,
});
