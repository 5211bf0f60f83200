/**
 * Promise: a packed text gives the same text again, byte for byte, whatever it is compared with.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { buildForm, formIdOf, packText, parseText, unpackText } from '../../durable-objects/customer/packed-text.ts';

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('true', 'null', '1', '=2', '@3', 'a":', '"', '\\', '\n', '\n1=2', '2027-02-30T00:00:00.000Z'),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);
const scalar = fc.oneof(
  text,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.nat(),
  fc.boolean(),
  fc.constant(null),
);
/** Members as answers have them: a meter's, a cost's, times, an id. */
const members = fc.record({
  id: text,
  at: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  meter: fc.record({
    remaining: fc.nat(),
    limit: fc.nat(),
    used: fc.nat(),
    unlimited: fc.boolean(),
    ratio: fc.oneof(fc.nat(), fc.double({ noNaN: true })),
  }),
  costUSD: fc.oneof(
    fc.nat(1_000).map((n) => n / 1_000),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  ),
  costUsdNano: fc.oneof(fc.nat().map(String), text),
  rest: fc.array(scalar, { maxLength: 3 }),
});
const anything = fc.oneof(members, members, fc.jsonValue());

it('any text that has the members of its form comes back as it was', () => {
  fc.assert(
    fc.property(members, members, text, text, (first, second, firstId, secondId) => {
      const form = buildForm({
        id: 7,
        callId: firstId,
        madeAtMs: 0,
        text: JSON.stringify({ ...first, callId: firstId }),
      });
      const written = JSON.stringify({ ...second, callId: secondId });
      const packed = packText(form, parseText(written), secondId);
      if (first.rest.length === second.rest.length) expect(packed).not.toBeNull();
      if (packed === null) return;
      expect([formIdOf(packed), unpackText(form, packed, secondId)]).toEqual([7, written]);
    }),
    { numRuns: 2_000 },
  );
});

it('a text with other members is not packed, and no JSON text is taken for a packed one', () => {
  fc.assert(
    fc.property(anything, anything, (first, second) => {
      const [before, written] = [JSON.stringify(first), JSON.stringify(second)];
      const packed = packText(buildForm({ id: 1, callId: 'a', madeAtMs: 0, text: before }), parseText(written), 'b');
      const restored =
        packed === null
          ? written
          : unpackText(buildForm({ id: 1, callId: 'a', madeAtMs: 0, text: before }), packed, 'b');
      expect([restored, formIdOf(written)]).toEqual([written, null]);
    }),
    { numRuns: 2_000 },
  );
});

it('what follows from other values takes no room: an answer that differs in its id, its time and one quantity', () => {
  const answer = (callId: string, second: number, remaining: number) =>
    JSON.stringify({
      result: { timestamp: new Date(Date.UTC(2027, 0, 1, 0, 0, second)).toISOString() },
      data: {
        ...{ callId, startTime: new Date(Date.UTC(2027, 0, 1, 0, 0, second)).toISOString() },
        meters: {
          calls: { remaining, limit: 3_000, used: 3_000 - remaining, unlimited: false, ratio: remaining / 3_000 },
        },
        remainingRatios: { calls: remaining / 3_000 },
        idempotency: { key: callId },
      },
    });
  const form = buildForm({ id: 1, callId: 'a-key', madeAtMs: 0, text: answer('a-key', 1, 2_000) });
  expect(packText(form, parseText(answer('another-key', 2, 1_999)), 'another-key')).toBe('1:1\n0@rs\n2=1999');
});
