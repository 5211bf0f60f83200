/**
 * The commands of credits: a grant by the operator, and the revocation of one.
 */

import { type Accepted, accept, refuse } from '../../../src/contract/errors.ts';
import { warnedOfCredit } from '../../../src/contract/funding-warnings.ts';
import type { AnswerTo } from '../../../src/contract/operations.ts';
import type { RevokedCredit } from '../../../src/contract/operator-customers.ts';
import { changeWallet } from '../../../src/domain/account.ts';
import type { LedgerRow } from '../../../src/domain/ledger-rows.ts';
import { formatUsd } from '../../../src/domain/money.ts';
import {
  grantCredit,
  type LedgerEntry,
  LIVE_CREDITS_MAX,
  revokeCredit,
  sumBalance,
} from '../../../src/domain/wallet.ts';
import type { GrantCommand, LedgerCommand, RevokeCommand } from '../../../src/objects/customer-commands.ts';
import { type Context, catchUp, keyed } from './context.ts';

export function grant(context: Context, command: GrantCommand): AnswerTo<'grantCredit'> {
  const { store, nowMs } = context;
  return keyed(context, 'grant', command, () => {
    const known = store.account();
    if (!known || known.organizationId !== command.organizationId)
      return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
    const account = catchUp(context, known);
    const { unit, amount, expiresAtMs, reference } = command;
    if (expiresAtMs !== null && expiresAtMs <= nowMs) return badRequest('expiresAt', 'must be in the future');
    if (account.wallet.credits.length >= LIVE_CREDITS_MAX) {
      return refuse('CONFLICT', `too many credits with something left (at most ${LIVE_CREDITS_MAX} of a customer)`);
    }
    if (unit !== 'USD' && sumBalance(account.wallet, unit) + BigInt(amount) > BigInt(Number.MAX_SAFE_INTEGER)) {
      return badRequest('units', `would bring the balance above ${Number.MAX_SAFE_INTEGER}`);
    }
    const creditId = context.newId();
    const credit = { creditId, unit, granted: amount, remaining: amount, grantedAtMs: nowMs, expiresAtMs, reference };
    const granted = changeWallet(account, grantCredit(account.wallet, credit));
    store.saveAccount(granted, nowMs);
    store.corrections.saveCredit(credit);
    // Credit may pay for what was denied before.
    store.denials.reset();
    const balance = sumBalance(granted.wallet, unit);
    return accept(
      'CREDIT_GRANTED',
      {
        creditId,
        ...(unit === 'USD' ? { balanceUsd: formatUsd(balance) } : { unitsRemaining: Number(balance) }),
        ...warnedOfCredit(granted, unit),
      },
      nowMs,
    );
  });
}

/** Entries of a page of the ledger that D1 does not have; `null` if there is no such customer. */
export function readLedger(context: Context, command: LedgerCommand): LedgerRow[] | null {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const known = store.account();
    if (known?.organizationId !== command.organizationId) return null;
    // A credit that has expired by now has its entry.
    catchUp(context, known);
    return store.ledger.missing(command);
  });
}

/** Takes back what is left of a credit, once: a second revocation gets the answer of the first. */
export function revoke(
  context: Context,
  { organizationId, creditId, reason, old }: RevokeCommand,
): AnswerTo<'revokeCredit'> {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const known = store.account();
    if (!known || known.organizationId !== organizationId) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
    const entry = store.ledger.entryOf(creditId) ?? old;
    if (entry?.cause === 'REVOKE') return { ...answerOfRevocation(creditId, entry), replayed: true };
    const account = catchUp(context, known);
    const wallet = revokeCredit(account.wallet, creditId, reason, nowMs);
    const revocation = wallet.entries.at(-1);
    if (wallet !== account.wallet && revocation) {
      store.saveAccount(changeWallet(account, wallet), nowMs);
      // What it gets back later is taken back too, as if it had expired.
      const terms = store.corrections.credit(creditId);
      if (terms) store.corrections.saveCredit({ ...terms, expiresAtMs: nowMs });
      return answerOfRevocation(creditId, revocation);
    }
    const isLive = account.wallet.credits.some((credit) => credit.creditId === creditId);
    if (!entry && !isLive) return refuse('NOT_FOUND', 'no such credit');
    return refuse('CONFLICT', 'the credit is used up or expired: nothing of it is left to take back');
  });
}

/** What the ledger's entry of the revocation tells. */
function answerOfRevocation(
  creditId: string,
  { unit, amount, balance, reference, atMs }: Omit<LedgerEntry, 'creditId' | 'cause'>,
): Accepted<RevokedCredit, 'CREDIT_REVOKED'> {
  const exact = (value: bigint) => (unit === 'USD' ? formatUsd(value) : value.toString());
  const revoked = exact(-BigInt(amount));
  return accept(
    'CREDIT_REVOKED',
    { creditId, unit, revoked, balance: exact(BigInt(balance)), reason: reference ?? '' },
    atMs,
  );
}

function badRequest(path: string, message: string) {
  return refuse('BAD_REQUEST', `${path}: ${message}`, { members: { details: [{ path, message }] } });
}
