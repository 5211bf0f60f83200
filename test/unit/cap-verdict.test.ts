/**
 * The cap suite's verdict finds forbidden results, in made-up accounts of calls.
 */
import { describe, expect, test } from 'vitest';
import { type Attempt, type Billed, type Budget, type Facts, GOALS, judge, type Recorded } from '../cap/verdict.ts';

const budget = (more: Partial<Budget> = {}): Budget => ({
  customerId: 'alice',
  granted: 1_000n,
  spentMost: 180n,
  spent: 180n,
  bounds: { plain: 190n },
  codes: ['BALANCE_HELD', 'CREDIT_REQUIRED', 'RATE_LIMITED'],
  finalCodes: ['CREDIT_REQUIRED', 'RATE_LIMITED'],
  wantedLast: null,
  ...more,
});
const attempt = (more: Partial<Attempt> = {}): Attempt => ({
  marker: 'a',
  customerId: 'alice',
  kind: 'plain',
  sentAtMs: 1_000,
  answeredAtMs: 2_000,
  outcome: 'served',
  code: null,
  streamEnd: null,
  ...more,
});
const refusal = (more: Partial<Attempt> = {}) =>
  attempt({ marker: 'r', outcome: 'refused', code: 'CREDIT_REQUIRED', sentAtMs: 3_000, answeredAtMs: 3_100, ...more });
const bill = (more: Partial<Billed> = {}): Billed => ({
  marker: 'a',
  outcome: 'answered',
  owed: 180n,
  beyond: 0n,
  ...more,
});
const record = (more: Partial<Recorded> = {}): Recorded => ({
  marker: 'a',
  customerId: 'alice',
  empty: false,
  took: 180n,
  provisional: false,
  endedAtMs: 1_900,
  ...more,
});
const facts = (more: Partial<Facts> = {}): Facts => ({
  budgets: [budget()],
  attempts: [attempt()],
  billed: [bill()],
  recorded: [record()],
  ...more,
});

/** The goals that are missed, and by how much. */
function missed(more: Partial<Facts>): Record<string, bigint> {
  const { figures, wrong } = judge(facts(more));
  const found = Object.fromEntries(GOALS.filter((goal) => figures[goal] !== 0n).map((goal) => [goal, figures[goal]]));
  expect(wrong.length > 0).toBe(Object.keys(found).length > 0);
  return found;
}

test('nothing is wrong with a call that was served, billed, recorded and charged', () => {
  expect(missed({})).toEqual({});
});

describe('spent beyond the balance', () => {
  test('is found to the last unit, even if the balance recovered', () => {
    expect(missed({ budgets: [budget({ spentMost: 1_001n })] })).toEqual({ spentBeyond: 1n });
    expect(missed({ budgets: [budget({ spentMost: 1_000n })] })).toEqual({});
  });

  test("is not what a vendor billed beyond its bound, of that customer's calls", () => {
    const budgets = [budget({ spentMost: 1_030n })];
    expect(missed({ budgets, billed: [bill({ beyond: 30n })] })).toEqual({});
    expect(missed({ budgets, billed: [bill({ beyond: 29n })] })).toEqual({ spentBeyond: 1n });
    expect(missed({ budgets, billed: [bill(), bill({ marker: 'z', beyond: 30n })] })).toMatchObject({
      spentBeyond: 30n,
    });
  });
});

describe('spent beyond the balance by increments', () => {
  const beyond = (spentMost: bigint, kind: string, outcome: 'served' | 'refused' = 'served') =>
    missed({
      budgets: [budget({ spentMost, bounds: { increment: 10n } })],
      attempts: [attempt({ kind, outcome, ...(outcome === 'refused' && { answeredAtMs: null }) })],
    }).spentBeyond;

  test('is less than the price of one, and only if there was one', () => {
    expect(beyond(1_009n, 'increment')).toBeUndefined();
    expect(beyond(1_010n, 'increment')).toBe(1n);
    expect(beyond(1_001n, 'plain')).toBe(1n);
    expect(beyond(1_001n, 'increment', 'refused')).toBe(1n);
  });
});

describe('unused at the end', () => {
  test('is found if a bound was left and a request was refused last', () => {
    const at = (spent: bigint) => missed({ budgets: [budget({ spent, wantedLast: 'plain' })] });
    expect(at(810n)).toEqual({ unusedBeyondBound: 190n });
    expect(at(811n)).toEqual({});
  });

  test('is not counted if nobody wanted more', () => {
    expect(missed({ budgets: [budget({ spent: 0n })] })).toEqual({});
  });
});

