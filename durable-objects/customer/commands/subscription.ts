/**
 * The commands of a subscription: provision, change the plan, replenish, cancel, read.
 */

import type { Complete } from '../../../src/contract/complete.ts';
import type { ChangePlanData } from '../../../src/contract/customers.ts';
import {
  type Answer,
  accept,
  type ErrorCode,
  planIsArchived,
  type Refusal,
  type Result,
} from '../../../src/contract/errors.ts';
import type { AnswerTo } from '../../../src/contract/operations.ts';
import {
  type Account,
  changePlan,
  mayMoveTo,
  migratePlan,
  releaseStripeCustomer,
  replenishNow,
  setCanceled,
  updateContact,
} from '../../../src/domain/account.ts';
import { usualCharge } from '../../../src/domain/hold.ts';
import type { OrganizationId } from '../../../src/domain/ids.ts';
import { type MeterSlot, SLOT_METERS } from '../../../src/domain/meters.ts';
import type {
  ChangePlanCommand,
  CustomerHistory,
  HistoryCommand,
  MigrateCommand,
  ProvisionCommand,
  ReadUsageCommand,
  RefusedCall,
  ReplenishCommand,
  SetCanceledCommand,
} from '../../../src/objects/customer-commands.ts';
import type { CustomerRpc } from '../../../src/objects/rpc.ts';
import { sentColumns } from '../../../src/objects/series-hours.ts';
import { HOUR_MS } from '../../../src/platform/time.ts';
import { weekPeriods } from '../../../src/readings/usage/weeks.ts';
import { presentCustomer } from '../present.ts';
import { presentForOperator } from '../present-operator.ts';
import {
  type Context,
  catchUp,
  keyed,
  liveAccount,
  noDefaultPlan,
  noSubscription,
  openOrLoad,
  withAccount,
} from './context.ts';

/** Calls among which the latest refused one is looked for. */
const REFUSED_AMONG_MAX = 20;

const METER_SLOTS = Object.keys(SLOT_METERS) as MeterSlot[];

export function provision(context: Context, command: ProvisionCommand): AnswerTo<'provisionCustomer'> {
  const { store, nowMs } = context;
  return keyed(context, 'provision', command, () => {
    const opened = openOrLoad(context, command);
    if (!opened) return noDefaultPlan();
    const account = opened.newCustomer ? opened.account : updateContact(opened.account, command.contact);
    if (account !== store.account()) store.saveAccount(account, nowMs);
    return accept(
      'CUSTOMER_READY',
      { ...presentCustomer(account, command.models), newCustomer: opened.newCustomer },
      nowMs,
    );
  });
}

export function switchPlan(context: Context, command: ChangePlanCommand): AnswerTo<'changePlan'> {
  const { target, isArchived, strategy } = command;
  return changeSubscription(context, command, 'change_plan', 'PLAN_CHANGED', (account) =>
    mayMoveTo(account, target, isArchived)
      ? { ok: true, account: changePlan(account, target, strategy, context.nowMs) }
      : planIsArchived('planId'),
  );
}

export function replenish(context: Context, command: ReplenishCommand): AnswerTo<'replenishCustomer'> {
  return changeSubscription(context, command, 'replenish', 'CUSTOMER_REPLENISHED', (account) => ({
    ok: true,
    account: replenishNow(account, context.nowMs),
  }));
}

/** A keyed change of a live subscription. A canceled one is refused as one that does not exist. */
function changeSubscription<Code extends string, Refusals extends ErrorCode = never>(
  context: Context,
  command: ReplenishCommand,
  operation: string,
  code: Code,
  change: (account: Account) => Result<{ account: Account }, Refusal<Refusals>>,
): Answer<ChangePlanData, Code, Refusals | 'SUBSCRIPTION_NOT_FOUND' | 'IDEMPOTENCY_KEY_CONFLICT'> {
  const { store, nowMs } = context;
  return keyed<ChangePlanData, Code, Refusals | 'SUBSCRIPTION_NOT_FOUND'>(context, operation, command, () => {
    const account = liveAccount(context, command.organizationId);
    if (!account) return noSubscription();
    const changed = change(account);
    if (!changed.ok) return changed;
    if (changed.account !== account) store.saveAccount(changed.account, nowMs);
    const { subscription, warnings } = presentCustomer(changed.account, command.models);
    const data: Complete<ChangePlanData> = { success: true, subscription, warnings };
    return accept<ChangePlanData, Code>(code, data, nowMs);
  });
}

/**
 * Moves the subscription to the newest version of its plan, also a canceled one. Returns whether that changed anything.
 */
