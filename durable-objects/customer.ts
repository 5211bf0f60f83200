/**
 * class Customer: one object per customer of an organization, the single writer of everything about that customer.
 *
 * A thin RPC face: each method hands over to a command (customer/commands/), which runs in one synchronous transaction.
 * The methods that are called most take their command as text and share transactions. The alarm does what is due
 * without a request; a timer takes charges from the balance and hands changes over.
 */

import { DurableObject } from 'cloudflare:workers';
import { serializeAnswer } from '../src/contract/errors.ts';
import type { OrganizationId } from '../src/domain/ids.ts';
import type { Env } from '../src/env.ts';
import { fetchFigures } from '../src/gateway/late-figures.ts';
import { markErased } from '../src/history/erasure.ts';
import { type CommandText, receiveCommand } from '../src/objects/command-text.ts';
import type {
  BeginCommand,
  BeginServiceCallCommand,
  EndCommand,
  EndServiceCallCommand,
  ExtendHoldCommand,
  IncrementCommand,
} from '../src/objects/customer-commands.ts';
import type { CustomerRpc } from '../src/objects/rpc.ts';
import { log } from '../src/platform/log.ts';
import { MINUTE_MS } from '../src/platform/time.ts';
import { doAlarmWork, reportsCharges } from './customer/alarm-work.ts';
import { takeFigures } from './customer/commands/awaited-figures.ts';
import * as batches from './customer/commands/batches.ts';
import * as calls from './customer/commands/calls.ts';
import * as compression from './customer/commands/compression.ts';
import type { Context } from './customer/commands/context.ts';
import * as corrections from './customer/commands/corrections.ts';
import { grant, readLedger, revoke } from './customer/commands/credits.ts';
import { increment } from './customer/commands/meters.ts';
import * as serviceCalls from './customer/commands/service-calls.ts';
import { debit } from './customer/commands/settlement.ts';
import * as subscription from './customer/commands/subscription.ts';
import { HAND_OVER_DELAY_MS, handOver } from './customer/hand-over.ts';
import { CustomerStore } from './customer/store.ts';
import type { AwaitedFigures } from './customer/tables/awaited-figures.ts';
import { GroupCommit } from './group-commit.ts';
import { prepareObject, runAlarm } from './newer-state.ts';

/**
 * An object is given up ten seconds after its last request. One that lives no longer than that probably has a customer who
 * calls rarely.
 */
const OPENED_JUST_NOW_MS = 10_000;

/** What came of a new customer waits at most so long for the erasure of the one before, if that never ends. */
const ERASURE_MS_MAX = 5 * MINUTE_MS;

/** What a method takes. */
type Args<Name extends Exclude<keyof CustomerRpc, symbol>> = Parameters<CustomerRpc[Name]>;

