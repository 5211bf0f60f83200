/**
 * The methods of each class of Durable Objects, as the Worker calls them. The classes themselves (durable-objects/)
 * implement these interfaces, so that the Worker knows what an object answers without importing it.
 */
import type { OwnPrices } from '../catalog/prices.ts';
import type { CompressionJob, CompressPromptData } from '../contract/compression.ts';
import type { ChangePlanData, CustomerUsageData, ProvisionCustomerData } from '../contract/customers.ts';
import type { Answer, SentAnswer } from '../contract/errors.ts';
import type { GrantedCredit, OperatorCustomer, PlanMigration } from '../contract/operator-customers.ts';
import type { Call } from '../domain/call.ts';
import type { BatchAnswer, BatchCommand, BatchToAdmit, Lines } from './batch-commands.ts';
import type {
  BeginCommand,
  ChangePlanCommand,
  CompressPromptCommand,
  CustomerHistory,
  CustomerSetAside,
  FinishCommand,
  FinishedCall,
  GrantCommand,
  HistoryCommand,
  ListSetAsideCommand,
  MigrateCommand,
  ProvisionCommand,
  ReadUsageCommand,
  ReplenishCommand,
  SetCanceledCommand,
  SharedCommand,
} from './customer-commands.ts';
import type { Claim, EstimateCommand, MigrationCommand } from './job-commands.ts';

type Awaitable<Value> = Value | Promise<Value>;

/** One object per customer of an organization. */
export interface CustomerRpc extends Rpc.DurableObjectBranded {
  begin(command: string): Awaitable<SentAnswer>;
  end(command: string): Awaitable<SentAnswer>;
  void(organizationId: string, callId: string): void;
  open(command: string): Awaitable<string>;
  finish(command: string): Awaitable<string>;
  runAll(commands: readonly SharedCommand[]): Promise<(string | null)[]>;
  record(command: BeginCommand, end: Omit<FinishCommand, 'callId'>): FinishedCall;
  provision(command: ProvisionCommand): Answer<ProvisionCustomerData>;
  switchPlan(command: ChangePlanCommand): Answer<ChangePlanData>;
  replenish(command: ReplenishCommand): Answer<ChangePlanData>;
  migrate(command: MigrateCommand): boolean;
  increment(command: string): Awaitable<SentAnswer>;
  compressPrompt(command: CompressPromptCommand): Answer<CompressPromptData>;
  isOutOfCredit(organizationId: string): boolean;
  grant(command: GrantCommand): Answer<GrantedCredit>;
  readUsage(command: ReadUsageCommand): Answer<CustomerUsageData>;
  readHistory(command: HistoryCommand): CustomerHistory | null;
  readCall(organizationId: string, callId: string): Call | null;
  setCanceled(command: SetCanceledCommand): Answer<CustomerUsageData>;
  inspect(command: ReadUsageCommand): Answer<OperatorCustomer>;
  listSetAside(command: ListSetAsideCommand): CustomerSetAside | null;
  resendSetAside(organizationId: string): number;
  /** Erases the customer. Answers whether there was anything. */
  erase(organizationId: string): Promise<boolean>;
}

/** One shard of an organization's directory: which customer owns a call id. */
export interface CallDirectoryRpc extends Rpc.DurableObjectBranded {
  claim(callId: string, customerId: string, token: string): Awaitable<Claim>;
  confirm(callId: string, customerId: string): string;
  release(callId: string, token: string): void;
  forget(customerId: string): number;
  find(callId: string): string | null;
}

/** One object per request for a batch, and one per customer that knows the customer's requests. */
export interface GatewayBatchRpc extends Rpc.DurableObjectBranded {
  create(command: BatchCommand): Promise<BatchAnswer>;
  hurry(): Promise<void>;
  erase(): Promise<void>;
  hold(batch: BatchToAdmit & { organizationId: string }): Promise<BatchAnswer | null>;
  settle(requestName: string, lines: Lines | null): Promise<void>;
  forget(requestName: string): Promise<void>;
  eraseRequests(organizationId: string): Promise<{ erased: number; more: boolean }>;
}

/** One object per job that moves subscriptions to a version of their plan. */
export interface PlanMigrationRpc extends Rpc.DurableObjectBranded {
  start(migration: MigrationCommand): Promise<void>;
  read(organizationId: string): Promise<PlanMigration | null>;
}

/** One object per job that estimates what a compression profile would have saved. */
export interface CompressionJobRpc extends Rpc.DurableObjectBranded {
  start(
    job: EstimateCommand,
    prices: OwnPrices,
    total: number,
  ): Promise<{ status: CompressionJob['status']; replayed: boolean } | null>;
  read(organizationId: string): Promise<CompressionJob | null>;
}
