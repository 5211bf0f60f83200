/**
 * Goodwill: a USD credit of the amount that a call or an increment took from the balance. The cost stays, so that the
 * margin shows the goodwill. The same call or increment is given back once: its key and its reference ensure that.
 */
import { asCustomerId, type CustomerId } from '../domain/ids.ts';
import { formatUsd, type NanoUsd, parseUsd } from '../domain/money.ts';
import type { ReadCallData } from './calls.ts';
import { IDEMPOTENCY_KEY_LENGTH_MAX, TEXT_LENGTH_MAX } from './fields.ts';
import type { LedgerItem } from './ledger.ts';
import type { GrantCreditRequest } from './operator-customers.ts';

interface Goodwill {
  customerId: CustomerId;
  amountNanoUsd: NanoUsd;
  grant: GrantCreditRequest;
  idempotencyKey: string;
}

/** The credit, or why nothing can be given back. */
export type GoodwillDecision = { ok: true; goodwill: Goodwill } | { ok: false; reason: string };

export type DisputedCall = Pick<ReadCallData, 'callId' | 'customerId' | 'status' | 'reversedAt' | 'payg'>;

export function goodwillOfCall({ callId, customerId, status, reversedAt, payg }: DisputedCall): GoodwillDecision {
  if (status === 'IN_PROGRESS') return nothing('the call has not ended, and has charged nothing yet');
  if (reversedAt !== undefined) return nothing('the call was reversed, which gave back what it had charged');
  return decide('call', callId, customerId ?? asCustomerId(''), BigInt(payg.chargeNanoUsd ?? 0));
}

/**
 * `entries` are the increment's entries in the ledger. An amount that the balance did not pay cannot be given back to
 * it.
 */
export function goodwillOfEvent(
  eventId: string,
  customerId: CustomerId,
  entries: readonly Pick<LedgerItem, 'unit' | 'amount'>[],
): GoodwillDecision {
  const paid = entries.reduce((sum, { unit, amount }) => (unit === 'USD' ? sum - signed(amount) : sum), 0n);
  return decide('increment', eventId, customerId, paid);
}

/** The reference of the credit. */
function goodwillReference(kind: 'call' | 'increment', id: string): string {
  return `goodwill for ${kind} ${id}`.slice(0, TEXT_LENGTH_MAX);
}

function decide(
  kind: 'call' | 'increment',
  id: string,
  customerId: CustomerId,
  amountNanoUsd: NanoUsd,
): GoodwillDecision {
  if (amountNanoUsd <= 0n) return nothing(`the ${kind} charged nothing`);
  const grant = { kind: 'USD', amountUsd: formatUsd(amountNanoUsd), reference: goodwillReference(kind, id) } as const;
  // Includes the whole id, which may be as long as a key itself.
  const idempotencyKey = `goodwill-${id}`.slice(-IDEMPOTENCY_KEY_LENGTH_MAX);
  return { ok: true, goodwill: { customerId, amountNanoUsd, grant, idempotencyKey } };
}

function signed(usd: string): NanoUsd {
  return usd.startsWith('-') ? -(parseUsd(usd.slice(1)) ?? 0n) : (parseUsd(usd) ?? 0n);
}

const nothing = (reason: string) => ({ ok: false, reason: `${reason}: there is nothing to give back` }) as const;