export class Customer extends DurableObject<Env> implements CustomerRpc {
  readonly #objectId = this.ctx.id.toString();
  readonly #commits = new GroupCommit({
    inOneTransaction: (commands) => this.#store.transaction(Date.now(), commands),
  });
  #opened: CustomerStore | null = null;
  readonly #openedAtMs = Date.now();
  /** What the object does without a request, and an erasure, one after the other. */
  #work: Promise<unknown> = Promise.resolve();
  #isToHandOver = false;
  /** There are changes that are not in the page that is on its way. */
  #hasNewChanges = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(() => prepareObject(() => this.#store.load()));
  }

  begin(command: CommandText<BeginCommand>) {
    return this.#commits.run(() => serializeAnswer(calls.begin(this.#context(), receiveCommand(command))));
  }

  end(command: CommandText<EndCommand>) {
    return this.#commits.run(() => serializeAnswer(calls.end(this.#context(), receiveCommand(command))));
  }

  increment(command: CommandText<IncrementCommand>) {
    return this.#commits.run(() => serializeAnswer(increment(this.#context(), receiveCommand(command))));
  }

  beginServiceCall(command: CommandText<BeginServiceCallCommand>) {
    return this.#commits.run(() =>
      JSON.stringify(serviceCalls.beginServiceCall(this.#context(), receiveCommand(command))),
    );
  }

  endServiceCall(command: CommandText<EndServiceCallCommand>) {
    return this.#commits.run(() =>
      JSON.stringify(serviceCalls.endServiceCall(this.#context(), receiveCommand(command))),
    );
  }

  extendHold(command: CommandText<ExtendHoldCommand>) {
    return this.#commits.run(() => calls.extendHold(this.#context(), receiveCommand(command)));
  }

  holdBatch(...args: Args<'holdBatch'>) {
    return batches.hold(this.#context(), ...args);
  }

  endBatch(...args: Args<'endBatch'>) {
    batches.end(this.#context(), ...args);
  }

  recordServiceCall(...args: Args<'recordServiceCall'>) {
    return serviceCalls.recordServiceCall(this.#context(), ...args);
  }

  void(...args: Args<'void'>) {
    calls.voidCall(this.#context(), ...args);
  }

  readCall(...args: Args<'readCall'>) {
    return calls.readCall(this.#context(), ...args);
  }

  provision(...args: Args<'provision'>) {
    return subscription.provision(this.#context(), ...args);
  }

  switchPlan(...args: Args<'switchPlan'>) {
    return subscription.switchPlan(this.#context(), ...args);
  }

  replenish(...args: Args<'replenish'>) {
    return subscription.replenish(this.#context(), ...args);
  }

  migrate(...args: Args<'migrate'>) {
    return subscription.migrate(this.#context(), ...args);
  }

  setCanceled(...args: Args<'setCanceled'>) {
    return subscription.cancelOrReactivate(this.#context(), ...args);
  }

  releaseStripe(...args: Args<'releaseStripe'>) {
    subscription.releaseStripe(this.#context(), ...args);
  }

  readUsage(...args: Args<'readUsage'>) {
    return subscription.readUsage(this.#context(), ...args);
  }

  readHistory(...args: Args<'readHistory'>) {
    return subscription.readHistory(this.#context(), ...args);
  }

  inspect(...args: Args<'inspect'>) {
    return subscription.inspect(this.#context(), ...args);
  }

  grant(...args: Args<'grant'>) {
    return grant(this.#context(), ...args);
  }

  readLedger(...args: Args<'readLedger'>) {
    return readLedger(this.#context(), ...args);
  }

  revoke(...args: Args<'revoke'>) {
    return revoke(this.#context(), ...args);
  }

  reverseCall(...args: Args<'reverseCall'>) {
    return corrections.reverseCall(this.#context(), ...args);
  }

  amendCall(...args: Args<'amendCall'>) {
    return corrections.amendCall(this.#context(), ...args);
  }

  repriceCalls(...args: Args<'repriceCalls'>) {
    return corrections.repriceCalls(this.#context(), ...args);
  }

  reverseMeterEvent(...args: Args<'reverseMeterEvent'>) {
    return corrections.reverseMeterEvent(this.#context(), ...args);
  }

  countSessionRequest(...args: Args<'countSessionRequest'>) {
    return serviceCalls.countSessionRequest(this.#context(), ...args);
  }

  compressPrompt(...args: Args<'compressPrompt'>) {
    return compression.compressPrompt(this.#context(), ...args);
  }

  isOutOfCredit(...args: Args<'isOutOfCredit'>) {
    return compression.isOutOfCredit(this.#context(), ...args);
  }

  /**
   * Erases everything that the object holds. Answers whether there was anything. A page that is being handed over is waited
   * for, so that the projectors can be told to forget it; what arrives at D1 later finds the subscription marked.
   */
  erase(organizationId: OrganizationId): Promise<boolean> {
    return this.#alone(async () => {
      const account = this.#store.account();
      if (account?.organizationId !== organizationId) return false;
      await markErased(this.env, organizationId, account.subscription.id, Date.now());
      return this.ctx.blockConcurrencyWhile(async () => {
        if (this.#store.account()?.organizationId !== organizationId) return false;
        await this.ctx.storage.deleteAlarm();
        await this.ctx.storage.deleteAll();
        this.#opened = null;
        const atMs = Date.now();
        this.#store.erasure = { organizationId, atMs, heldUntilMs: atMs + ERASURE_MS_MAX };
        await this.#store.load();
        return true;
      });
    });
  }

  erasedAt(organizationId: OrganizationId): number | null {
    const { erasure } = this.#store;
    return erasure?.organizationId === organizationId ? erasure.atMs : null;
  }

  erasureDone(organizationId: OrganizationId): void {
    const { erasure } = this.#store;
    if (erasure?.organizationId !== organizationId) return;
    this.#store.erasure = { ...erasure, heldUntilMs: 0 };
    this.#handOverSoon();
  }

  override alarm(): Promise<void> {
    return runAlarm(this.ctx, async () => {
      const awaited = await this.#alone(() => doAlarmWork(this.#context(), this.env, this.ctx.storage));
      // Nothing else waits for vendors.
      await Promise.all(awaited.map((figures) => this.#askFor(figures)));
    });
  }

  async #askFor(awaited: AwaitedFigures): Promise<void> {
    const { callId, text } = awaited;
    const organizationId = this.#store.account()?.organizationId;
    if (organizationId === undefined) return;
    try {
      const figures = await fetchFigures(this.env, organizationId, text, (work) => this.ctx.waitUntil(work));
      // The customer may have been erased meanwhile.
      takeFigures(this.#context(), awaited, figures);
    } catch (error) {
      log('warn', 'figures_delayed', { callId }, error);
    }
  }

  get #store(): CustomerStore {
    this.#opened ??= new CustomerStore(this.ctx.storage, () => this.#handOverSoon());
    return this.#opened;
  }

  /** What changes while a page is on its way waits until it is taken: then the next delay begins. */
  #handOverSoon(): void {
    this.#hasNewChanges = true;
    if (this.#isToHandOver) return;
    this.#isToHandOver = true;
    setTimeout(() => {
      // Whatever fails that nobody foresaw, the alarm stands behind the timer.
      this.#alone(() => this.#handOver()).catch((error) => log('error', 'hand_over_broke', {}, error));
    }, HAND_OVER_DELAY_MS);
  }

  async #handOver(): Promise<void> {
    const { store, objectId, reports, nowMs } = this.#context();
    let more = false;
    try {
      debit(store, reports, nowMs);
      // What the charges changed goes with the rest.
      this.#hasNewChanges = false;
      more = (await handOver({ store, env: this.env, objectId, now: Date.now, isTimer: true })).more;
    } finally {
      this.#isToHandOver = false;
    }
    if (more || this.#hasNewChanges) this.#handOverSoon();
    // The end of an open call follows, and forgets what was handed over without a transaction of its own.
    else if (Date.now() - this.#openedAtMs < OPENED_JUST_NOW_MS && !store.hasOpenCalls()) store.rest(Date.now());
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#work.then(work, work);
    this.#work = done;
    return done;
  }

  #context(): Context {
    return {
      store: this.#store,
      objectId: this.#objectId,
      deadlineSeconds: { standard: this.env.CALL_DEADLINE_SECONDS, batch: this.env.BATCH_CALL_DEADLINE_SECONDS },
      reports: reportsCharges(this.env),
      nowMs: Date.now(),
      newId: () => crypto.randomUUID(),
    };
  }
}
