/**
 * Each credit equals that in a history without the reversed mistakes, for any number of mistakes and any order of
 * reversals. No credit expires meanwhile. For an overdrawn balance, the sums are equal.
 *
 * VITE_SEED runs a seed again.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Account, changeWallet } from '../../src/domain/account.ts';
import { incrementMeter, type MeterEvent } from '../../src/domain/custom-meter.ts';
import { subtractQuantities } from '../../src/domain/meters.ts';
import { findPayers, mistakenCharge } from '../../src/domain/payers.ts';
import { reverseIncrement, slotTotals } from '../../src/domain/reverse-meter.ts';
import {
  addUnsettled,
  type Credit,
  type CreditUnit,
  EMPTY_WALLET,
  giveBack,
  grantCredit,
  type Recorded,
  settle,
  sumBalance,
  type Wallet,
} from '../../src/domain/wallet.ts';
import { account, plan } from '../unit/fixtures.ts';

const seed = Number(process.env.VITE_SEED ?? Math.floor(Math.random() * 0x7fff_ffff));
const RUNS = 2_000;
const NEVER_REACHED_MS = 1_000_000;

type Step =
  | { kind: 'grant'; amount: number; expiry: number | null }
  | { kind: 'take'; amount: number; mistake: boolean }
  /** Chosen among the mistakes that are not reversed yet. */
  | { kind: 'take back'; which: number };

const amount = fc.integer({ min: 1, max: 12 });
const granted = fc.integer({ min: 1, max: 30 });
const steps = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('grant' as const),
        amount: granted,
        expiry: fc.option(fc.integer({ min: 0, max: 3 })),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('take' as const), amount, mistake: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('take back' as const), which: fc.nat(3) }) },
  ),
  { maxLength: 16 },
);

function creditOf(unit: CreditUnit, amount: number, expiry: number | null, atMs: number): Credit {
  const granted = String(amount);
  const expiresAtMs = expiry === null ? null : NEVER_REACHED_MS + expiry;
  return {
    creditId: `credit-${atMs}`,
    unit,
    granted,
    remaining: granted,
    grantedAtMs: atMs,
    expiresAtMs,
    reference: null,
  };
}

const left = ({ credits }: Wallet) => credits.map(({ creditId, remaining }) => [creditId, remaining]);

interface World {
  grant(credit: { amount: number; expiry: number | null }, atMs: number): void;
  /** Returns the function that reverses it. */
  take(amount: number, atMs: number): (atMs: number) => void;
}

/** Mistakes that no step reversed are reversed at the end. */
function play(steps: readonly Step[], withMistakes: boolean, world: World) {
  const mistakes: ((atMs: number) => void)[] = [];
  let atMs = 0;
  for (const step of steps) {
    atMs += 10;
    if (step.kind === 'grant') world.grant(step, atMs);
    else if (step.kind === 'take') {
      if (step.mistake && !withMistakes) continue;
      const takeBack = world.take(step.amount, atMs);
      if (step.mistake) mistakes.push(takeBack);
    } else if (mistakes.length > 0) mistakes.splice(step.which % mistakes.length, 1)[0]?.(atMs);
  }
  for (const takeBack of mistakes) {
    atMs += 10;
    takeBack(atMs);
  }
}

describe('each credit has what it would have without the mistakes', () => {
  test(`if charges are taken back, with the seed ${seed}`, () => {
    const run = (steps: Step[], withMistakes: boolean) => {
      let wallet: Wallet = EMPTY_WALLET;
      const credits: Credit[] = [];
      play(steps, withMistakes, {
        grant({ amount, expiry }, atMs) {
          const credit = creditOf('USD', amount, expiry, atMs);
          credits.push(credit);
          wallet = grantCredit(wallet, credit);
        },
        take(amount, atMs) {
          const chargeId = `charge-${atMs}`;
          wallet = settle(addUnsettled(wallet, BigInt(amount)), BigInt(amount), chargeId, atMs);
          const corrects: Recorded = { reference: chargeId, atMs };
          return (backMs) => {
            const payers = findPayers(wallet.entries, credits, mistakenCharge(wallet.entries, corrects));
            const reference = `back-${chargeId}`;
            const back = { unit: 'USD' as const, amount: BigInt(amount), payers, reference, corrects };
            wallet = giveBack(wallet, { ...back, creditId: 'own' }, backMs);
          };
        },
      });
      const wasOverdrawn = wallet.entries.some(({ balance }) => balance.startsWith('-'));
      return { balance: sumBalance(wallet, 'USD'), credits: wasOverdrawn ? [] : left(wallet), wasOverdrawn };
    };
    fc.assert(
      fc.property(steps, (steps) => {
        const { wasOverdrawn, ...after } = run(steps, true);
        const expected = run(steps, false);
        expect(after.balance).toBe(expected.balance);
        if (!wasOverdrawn) expect(after.credits).toEqual(expected.credits);
      }),
      { seed, numRuns: RUNS },
    );
  });

  test(`if increments are reversed, with the seed ${seed}`, () => {
    const run = (steps: Step[], included: number, withMistakes: boolean) => {
      const meter = {
        enabled: true,
        label: 'pages',
        included,
        unlimited: false,
        funding: { credits: true, payg: false },
      };
      let customer: Account = account(plan({ customMeters: { CUSTOM1: meter } }));
      const credits: Credit[] = [];
      const reverse = (event: MeterEvent, atMs: number) => {
        const totals = slotTotals(customer)[0]?.[1];
        if (!totals) throw new Error('the meter was used');
        const { usage, funding, mistake } = reverseIncrement(event, totals);
        const payers = findPayers(customer.wallet.entries, credits, mistake);
        const { reference, atMs: ofMs } = mistake;
        const back = { unit: 'CUSTOM1' as const, amount: BigInt(funding.credits), payers, reference: event.eventId };
        const corrects = { reference, atMs: ofMs };
        customer = {
          ...changeWallet(customer, giveBack(customer.wallet, { ...back, corrects, creditId: 'own' }, atMs)),
          meters: {
            ...customer.meters,
            consumed: subtractQuantities(customer.meters.consumed, { customMeter1: funding.included }),
          },
          slots: { CUSTOM1: usage },
        };
      };
      play(steps, withMistakes, {
        grant({ amount, expiry }, atMs) {
          const credit = creditOf('CUSTOM1', amount, expiry, atMs);
          credits.push(credit);
          customer = changeWallet(customer, grantCredit(customer.wallet, credit));
        },
        take(amount, atMs) {
          const ids = { eventId: `event-${atMs}`, chargeId: `charge-${atMs}` };
          const incremented = incrementMeter(customer, { slot: 'CUSTOM1', amount }, ids, atMs);
          if (!incremented) throw new Error('the slot is enabled');
          customer = incremented.account;
          return (backMs) => reverse(incremented.event, backMs);
        },
      });
      return left(customer.wallet);
    };
    fc.assert(
      fc.property(steps, fc.constantFrom(0, 5, 20), (steps, included) => {
        expect(run(steps, included, true)).toEqual(run(steps, included, false));
      }),
      { seed, numRuns: RUNS },
    );
  });
});
