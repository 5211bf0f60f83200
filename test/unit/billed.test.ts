/**
 * The amount that the billing provider has of an older call, derived from its charges.
 */
import { expect, test } from 'vitest';
import { type BilledCall, positionOfCall, positionOfMeterEvent } from '../../src/domain/billed.ts';
import type { CallCorrection, CallOutcome } from '../../src/domain/call.ts';
import type { Charge } from '../../src/domain/charge.ts';

const charge = (chargeId: string, amount: number, status: Charge['status']): Charge => ({
  chargeId,
  amountNanoUsd: String(amount),
  markupPercent: 0,
  status,
  failureReason: status === 'FAILED' ? 'STRIPE_no_meter' : null,
});
const outcome = (of: Charge, stripeCustomerId: string | null = 'cus_1') =>
  ({ charge: of, stripeCustomerId }) as CallOutcome;
const correction = (previous: CallOutcome, of: Charge) => ({ previous, charge: of }) as CallCorrection;

test.each<[string, BilledCall, { target: bigint; accepted: bigint }]>([
  ['a charge that it took', { outcome: outcome(charge('a', 5, 'POSTED')) }, { target: 5n, accepted: 5n }],
  ['a charge that it refused', { outcome: outcome(charge('a', 5, 'FAILED')) }, { target: 5n, accepted: 0n }],
  ['a charge of another customer', { outcome: outcome(charge('a', 5, 'POSTED'), null) }, { target: 0n, accepted: 0n }],
  [
    'a refused charge, whose amendment settled without it',
    {
      outcome: outcome(charge('b', 4, 'POSTED')),
      corrections: [correction(outcome(charge('a', 5, 'FAILED')), charge('b', -1, 'POSTED'))],
    },
    { target: 4n, accepted: 0n },
  ],
  [
    'a charge that it took, whose correction it refused',
    {
      outcome: outcome(charge('b', 4, 'FAILED')),
      corrections: [correction(outcome(charge('a', 5, 'POSTED')), charge('b', -1, 'FAILED'))],
    },
    { target: 4n, accepted: 5n },
  ],
  [
    'a reversed call, as soon as the reversal is on its way',
    {
      outcome: outcome(charge('a', 5, 'POSTED')),
      reversedAtMs: 1,
      corrections: [correction(outcome(charge('a', 5, 'POSTED')), charge('b', -5, 'PENDING'))],
    },
    { target: 0n, accepted: 5n },
  ],
  [
    'what is kept with the call, whatever its charges say',
    { outcome: outcome(charge('a', 5, 'FAILED')), billed: { cus_1: '5', cus_2: '7' } },
    { target: 5n, accepted: 5n },
  ],
])('%s', (_name, call, position) => {
  const { outcome: of = null } = call;
  expect(positionOfCall({ ...call, outcome: of }, 'cus_1')).toEqual(position);
});

test('an increment counts with its reversal, of which it has what it was told', () => {
  const reversal = { charge: charge('b', -5, 'PENDING') } as never;
  const taken = { charge: charge('a', 5, 'POSTED'), reversal };
  expect(positionOfMeterEvent(taken, 'cus_1')).toEqual({ target: 0n, accepted: 5n });
  expect(positionOfMeterEvent({ ...taken, charge: charge('a', 5, 'FAILED') }, 'cus_1')).toMatchObject({ accepted: 0n });
});
