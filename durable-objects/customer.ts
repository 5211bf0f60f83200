/**
 * class Customer: one object per customer of an organization, the single writer of everything about that customer.
 *
 * A thin RPC face: each method takes the time and hands over to a command, which runs in one synchronous transaction.
 * The alarm does what is due without a request, and never lets an error drop it.
 */

import { DurableObject } from 'cloudflare:workers';
import { reportCharge } from '../src/billing/stripe.ts';
import type { CompressPromptData } from '../src/contract/compression.ts';
import type { ChangePlanData, CustomerUsageData, ProvisionCustomerData } from '../src/contract/customers.ts';
import { type Answer, type SentAnswer, sent } from '../src/contract/errors.ts';
import type { GrantedCredit, OperatorCustomer } from '../src/contract/operator-customers.ts';
import type { Call } from '../src/domain/call.ts';
import type { Env } from '../src/env.ts';
import { receiveCommand } from '../src/objects/command-text.ts';
import type {
  BeginCommand,
  ChangePlanCommand,
  CompressPromptCommand,
  CustomerHistory,
  CustomerSetAside,
  EndCommand,
  FinishCommand,
  FinishedCall,
  GrantCommand,
  HistoryCommand,
  IncrementCommand,
  ListSetAsideCommand,
  MigrateCommand,
  OpenCommand,
  ProvisionCommand,
  ReadUsageCommand,
  ReplenishCommand,
  SetCanceledCommand,
  SharedCommand,
} from '../src/objects/customer-commands.ts';
import type { CustomerRpc } from '../src/objects/rpc.ts';
import { log } from '../src/platform/log.ts';
import { markErased } from '../src/storage/erasure.ts';
import { takeBackAnnouncements } from './customer/announcements.ts';
import * as calls from './customer/commands/calls.ts';
import { compressPrompt, isOutOfCredit } from './customer/commands/compression.ts';
import type { Context } from './customer/commands/context.ts';
import { grant } from './customer/commands/credits.ts';
import * as madeCalls from './customer/commands/made-calls.ts';
import { increment } from './customer/commands/meters.ts';
import { listSetAside, resendSetAside } from './customer/commands/set-aside.ts';
import { debitDue, type Reporter, reportDue } from './customer/commands/settlement.ts';
import * as subscription from './customer/commands/subscription.ts';
import { deliver } from './customer/outbox.ts';
import { CustomerStore } from './customer/store.ts';
import { GroupCommit } from './group-commit.ts';

/** A call that stands in memory alone for so long is written without waiting for its end. */
const WRITE_BEHIND_MS = 100;
/** After an alarm that failed in a way nobody foresaw. */
const RETRY_MS = 30_000;

export class Customer extends DurableObject<Env> implements CustomerRpc {
  readonly #objectId: string;
  #store: CustomerStore;
  /** For the commands that come in numbers. */
  readonly #commits = new GroupCommit((commands) => this.#store.together(Date.now(), commands));
  /** Calls that stand in memory alone are going to be looked at. */
  #writingBehind = false;
  /** The work of the alarm that fired last. */
  #alarmRun: Promise<void> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#objectId = ctx.id.toString();
    this.#store = new CustomerStore(ctx.storage);
    void ctx.blockConcurrencyWhile(() => this.#store.load());
  }

  /**
   * A `BeginCommand`. This one and the others that take a text come in numbers: they cross as
   * src/objects/command-text.ts has it.
   */
  begin(command: string): SentAnswer | Promise<SentAnswer> {
    return this.#commits.run(() => sent(calls.begin(this.#context(), receiveCommand<BeginCommand>(command))));
  }

  /** An `EndCommand`. */
  end(command: string): SentAnswer | Promise<SentAnswer> {
    return this.#commits.run(() => sent(calls.end(this.#context(), receiveCommand<EndCommand>(command))));
  }

