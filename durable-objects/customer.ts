/**
 * class Customer: one object per customer of an organization, the single writer of everything about that customer.
 *
 * A thin RPC face: each method takes the time and hands over to a command, which runs in one synchronous transaction.
 * The alarm does what is due without a request, and never lets an error drop it.
 */
import { DurableObject } from 'cloudflare:workers';
import type { BeginCallData, EndCallData } from '../src/contract/calls.ts';
import type { ChangePlanData, CustomerUsageData, ProvisionCustomerData } from '../src/contract/customers.ts';
import type { Answer } from '../src/contract/errors.ts';
import type { OperatorCustomer } from '../src/contract/operator.ts';
import type { Call } from '../src/domain/call.ts';
import type { Env } from '../src/env.ts';
import * as commands from './customer/commands.ts';
import { deliver } from './customer/outbox.ts';
import type {
  BeginCommand,
  ChangePlanCommand,
  EndCommand,
  ProvisionCommand,
  ReadUsageCommand,
  ReplenishCommand,
  SetCanceledCommand,
} from './customer/protocol.ts';
import { CustomerStore } from './customer/store.ts';

/** After an alarm that failed in a way nobody foresaw. */
const RETRY_MS = 30_000;

export class Customer extends DurableObject<Env> {
  readonly #store: CustomerStore;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new CustomerStore(ctx.storage);
    void ctx.blockConcurrencyWhile(() => this.#store.load());
  }

  begin(command: BeginCommand): Answer<BeginCallData> {
    return commands.begin(this.#context(), command);
  }

  void(organizationId: string, callId: string): void {
    commands.voidCall(this.#context(), organizationId, callId);
  }

  end(command: EndCommand): Answer<EndCallData> {
    return commands.end(this.#context(), command);
  }

  provision(command: ProvisionCommand): Answer<ProvisionCustomerData> {
    return commands.provision(this.#context(), command);
  }

  switchPlan(command: ChangePlanCommand): Answer<ChangePlanData> {
    return commands.switchPlan(this.#context(), command);
  }

  replenish(command: ReplenishCommand): Answer<ChangePlanData> {
    return commands.replenish(this.#context(), command);
  }

  readUsage(command: ReadUsageCommand): Answer<CustomerUsageData> {
    return commands.readUsage(this.#context(), command);
  }

  readCall(organizationId: string, callId: string): Call | null {
    return commands.readCall(this.#context(), organizationId, callId);
  }

  setCanceled(command: SetCanceledCommand): Answer<CustomerUsageData> {
    return commands.cancelOrReactivate(this.#context(), command);
  }

  inspect(command: ReadUsageCommand): Answer<OperatorCustomer> {
    return commands.inspect(this.#context(), command);
  }

  override async alarm(): Promise<void> {
    this.#store.alarmFired();
    try {
      commands.housekeep(this.#context());
      await deliver({ store: this.#store, db: this.env.DB, kv: this.env.KV, objectId: this.ctx.id.toString(), now: Date.now });
    } catch (error) {
      console.error(JSON.stringify({ event: 'alarm_failed', objectId: this.ctx.id.toString(), error: String(error) }));
      await this.ctx.storage.setAlarm(Date.now() + RETRY_MS);
    }
  }

  #context(): commands.Context {
    return {
      store: this.#store,
      objectId: this.ctx.id.toString(),
      deadlineSeconds: { standard: this.env.CALL_DEADLINE_SECONDS, batch: this.env.BATCH_CALL_DEADLINE_SECONDS },
      nowMs: Date.now(),
      newId: () => crypto.randomUUID(),
    };
  }
}
