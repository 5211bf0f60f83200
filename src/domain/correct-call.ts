/**
 * The correction of a finished call: its outcome is replaced, and what the account paid follows the difference.
 *
 * A reversed call has no outcome any more that counts; the one that it had stays in the record. An allowance gets back
 * only what it gave in the present period: what it gave before has lapsed.
 */
import { type Account, periodOf } from './account.ts';
import type { Call, CallCorrection, CallOutcome } from './call.ts';
import { type Charge, newCharge, pendingAmount } from './charge.ts';
import type { Correction } from './correction.ts';
import { addQuantities, subtractQuantities } from './meters.ts';
import type { NanoUsd } from './money.ts';
import { addUnsettled } from './wallet.ts';

export interface Corrected {
  account: Account;
  call: Call;
  correction: CallCorrection;
}

/** Whether the call is over and can have counted something. */
export function isCorrectable({ status }: Call): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'TIMEOUT';
}

/** What the call counts; `null` where that is nothing. */
export function countedOutcome({ outcome, reversedAtMs }: Call): CallOutcome | null {
  return reversedAtMs === undefined ? outcome : null;
}

/** Takes the call back. */
export function reverseCall(account: Account, call: Call, why: Correction, chargeId: string): Corrected {
  const before = countedOutcome(call);
  const { account: settled, charge, returned } = replaceOutcome(account, before, null, chargeId);
  const correction: CallCorrection = { ...why, kind: 'REVERSED', previous: before, returned, charge };
  const corrections = [...(call.corrections ?? []), correction];
  const revision = account.revision + 1;
  return {
    account: { ...settled, revision },
    call: { ...call, corrections, reversedAtMs: why.atMs, revision },
    correction,
  };
}

/** The account after one outcome of a call counts instead of another; `null` counts nothing. */
export function replaceOutcome(
  account: Account,
  before: CallOutcome | null,
  after: CallOutcome | null,
  chargeId: string,
): { account: Account; charge: Charge | null; returned: CallOutcome['consumed'] } {
  const isCurrent = before !== null && isOfPresentPeriod(account, before);
  const returned = isCurrent ? before.consumed : {};
  const taken = isCurrent && after ? after.consumed : {};
  const meters = {
    ...account.meters,
    consumed: addQuantities(subtractQuantities(account.meters.consumed, returned), taken),
  };
  const difference = chargedAmount(after) - chargedAmount(before);
  const charge = difference === 0n ? null : newCharge(chargeId, difference, null);
  return {
    account: { ...account, meters, wallet: addUnsettled(account.wallet, pendingAmount(charge)) },
    charge,
    returned,
  };
}

function isOfPresentPeriod(account: Account, { period, endedAtMs }: CallOutcome): boolean {
  return period === undefined ? endedAtMs > account.subscription.lastReplenishedAtMs : period === periodOf(account);
}

/** What the balance pays or has paid for it. */
function chargedAmount(outcome: CallOutcome | null): NanoUsd {
  return BigInt(outcome?.charge?.amountNanoUsd ?? 0);
}