export function migrate({ store, nowMs, ...more }: Context, { organizationId, target, when }: MigrateCommand): boolean {
  return store.transaction(nowMs, () => {
    const known = store.account();
    if (!known || known.organizationId !== organizationId) return false;
    const account = catchUp({ store, nowMs, ...more }, known);
    const migrated = migratePlan(account, target, when, nowMs);
    if (migrated !== account) store.saveAccount(migrated, nowMs);
    return migrated !== account;
  });
}

export function readUsage(context: Context, command: ReadUsageCommand): ReturnType<CustomerRpc['readUsage']> {
  return withAccount(context, command, (account) => presentCustomer(account, command.models), 'CUSTOMER_READY');
}

/** What readings are computed from: the account as of now, and all hours of usage that the object has. */
export function readHistory(
  context: Context,
  { organizationId, columns, recentColumns }: HistoryCommand,
): CustomerHistory | null {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const known = store.account();
    if (!known || known.organizationId !== organizationId) return null;
    const { latest, preceding } = weekPeriods(nowMs);
    const account = catchUp(context, known);
    const { plan, lastReplenishedAtMs } = account.subscription;
    const { enabled: isPayg, markupPercent } = plan.plan.payg;
    const enabled = METER_SLOTS.filter((slot) => plan.plan.customMeters[slot]?.enabled).map(
      (slot) => SLOT_METERS[slot],
    );
    // The whole hour in which the period began.
    const recentMs = Math.min(preceding.startMs, lastReplenishedAtMs - (lastReplenishedAtMs % HOUR_MS));
    return {
      account,
      subscription: presentCustomer(account, undefined).subscription,
      hoursJson: store.usageHours.asJson(sentColumns([...columns, ...enabled]), 0),
      recentHoursJson: store.usageHours.asJson(sentColumns(recentColumns), recentMs),
      chargedLatestWeekUsd: store.ledger.usdSpentBetween({ fromMs: latest.startMs, toMs: latest.endMs }),
      usualChargeNanoUsd: (isPayg ? usualCharge(store.recentCosts(), markupPercent) : 0n).toString(),
      refused: isPayg ? latestRefused(store, account) : null,
    };
  });
}

/** Among the latest calls. Before a new usage period or another plan it says nothing of a call now. */
function latestRefused(store: Context['store'], { subscription }: Account): RefusedCall | null {
  const { heldBack } = store.denials;
  const calls = [...(heldBack ? [heldBack] : []), ...store.recentCalls(REFUSED_AMONG_MAX)];
  const [latest] = calls
    .filter(({ denial, usagePlanVersionId, startedAtMs }) => {
      const isCurrent = startedAtMs >= subscription.lastReplenishedAtMs;
      return denial?.money && isCurrent && usagePlanVersionId === subscription.plan.usagePlanVersionId;
    })
    .toSorted((a, b) => b.startedAtMs - a.startedAtMs);
  const money = latest?.denial?.money;
  return money ? { atMs: latest.startedAtMs, money, open: latest.denial?.open } : null;
}

export function cancelOrReactivate(
  context: Context,
  command: SetCanceledCommand,
): ReturnType<CustomerRpc['setCanceled']> {
  const code = command.canceled ? 'CUSTOMER_CANCELED' : 'CUSTOMER_REACTIVATED';
  return withAccount(
    context,
    command,
    (account) => {
      const changed = setCanceled(account, command.canceled, context.nowMs);
      if (changed !== account) context.store.saveAccount(changed, context.nowMs);
      return presentCustomer(changed, command.models);
    },
    code,
  );
}

/** Takes an id at Stripe from the customer: what is charged from now on is not billed to it. */
export function releaseStripe(context: Context, organizationId: OrganizationId, stripeCustomerId: string): void {
  const { store, nowMs } = context;
  store.transaction(nowMs, () => {
    const known = store.account();
    if (!known || known.organizationId !== organizationId) return;
    const account = catchUp(context, known);
    const released = releaseStripeCustomer(account, stripeCustomerId);
    if (released !== account) store.saveAccount(released, nowMs);
  });
}

export function inspect(context: Context, command: ReadUsageCommand): ReturnType<CustomerRpc['inspect']> {
  return withAccount(
    context,
    command,
    (account) => presentForOperator(account, context.store, command.models),
    'CUSTOMER_READ',
  );
}

/** Work that is due without a request: a new period, calls past their deadline, rows past their retention. */
export function housekeep(context: Context): void {
  const { store, nowMs } = context;
  store.transaction(nowMs, () => {
    const account = store.account();
    if (!account) return;
    catchUp(context, account);
    store.prune(nowMs);
  });
}
