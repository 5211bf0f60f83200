/**
 * Field types with their bounds that several schemas of the contract use.
 */
import { z } from 'zod';
import type { CallId, CustomerId } from '../domain/ids.ts';

const CUSTOMER_ID_LENGTH_MAX = 255;
export const TEXT_LENGTH_MAX = 200;
export const TAGS_MAX = 50;
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;
/**
 * More tokens than any call can have. Usage that vendors report has the same bound (src/vendors/usage/figures.ts).
 */
export const TOKENS_MAX = 1_000_000_000;
/**
 * Above any published rate. With TOKENS_MAX it keeps the cost of every call far inside the 64 bits of SQLite: input and
 * output of the largest call at this rate are 4e15 of 9.2e18 nano-USD; a rate that follows from an own price by the catalog's
 * relations is at most 20 times as high. Sums of costs need more, and have two columns.
 */
export const USD_PER_MILLION_MAX = 2_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern refuses control characters
export const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** The same schema: its accepted values have the type of the id. */
export function branded<Id extends string>(schema: z.ZodType<string, string>) {
  return schema as z.ZodType<Id, string>;
}

/** Text of one line: well-formed Unicode without control characters. */
export function text(lengthMax: number) {
  return z
    .string()
    .min(1)
    .max(lengthMax)
    .refine((value) => value.trim() !== '', 'must not be blank')
    .refine(
      (value) => value.isWellFormed() && !CONTROL_CHARACTERS.test(value),
      'must not contain control characters or broken Unicode',
    );
}

export const instant = z.iso.datetime().describe('ISO 8601 instant in UTC');

/** URL paths resolve `.` and `..`, so an object with such a name could not be read back. */
const isAddressable = (id: string) => id !== '.' && id !== '..';

export const customerId = branded<CustomerId>(
  text(CUSTOMER_ID_LENGTH_MAX).refine(isAddressable, 'must not be . or ..'),
).describe("The organization's own identifier of its customer");

/** Visible ASCII, which passes unchanged through a header. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, `must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters`)
  .refine(isAddressable, 'must not be . or ..');

/** A call's id is the idempotency key with which it was begun. */
export const callId = branded<CallId>(idempotencyKey).describe('The call');

export const tokens = z.number().int().nonnegative().max(TOKENS_MAX);

/** A quantity with at most three decimals. */
export const quantity = z
  .number()
  .nonnegative()
  .max(1_000_000_000)
  .refine((value) => Math.abs(value * 1000 - Math.round(value * 1000)) < 1e-4, 'must have at most three decimals')
  .transform((value) => Math.round(value * 1000) / 1000);

export const usd = z.number().nonnegative().max(1_000_000);

/** A boolean of a query, which has text. */
export const flag = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .pipe(z.boolean());

/** A name and an id of 255 characters in UTF-8 and base64. */
const CURSOR_LENGTH_MAX = 3_000;

/** `limit` and `cursor` of every list. */
export const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('Items per page, 1 to 200'),
  cursor: z.string().max(CURSOR_LENGTH_MAX).optional().describe('`nextCursor` of the previous page'),
});

export const nextCursor = z.string().nullable().describe('Cursor of the next page; null on the last one');

export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item).describe('The page'),
    nextCursor,
  });
}
