/**
 * The command of credits: a grant by the operator.
 */
import { type Answer, accept, refuse } from '../../../src/contract/errors.ts';
import type { GrantedCredit } from '../../../src/contract/operator-customers.ts';
import { changeWallet } from '../../../src/domain/account.ts';
import { formatUsd } from '../../../src/domain/money.ts';
import { balanceOf, grantCredit, LIVE_CREDITS_MAX } from '../../../src/domain/wallet.ts';
import type { GrantCommand } from '../../../src/objects/customer-commands.ts';
import { type Context, catchUp, keyed } from './context.ts';

export function grant(context: Context, command: GrantCommand): Answer<GrantedCredit> {
  const { store, nowMs } = context;
  return keyed(context, 'grant', command, () => {
    const known = store.account();
    if (!known || known.organizationId !== command.organizationId)
      return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
    const account = catchUp(context, known);
    const { unit, amount, expiresAtMs, reference } = command;
    if (expiresAtMs !== null && expiresAtMs <= nowMs) return badRequest('expiresAt', 'must be in the future');
    if (account.wallet.credits.length >= LIVE_CREDITS_MAX) {
      return refuse(
        'CONFLICT',
        `the customer has ${LIVE_CREDITS_MAX} credits that are not used up, and can have no more`,
      );
    }
    if (unit !== 'USD' && balanceOf(account.wallet, unit) + BigInt(amount) > BigInt(Number.MAX_SAFE_INTEGER)) {
      return badRequest('units', `would bring the balance above ${Number.MAX_SAFE_INTEGER}`);
    }
    const creditId = context.newId();
    const credit = { creditId, unit, granted: amount, remaining: amount, grantedAtMs: nowMs, expiresAtMs, reference };
    const granted = changeWallet(account, grantCredit(account.wallet, credit));
    store.saveAccount(granted, nowMs);
    // Credit may pay for what was denied before.
    store.denials.reset();
    const balance = balanceOf(granted.wallet, unit);
    return accept(
      'CREDIT_GRANTED',
      { creditId, ...(unit === 'USD' ? { balanceUsd: formatUsd(balance) } : { unitsRemaining: Number(balance) }) },
      nowMs,
    );
  });
}

function badRequest(path: string, message: string) {
  return refuse('BAD_REQUEST', `${path}: ${message}`, { members: { details: [{ path, message }] } });
}
