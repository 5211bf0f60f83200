/**
 * Promise: a packed record of a call gives the same text again, byte for byte, whatever it says and whatever its row has; and
 * a usual one takes less than a tenth of its text.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  PACKED_RATIO_MAX,
  packRecord,
  RECORD_LENGTH_MAX,
  REPEATED_COLUMNS,
  type Repeated,
  type StoredRecord,
  unpackRecord,
} from '../../src/history/packed-record.ts';
import { RECORD_WORDS_1 } from '../../src/history/record-words.ts';

const word = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.stringMatching(/^[0-9.]{0,80}$/),
  fc.constantFrom('"', '\\', '\n', 'é', '\ud800', '0', '17', '"costUsdNano":"', 'standard', '1796431809810'),
  fc
    .tuple(fc.nat(RECORD_WORDS_1.length), fc.nat(200))
    .map(([from, length]) => RECORD_WORDS_1.slice(from, from + length)),
);
const figure = fc.oneof(fc.maxSafeNat(), fc.nat(2_000));
const value = fc.oneof(word, figure, fc.constant(null));
const row: fc.Arbitrary<Repeated> = fc.tuple(...REPEATED_COLUMNS.map(() => value));

/** A record that repeats values of its row, among others. */
const recordOf = (repeated: Repeated) =>
  fc.oneof(
    fc.array(fc.oneof(word, figure, fc.constantFrom(...repeated)), { maxLength: 60 }).map((all) => JSON.stringify(all)),
    fc.dictionary(word, fc.oneof(word, fc.constantFrom(...repeated))).map((all) => JSON.stringify(all)),
    fc.string({ unit: 'binary', maxLength: 300 }).map((text) => `{${text}`),
  );

const stored = (record: string, repeated: Repeated): StoredRecord => {
  const packed = packRecord(record, repeated);
  return packed === null ? record : Uint8Array.fromHex(packed);
};

it('a record comes back as it was', () => {
  fc.assert(
    fc.property(
      row.chain((repeated) => fc.tuple(fc.constant(repeated), recordOf(repeated))),
      ([repeated, record]) => {
        const kept = stored(record, repeated);
        expect(unpackRecord(kept, repeated)).toBe(record);
        if (typeof kept === 'string') return;
        expect(kept.length * PACKED_RATIO_MAX).toBeGreaterThanOrEqual(new TextEncoder().encode(record).length);
      },
    ),
    { numRuns: 3_000 },
  );
});

const ROW: Repeated = [
  ...['dk-59YLD7sB1qfTaCFNfcwM9ksAdaPR0SaGn1yjYkSexvc.Zv4W2qpnOqKK2Z8jwFhd8w.mvdtx5iw', 'tiny-tools', 'user-1'],
  ...['chat', 'free:v1', 1792328178488, 1792328182414, 'openai/gpt-6-luna', 'openai/gpt-6-luna'],
  ...['openai', '254620', 1711, 272, 216, 0, null, null, 3],
];
const RECORD =
  '{"customerUserId":"user-1","feature":"chat","tags":["web"],"requested":{"standard":true},"pricingMode":"standard","callId":"dk-59YLD7sB1qfTaCFNfcwM9ksAdaPR0SaGn1yjYkSexvc.Zv4W2qpnOqKK2Z8jwFhd8w.mvdtx5iw","customerId":"tiny-tools","status":"COMPLETED","startedAtMs":1792328178488,"deadlineAtMs":1792331778488,"usagePlanVersionId":"free:v1","allowed":{"standard":true,"premium":false,"audio":false,"image":false,"search":false,"tools":false,"reasoningLevel":"LOW"},"suggestedTier":"standard","reserved":{},"finishedAtMs":1792328182414,"outcome":{"endedAtMs":1792328182414,"providerUsed":"openai","modelUsed":"openai/gpt-6-luna","usage":{"inputTokens":1711,"cachedInputTokens":272,"cacheWriteInputTokens":0,"responseTokens":216,"reasoningTokens":0,"searches":0,"audio":0,"audioSeconds":0},"pricingMode":"standard","tier":"standard","calls":1,"consumed":{"standardCalls":1,"standardTokens":216},"charge":null,"error":null,"price":{"status":"FINAL","costNanoUsd":"254620","breakdown":{"currency":"USD","snapshotId":"openai/gpt-6-luna@a299c7289222","provider":"openai","modelKey":"openai/gpt-6-luna","pricingTier":"base","pricingTierReason":"INPUT_TOKENS_UP_TO_272000","lines":[{"component":"input","quantity":1439,"usdPerMillion":0.1,"rateNanoUsdPerMillion":"100000000","costUSD":0.0001439,"costUsdNano":"143900"},{"component":"cachedInput","quantity":272,"usdPerMillion":0.01,"rateNanoUsdPerMillion":"10000000","costUSD":0.00000272,"costUsdNano":"2720"},{"component":"output","quantity":216,"usdPerMillion":0.5,"rateNanoUsdPerMillion":"500000000","costUSD":0.000108,"costUsdNano":"108000"}],"standardCostUSD":0.00025462,"standardCostUsdNano":"254620","assumptions":[]}},"stripeCustomerId":null,"period":0},"revision":3}';
/** As version 1 packed it: D1 has records like this one. */
const PACKED_1 =
  '0155012d315e8c068d2a952b856ae04ee1598653e54ef255e45699a5df2302afa14b8afae656e696238833e79564eb53eca801ed7ddf87076eed8d1a9b9b922cea6ce701406122299f0063267289222f55872be77d22272f44a431f48f70201f58fe4aff4efed5710aec51200fcfbe12881aff4efe62ed4f220a5f58fe4aff4efe54f356ea748a9801337d';

it('a usual record takes less than a tenth of its text, and is read as it was first packed', () => {
  expect(packRecord(RECORD, ROW)).toBe(PACKED_1);
  expect(unpackRecord(Uint8Array.fromHex(PACKED_1), ROW)).toBe(RECORD);
  // As an earlier release stores a page of this one.
  expect(unpackRecord(PACKED_1, ROW)).toBe(RECORD);
  expect(RECORD.length / (PACKED_1.length / 2)).toBeGreaterThan(10);
});

it('a record that is too long to be packed is kept as it is', () => {
  const longest = Array.from({ length: RECORD_LENGTH_MAX / 8 }, (_, n) => `"id":${n % 1_000}`.padEnd(8, '0')).join('');
  expect(longest.length).toBe(RECORD_LENGTH_MAX);
  expect(packRecord(`${longest} `, ROW)).toBeNull();
  expect(packRecord(longest, ROW)).not.toBeNull();
});

it('a record of a version that this release does not know is refused, not read as another', () => {
  expect(() => unpackRecord(Uint8Array.of(2, 0, 65), ROW)).toThrow('version 2, which this release cannot read');
});
