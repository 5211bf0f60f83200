/**
 * What all commands of a customer's object share: their context, the account as of now, stored answers.
 *
 * Every command first looks for a stored answer, then brings the account up to date (a period that ended, credits that
 * expired, calls past their deadline), and only then does its own work. A refusal writes nothing of its own.
 */

import {
  type Accepted,
  type Answer,
  accept,
  answerText,
  type ErrorCode,
  refuse,
} from '../../../src/contract/errors.ts';
import {
  type Account,
  expireDue,
  isCanceled,
  openAccount,
  replenishDue,
  setAlerts,
} from '../../../src/domain/account.ts';
import { releaseBatch } from '../../../src/domain/batch-hold.ts';
import type { OrganizationId } from '../../../src/domain/ids.ts';
import type { PlanVersion } from '../../../src/domain/plan.ts';
import type { PricingMode } from '../../../src/domain/pricing.ts';
import type { Provisioning, ReadUsageCommand, RefusedBegin } from '../../../src/objects/customer-commands.ts';
import type { CustomerStore } from '../store.ts';
import { finishOverdue } from './ending.ts';

export interface Context {
  store: CustomerStore;
  /** The object's own id, hexadecimal: derived call ids carry it. */
  objectId: string;
  deadlineSeconds: Record<PricingMode, number>;
  /** A billing provider is configured, to which charges are reported. */
  reports: boolean;
  nowMs: number;
  newId: () => string;
}

/** What is old is removed every second, if there is much of it. */
const STORAGE_RETRY_SECONDS = 60;
/** Calls past their deadline, or batches past their expiry, that are read at a time. */
const PAGE_ROWS = 200;

/** The account as of now. Changes that are due by time alone are stored. */
export function catchUp(context: Context, known: Account): Account {
  const { store, nowMs } = context;
  let account = finishAllOverdue(context, known);
  account = replenishDue(account, nowMs);
  for (const { requestName, hold } of pagesOf((rows) => store.batchHoldsPastExpiry(nowMs, rows))) {
    account = releaseBatch(account, hold);
    store.saveBatchHold(requestName, { ...hold, expiresAtMs: null }, nowMs);
  }
  // After calls and batches, which may have held something of a credit that has expired.
  account = expireDue(account, nowMs);
  return account === store.account() ? account : store.saveAccount(account, nowMs);
}

/**
 * Finishes the open calls whose deadline has come, each in the period of its deadline, because what was lost counts then.
 * A period is stored when it begins and before the next one does: what was crossed in it is told of.
 */
function finishAllOverdue(context: Context, known: Account): Account {
  const { store, nowMs } = context;
  let account = known;
  let isAny = false;
  for (const call of pagesOf((rows) => store.callsPastDeadline(nowMs, rows))) {
    const inPeriod = replenishDue(account, call.deadlineAtMs);
    if (inPeriod !== account) account = store.saveAccount(inPeriod, nowMs);
    account = store.saveAccount(finishOverdue(context, account, call), nowMs);
    isAny = true;
  }
  if (isAny) store.refreshDeadline();
  return account;
}

/** All that is due, page by page. Whoever takes it settles it, so no page comes twice and the last one is short. */
function* pagesOf<Due>(read: (rowsMax: number) => Due[]): Generator<Due> {
  for (let page = read(PAGE_ROWS); page.length > 0; page = page.length < PAGE_ROWS ? [] : read(PAGE_ROWS)) yield* page;
}

/**
 * The customer's account, opened on the default plan where there is none; `null` where there is no default plan either.
 */
export function openOrLoad(context: Context, command: Provisioning): { account: Account; newCustomer: boolean } | null {
  const known = context.store.account();
  if (known) return { account: setAlerts(catchUp(context, known), command.alerts), newCustomer: false };
  if (!command.defaultPlan) return null;
  const { organizationId, customerId, contact } = command;
  const plan = JSON.parse(command.defaultPlan) as PlanVersion;
  const account = openAccount(
    { organizationId, customerId, subscriptionId: context.newId(), plan, contact },
    context.nowMs,
  );
  return { account: setAlerts(account, command.alerts), newCustomer: true };
}

/**
 * Whether the id at Stripe that a begin names is to be claimed first: only the object knows that the customer is new, and
 * only D1 knows whose the id is.
 */
export function claimsStripe(newCustomer: boolean, { namedStripeCustomerId }: Provisioning): boolean {
  return newCustomer && namedStripeCustomerId !== undefined;
}

/** Nobody gets this refusal: the Worker claims the id, and sends the command again. */
export function claimFirst(): RefusedBegin {
  return { ...refuse('SERVICE_UNAVAILABLE', 'the id at Stripe is to be claimed first'), claimFirst: true };
}

/** The account of a live subscription, as of now; `null` where there is none, or a canceled one. */
export function liveAccount(context: Context, organizationId: OrganizationId): Account | null {
  const known = context.store.account();
  return known && known.organizationId === organizationId && !isCanceled(known) ? catchUp(context, known) : null;
}

/** Answers from the account as of now, whatever its state. */
export function withAccount<Data, Code extends string>(
  context: Context,
  { organizationId }: ReadUsageCommand,
  present: (account: Account) => Data,
  code: Code,
): Answer<Data, Code, 'CUSTOMER_NOT_FOUND'> {
  return context.store.transaction(context.nowMs, () => {
    const known = context.store.account();
    if (!known || known.organizationId !== organizationId) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
    return accept(code, present(catchUp(context, known)), context.nowMs);
  });
}

/**
 * A change under an idempotency key: the stored answer where the key was used, else the answer of `change`, which is
 * stored with what it changed. A refusal leaves the key free.
 */
export function keyed<Data, Code extends string, Refusals extends ErrorCode>(
  { store, nowMs }: Context,
  operation: string,
  { idempotencyKey: key, fingerprint }: { idempotencyKey: string | null; fingerprint: string },
  change: () => Answer<Data, Code, Refusals>,
): Answer<Data, Code, Refusals | 'IDEMPOTENCY_KEY_CONFLICT'> {
  const changed = () => {
    const used = key === null ? null : store.idempotencyKey(operation, key, nowMs);
    if (used) return used.fingerprint === fingerprint ? replay<Data, Code>(used.answer) : keyConflict();
    const answer = change();
    if (key === null || !answer.ok) return answer;
    const text = answerText(answer);
    store.saveIdempotencyKey(operation, key, { fingerprint, callId: null, answer: text }, nowMs);
    return { ...answer, text };
  };
  return store.transaction(nowMs, changed);
}

export function replay<Data, Code extends string = string>(answer: string | null): Accepted<Data, Code> {
  if (answer === null) throw new Error('a replay needs a stored answer');
  return { ...(JSON.parse(answer) as Accepted<Data, Code>), ok: true, replayed: true };
}

export const keyConflict = () =>
  refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');
export const keyUsedUp = () =>
  refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key belongs to a call that finished more than 48 hours ago');
export const storageFull = () =>
  refuse(
    'SERVICE_UNAVAILABLE',
    "the customer's storage is full; open calls can still end. Retry later: answers for retries are removed after 48 hours, which makes room",
    { members: { reason: 'STORAGE_FULL' }, retryAfterSeconds: STORAGE_RETRY_SECONDS },
  );

export const noDefaultPlan = () =>
  refuse(
    'SUBSCRIPTION_NOT_FOUND',
    'the customer has no subscription, and the organization has no default plan to start one with',
  );

export const noSubscription = () => refuse('SUBSCRIPTION_NOT_FOUND', 'the customer has no active subscription');