describe('refused although a bound was free', () => {
  test('is found if no call was open', () => {
    expect(missed({ attempts: [attempt(), refusal()] })).toEqual({ refusedAlthoughFree: 1n });
    expect(missed({ attempts: [attempt(), refusal({ code: 'BALANCE_HELD' })] })).toEqual({ refusedAlthoughFree: 1n });
  });

  test('is not what charges before it had taken', () => {
    expect(missed({ budgets: [budget({ granted: 369n })], attempts: [attempt(), refusal()] })).toEqual({});
    expect(missed({ budgets: [budget({ granted: 370n })], attempts: [attempt(), refusal()] })).toEqual({
      refusedAlthoughFree: 1n,
    });
  });

  test('cannot be told while a call may have been open', () => {
    const held = refusal({ code: 'BALANCE_HELD' });
    const open = [
      [attempt({ answeredAtMs: 3_050 }), held],
      [attempt({ sentAtMs: 3_050, answeredAtMs: 4_000 }), held],
      // Left, and not recorded yet, or only just.
      [attempt({ outcome: 'left', answeredAtMs: null }), refusal({ code: 'BALANCE_HELD', sentAtMs: 3_850 })],
    ];
    for (const attempts of open) expect(missed({ attempts })).toEqual({});
    const lost = attempt({ outcome: 'lost', answeredAtMs: null });
    const later = refusal({ code: 'BALANCE_HELD', sentAtMs: 4_000, answeredAtMs: 4_100 });
    expect(missed({ attempts: [lost, held], billed: [], recorded: [] })).toEqual({});
    expect(missed({ attempts: [lost, held] })).toEqual({});
    expect(missed({ attempts: [lost, later] })).toEqual({ refusedAlthoughFree: 1n });
  });

  test('a refusal for good is wrong while open calls hold enough, and right once they have spent it', () => {
    const open = attempt({ answeredAtMs: 3_500 });
    const at = (endedAtMs: number, code = 'CREDIT_REQUIRED') =>
      missed({
        budgets: [budget({ granted: 200n })],
        attempts: [open, refusal({ code })],
        recorded: [record({ endedAtMs })],
      });
    expect(at(3_400)).toEqual({ refusedForGoodAlthoughHeld: 1n });
    expect(at(3_400, 'RATE_LIMITED')).toEqual({ refusedForGoodAlthoughHeld: 1n });
    expect(at(3_400, 'BALANCE_HELD')).toEqual({});
    expect(at(3_050)).toEqual({});
  });

  test('a kind without a bound is not judged', () => {
    expect(missed({ attempts: [attempt(), refusal({ kind: 'begin' })] })).toEqual({});
  });

  test('a stream that the balance ended must not have had prompt and another step free', () => {
    const ended = attempt({ kind: 'stream', streamEnd: 'balance' });
    const at = (granted: bigint, ...others: Attempt[]) =>
      missed({ budgets: [budget({ granted, bounds: { stream: 11n } })], attempts: [ended, ...others] });
    expect(at(190n)).toEqual({});
    expect(at(191n)).toEqual({ refusedAlthoughFree: 1n });
    expect(at(191n, attempt({ marker: 'b', outcome: 'left', answeredAtMs: null }))).toEqual({});
  });

  test('a refusal has a code that says what is missing', () => {
    expect(missed({ attempts: [attempt(), refusal({ code: 'ENTITLEMENT_DENIED' })] })).toEqual({
      refusedWithAnotherCode: 1n,
    });
  });
});

describe('recorded with nothing', () => {
  test('is a call that ran at the vendor and has no record, or an empty one', () => {
    const attempts = [attempt({ outcome: 'left', answeredAtMs: null })];
    const billed = [bill({ outcome: 'unfinished' })];
    expect(missed({ attempts, billed, recorded: [] })).toEqual({ recordedWithNothing: 1n });
    expect(missed({ attempts, billed, recorded: [record({ empty: true, took: 0n })] })).toEqual({
      recordedWithNothing: 1n,
    });
    expect(missed({ attempts, billed, recorded: [record({ provisional: true, took: 7n })] })).toEqual({});
  });

  test('is not a call that the vendor refused', () => {
    const attempts = [attempt({ outcome: 'failed', code: '500' })];
    const billed = [bill({ outcome: 'refused', owed: 0n })];
    expect(missed({ attempts, billed, recorded: [record({ empty: true, took: 0n })] })).toEqual({});
    expect(missed({ attempts, billed, recorded: [record({ took: 7n })] })).toEqual({ wronglyCharged: 1n });
  });
});

describe('charged', () => {
  test('what the vendor billed, if its answer came', () => {
    expect(missed({ recorded: [record({ took: 181n })] })).toEqual({ wronglyCharged: 1n });
    expect(missed({ recorded: [record({ provisional: true })] })).toEqual({ wronglyCharged: 1n });
  });

  test('a guess at most, if it did not', () => {
    const attempts = [attempt({ outcome: 'left', answeredAtMs: null })];
    expect(missed({ attempts, recorded: [record({ provisional: true, took: 90n })] })).toEqual({});
    // A claimed vendor figure must be the vendor's.
    expect(missed({ attempts, recorded: [record({ took: 90n })] })).toEqual({ wronglyCharged: 1n });
  });

  test('nothing, if it was refused, or the vendor could not be reached', () => {
    const unreachable = attempt({ outcome: 'failed', code: 'VENDOR_UNREACHABLE' });
    expect(missed({ attempts: [unreachable], billed: [] })).toEqual({ wronglyCharged: 1n });
    const silent = attempt({ outcome: 'failed', code: 'VENDOR_TIMEOUT' });
    expect(missed({ attempts: [silent], billed: [], recorded: [record({ provisional: true })] })).toEqual({});
    const attempts = [attempt(), refusal({ answeredAtMs: 1_900, sentAtMs: 1_500 })];
    const recorded = [record(), record({ marker: 'r', took: 5n })];
    expect(missed({ budgets: [budget({ granted: 200n })], attempts, recorded })).toMatchObject({ wronglyCharged: 1n });
  });
});

test('a stream that stopped without an end is found if the vendor had ended it', () => {
  const attempts = [attempt({ kind: 'stream', streamEnd: 'nothing' })];
  expect(missed({ attempts })).toEqual({ streamsWithoutEnd: 1n });
  expect(missed({ attempts, billed: [bill({ outcome: 'unfinished' })] })).toEqual({});
});
