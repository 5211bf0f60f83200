/**
 * A customer as the operator sees it: the state, the credits and their ledger, open and recent calls, and the changes
 * that wait for D1.
 */
import type { Complete } from '../../src/contract/complete.ts';
import type { OperatorCustomer } from '../../src/contract/operator-customers.ts';
import type { Account } from '../../src/domain/account.ts';
import { type Call, usageSource } from '../../src/domain/call.ts';
import { formatUsd, usdFromNano } from '../../src/domain/money.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import { availableUsd, type Credit, type CreditUnit, sumBalance } from '../../src/domain/wallet.ts';
import type { InspectedCustomer } from '../../src/objects/customer-commands.ts';
import { presentCustomer } from './present.ts';
import type { CustomerStore } from './store.ts';
import type { OpenCharge } from './tables/charges.ts';
import type { StoredEntry } from './tables/ledger.ts';

const RECENT_CALLS_MAX = 20;
const RECENT_ENTRIES_MAX = 50;
const FAILED_CHARGES_MAX = 50;

export function presentForOperator(
  account: Account,
  store: CustomerStore,
  models: OperatorCustomer['models'],
): Complete<InspectedCustomer> {
  const { pending, oldestMs } = store.outboxState();
  const { failures, lastError } = store.delivery();
  const { wallet } = account;
  return {
    ...presentCustomer(account, models),
    organizationId: account.organizationId,
    createdAt: iso(account.createdAtMs),
    openCalls: store.countOpenCalls(),
    recentCalls: store.recentCalls(RECENT_CALLS_MAX).map(presentRecent),
    wallet: {
      balanceUsd: formatUsd(sumBalance(wallet, 'USD')),
      heldUsd: formatUsd(BigInt(wallet.held)),
      unsettledUsd: formatUsd(BigInt(wallet.unsettled)),
      availableUsd: formatUsd(availableUsd(wallet)),
      units: {
        CUSTOM1: unitsOf(account, 'CUSTOM1'),
        CUSTOM2: unitsOf(account, 'CUSTOM2'),
        AGENTIC_API: unitsOf(account, 'AGENTIC_API'),
      },
      openCharges: store.countCharges(),
    },
    failedCharges: store.failedCharges(FAILED_CHARGES_MAX).map(presentFailed),
    credits: wallet.credits.map(presentCredit),
    ledger: store.ledger.recent(RECENT_ENTRIES_MAX).map(presentEntry),
    outbox: {
      pending,
      oldestAt: oldestMs === null ? null : iso(oldestMs),
      failures,
      lastError,
    },
  };
}

function unitsOf({ wallet }: Account, unit: CreditUnit): number {
  return Number(sumBalance(wallet, unit));
}

function amountOf(unit: CreditUnit, amount: string): string {
  return unit === 'USD' ? formatUsd(BigInt(amount)) : amount;
}

function presentFailed({
  chargeId,
  kind,
  subjectId,
  stripeCustomerId,
  amountNanoUsd,
  eventNanoUsd,
  failureReason,
  atMs,
  dueAtMs,
}: OpenCharge): OperatorCustomer['failedCharges'][number] {
  return {
    chargeId,
    subject: kind,
    subjectId,
    stripeCustomerId: stripeCustomerId ?? '',
    amountUsd: formatUsd(eventNanoUsd ?? amountNanoUsd),
    reason: failureReason ?? '',
    at: iso(atMs),
    nextAttemptAt: dueAtMs < NEVER_MS ? iso(dueAtMs) : null,
  };
}

function presentCredit({
  creditId,
  unit,
  granted,
  remaining,
  grantedAtMs,
  expiresAtMs,
  reference,
}: Credit): OperatorCustomer['credits'][number] {
  return {
    creditId,
    unit,
    granted: amountOf(unit, granted),
    remaining: amountOf(unit, remaining),
    grantedAt: iso(grantedAtMs),
    expiresAt: expiresAtMs === null ? null : iso(expiresAtMs),
    reference,
  };
}

function presentEntry({
  entryId,
  atMs,
  unit,
  cause,
  amount,
  balance,
  creditId,
  reference,
  subject,
}: StoredEntry): OperatorCustomer['ledger'][number] {
  return {
    entryId,
    at: iso(atMs),
    unit,
    cause,
    amount: amountOf(unit, amount),
    balance: amountOf(unit, balance),
    creditId,
    reference,
    subject: subject ?? null,
  };
}

function presentRecent(call: Call): Complete<OperatorCustomer['recentCalls'][number]> {
  const price = call.outcome?.price;
  return {
    callId: call.callId,
    status: call.status,
    startTime: iso(call.startedAtMs),
    endTime: call.finishedAtMs === null ? null : iso(call.finishedAtMs),
    providerUsed: call.outcome?.providerUsed ?? null,
    modelUsed: call.outcome?.modelUsed ?? null,
    costUSD: price?.status === 'FINAL' ? usdFromNano(BigInt(price.costNanoUsd)) : null,
    usageSource: usageSource(call),
    reversedAt: call.reversedAtMs === undefined ? undefined : iso(call.reversedAtMs),
  };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