  void(organizationId: string, callId: string): void {
    calls.voidCall(this.#context(), organizationId, callId);
  }

  /**
   * An `OpenCommand`. Answers with an `OpenedCall` as JSON: what goes into a text comes out as one, at less cost than
   * an object.
   */
  open(command: string): string | Promise<string> {
    return this.#commits.run(() => this.#open(command));
  }

  /** A `FinishCommand`. Answers with a `FinishedCall` as JSON. */
  finish(command: string): string | Promise<string> {
    return this.#commits.run(() => this.#finish(command));
  }

  /**
   * Opens and finishes of several requests. Their answers, in the same order; `null` for one that failed, which takes
   * nothing with it.
   */
  async runAll(commands: readonly SharedCommand[]): Promise<(string | null)[]> {
    const runs = commands.map(
      ([kind, command]) =>
        () =>
          kind === 'open' ? this.#open(command) : this.#finish(command),
    );
    const settled = await this.#commits.runNow(runs);
    return settled.map((one) => (one.status === 'fulfilled' ? one.value : null));
  }

  #open(command: string): string {
    const opened = madeCalls.open(this.#context(), receiveCommand<OpenCommand>(command));
    this.#writeBehind();
    return JSON.stringify(opened);
  }

  #finish(command: string): string {
    return JSON.stringify(madeCalls.finish(this.#context(), receiveCommand<FinishCommand>(command)));
  }

  record(command: BeginCommand, end: Omit<FinishCommand, 'callId'>): FinishedCall {
    return madeCalls.record(this.#context(), command, end);
  }

  provision(command: ProvisionCommand): Answer<ProvisionCustomerData> {
    return subscription.provision(this.#context(), command);
  }

  switchPlan(command: ChangePlanCommand): Answer<ChangePlanData> {
    return subscription.switchPlan(this.#context(), command);
  }

  replenish(command: ReplenishCommand): Answer<ChangePlanData> {
    return subscription.replenish(this.#context(), command);
  }

  migrate(command: MigrateCommand): boolean {
    return subscription.migrate(this.#context(), command);
  }

  /** An `IncrementCommand`. */
  increment(command: string): SentAnswer | Promise<SentAnswer> {
    return this.#commits.run(() => sent(increment(this.#context(), receiveCommand<IncrementCommand>(command))));
  }

  compressPrompt(command: CompressPromptCommand): Answer<CompressPromptData> {
    return compressPrompt(this.#context(), command);
  }

  isOutOfCredit(organizationId: string): boolean {
    return isOutOfCredit(this.#context(), organizationId);
  }

  grant(command: GrantCommand): Answer<GrantedCredit> {
    return grant(this.#context(), command);
  }

  readUsage(command: ReadUsageCommand): Answer<CustomerUsageData> {
    return subscription.readUsage(this.#context(), command);
  }

  readHistory(command: HistoryCommand): CustomerHistory | null {
    return subscription.readHistory(this.#context(), command);
  }

  readCall(organizationId: string, callId: string): Call | null {
    return calls.readCall(this.#context(), organizationId, callId);
  }

  setCanceled(command: SetCanceledCommand): Answer<CustomerUsageData> {
    return subscription.cancelOrReactivate(this.#context(), command);
  }

  inspect(command: ReadUsageCommand): Answer<OperatorCustomer> {
    return subscription.inspect(this.#context(), command);
  }

  listSetAside(command: ListSetAsideCommand): CustomerSetAside | null {
    return listSetAside(this.#context(), command);
  }

  resendSetAside(organizationId: string): number {
    return resendSetAside(this.#context(), organizationId);
  }

  /**
   * Erases the customer: everything that the object holds. Answers whether there was anything. A delivery to D1 that is
   * under way is waited for, so that nothing arrives there after this; one that was given up finds the subscription
   * marked.
   */
  async erase(organizationId: string): Promise<boolean> {
    await this.#alarmRun;
    const account = this.#store.account();
    if (account?.organizationId !== organizationId) return false;
    await markErased(this.env, organizationId, account.subscription.id, Date.now());
    // An alarm may have come meanwhile.
    await this.#alarmRun;
    return this.ctx.blockConcurrencyWhile(async () => {
      if (this.#store.account()?.organizationId !== organizationId) return false;
      await this.ctx.storage.deleteAlarm();
      await this.ctx.storage.deleteAll();
      this.#store = new CustomerStore(this.ctx.storage);
      await this.#store.load();
      // What was announced is gone with the rest.
      await takeBackAnnouncements({ kv: this.env.KV, objectId: this.#objectId }, organizationId);
      return true;
    });
  }

  override async alarm(): Promise<void> {
    this.#alarmRun = this.#work();
    await this.#alarmRun;
  }

  async #work(): Promise<void> {
    const store = this.#store;
    store.alarmFired();
    try {
      subscription.housekeep(this.#context());
      const report = reporterOf(this.env);
      debitDue(store, report !== null, Date.now());
      await deliver({ store, env: this.env, kv: this.env.KV, objectId: this.#objectId, now: Date.now });
      if (report) await reportDue(store, report, Date.now);
    } catch (error) {
      log('error', 'alarm_failed', { objectId: this.#objectId }, error);
      await this.ctx.storage.setAlarm(Date.now() + RETRY_MS);
    }
  }

  /** Looks after calls that stand in memory alone, until none is left. */
  #writeBehind(): void {
    if (this.#writingBehind || !this.#store.hasUnwrittenCalls) return;
    this.#writingBehind = true;
    setTimeout(() => {
      const nowMs = Date.now();
      this.#writingBehind = false;
      try {
        this.#store.transaction(nowMs, () => this.#store.writeCalls(nowMs, nowMs - WRITE_BEHIND_MS), 'LEAVE');
      } catch (error) {
        log('error', 'calls_not_written', { objectId: this.#objectId }, error);
      }
      this.#writeBehind();
    }, WRITE_BEHIND_MS);
  }

  #context(): Context {
    return {
      store: this.#store,
      objectId: this.#objectId,
      deadlineSeconds: { standard: this.env.CALL_DEADLINE_SECONDS, batch: this.env.BATCH_CALL_DEADLINE_SECONDS },
      nowMs: Date.now(),
      newId: () => crypto.randomUUID(),
    };
  }
}

/** How charges are reported; `null` where no billing provider is configured. */
function reporterOf({
  STRIPE_SECRET_KEY: secretKey,
  STRIPE_API_BASE: apiBase,
  STRIPE_METER_EVENT_NAME: eventName,
}: Env): Reporter | null {
  if (!secretKey) return null;
  return (charge) => reportCharge({ secretKey, eventName, ...(apiBase && { apiBase }) }, charge);
}
