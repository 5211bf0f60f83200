/**
 * The methods of each class of Durable Objects, as the Worker calls them. The classes themselves (durable-objects/)
 * implement these interfaces, so that the Worker knows the answers of an object without importing it.
 */

import type { OwnPrices } from '../catalog/prices.ts';
import type { CompressionJob } from '../contract/compression.ts';
import type { Repricing as RepricingProgress } from '../contract/corrections.ts';
import type { CustomerUsageData } from '../contract/customers.ts';
import type { Answer, Result, SerializedAnswer } from '../contract/errors.ts';
import type { AnswerTo } from '../contract/operations.ts';
import type { PlanMigration } from '../contract/operator-customers.ts';
import type { Call } from '../domain/call.ts';
import type { CallId, CustomerId, CustomerKey, OrganizationId } from '../domain/ids.ts';
import type { LedgerRow } from '../domain/ledger-rows.ts';
import type { WebhookKey } from '../domain/webhook-delivery.ts';
import type {
  BatchAdmission,
  BatchAnswer,
  BatchCommand,
  BatchLine,
  EndBatchCommand,
  HoldBatchCommand,
} from './batch-commands.ts';
import type { CommandText } from './command-text.ts';
import type {
  AmendCallCommand,
  BeginCommand,
  BeginServiceCallCommand,
  ChangePlanCommand,
  CompressPromptCommand,
  CustomerHistory,
  EndCommand,
  EndServiceCallCommand,
  ExtendedHold,
  ExtendHoldCommand,
  GrantCommand,
  HistoryCommand,
  IncrementCommand,
  InspectedCustomer,
  LedgerCommand,
  MigrateCommand,
  ProvisionCommand,
  ReadUsageCommand,
  RefusedBegin,
  ReplenishCommand,
  RepriceCallsCommand,
  Repriced,
  ReverseCallCommand,
  ReverseMeterEventCommand,
  RevokeCommand,
  ServiceCallEnd,
  SetCanceledCommand,
} from './customer-commands.ts';
import type { Claim, EstimateCommand, MigrationCommand, RepricingCommand } from './job-commands.ts';
import type { HandOver, ProjectorState, ResentChanges, SetAsideChange, Whose } from './projector-commands.ts';
import type { CronRun, RequestFigures, ServiceFigures } from './service-figures.ts';
import type { DeliveryRow, EndpointState, SentAgain, TestResult } from './webhook-commands.ts';

type Awaitable<Value> = Value | Promise<Value>;

/** One object per customer of an organization. */
export interface CustomerRpc extends Rpc.DurableObjectBranded {
  begin(command: CommandText<BeginCommand>): Awaitable<SerializedAnswer<AnswerTo<'beginCall'>>>;
  end(command: CommandText<EndCommand>): Awaitable<SerializedAnswer<AnswerTo<'endCall'>>>;
  void(organizationId: OrganizationId, callId: CallId): void;
  /** Returns a `ServiceCallBegin` as JSON. */
  beginServiceCall(command: CommandText<BeginServiceCallCommand>): Awaitable<string>;
  /** Returns a `ServiceCallEnd` as JSON. */
  endServiceCall(command: CommandText<EndServiceCallCommand>): Awaitable<string>;
  extendHold(command: CommandText<ExtendHoldCommand>): Awaitable<ExtendedHold>;
  /** Holds the most that a batch may cost, while its lines run at the vendor. */
  holdBatch(command: HoldBatchCommand): BatchAdmission;
  /** Begins and ends the call of a batch's line, which has run already. */
  recordServiceCall(
    begin: BeginCommand,
    end: Omit<EndServiceCallCommand, 'callId'>,
    line: BatchLine,
  ): ServiceCallEnd | RefusedBegin;
  /** Releases what the batch still holds. */
  endBatch(command: EndBatchCommand): void;
  provision(command: ProvisionCommand): AnswerTo<'provisionCustomer'>;
  switchPlan(command: ChangePlanCommand): AnswerTo<'changePlan'>;
  replenish(command: ReplenishCommand): AnswerTo<'replenishCustomer'>;
  migrate(command: MigrateCommand): boolean;
  increment(command: CommandText<IncrementCommand>): Awaitable<SerializedAnswer<AnswerTo<'incrementMeter'>>>;
  /** Counts a request of a browser's session that is free or was refused; `RATE_LIMITED` if there were too many. */
  countSessionRequest(session: string): Result;
  compressPrompt(command: CompressPromptCommand): AnswerTo<'compressPrompt'>;
  isOutOfCredit(organizationId: OrganizationId): boolean;
  grant(command: GrantCommand): AnswerTo<'grantCredit'>;
  /** `null`: the customer does not exist. */
  readLedger(command: LedgerCommand): LedgerRow[] | null;
  /** Credits whose entries only D1 has are not found. */
  revoke(command: RevokeCommand): AnswerTo<'revokeCredit'>;
  /** A call that the object has removed is found if the command contains it. */
  reverseCall(command: ReverseCallCommand): AnswerTo<'reverseCall'>;
  amendCall(command: AmendCallCommand): AnswerTo<'amendCall'>;
  repriceCalls(command: RepriceCallsCommand): Repriced;
  reverseMeterEvent(command: ReverseMeterEventCommand): AnswerTo<'reverseMeterEvent'>;
  /** Removes an id at Stripe from the customer, if the customer has it. */
  releaseStripe(organizationId: OrganizationId, stripeCustomerId: string): void;
  readUsage(command: ReadUsageCommand): Answer<CustomerUsageData, 'CUSTOMER_READY', 'CUSTOMER_NOT_FOUND'>;
  readHistory(command: HistoryCommand): CustomerHistory | null;
  readCall(organizationId: OrganizationId, callId: CallId): Call | null;
  setCanceled(
    command: SetCanceledCommand,
  ): Answer<CustomerUsageData, 'CUSTOMER_CANCELED' | 'CUSTOMER_REACTIVATED', 'CUSTOMER_NOT_FOUND'>;
  inspect(command: ReadUsageCommand): Answer<InspectedCustomer, 'CUSTOMER_READ', 'CUSTOMER_NOT_FOUND'>;
  /** Erases the customer. Answers whether there was anything. */
  erase(organizationId: OrganizationId): Promise<boolean>;
  /** The time of the erasure; `null` if the object does not remember it. */
  erasedAt(organizationId: OrganizationId): number | null;
  /** D1 has no data of the erased customer any more, and accepts later changes. */
  erasureDone(organizationId: OrganizationId): void;
}

/** One shard of an organization's directory, which knows the customer who owns a call id. */
export interface CallDirectoryRpc extends Rpc.DurableObjectBranded {
  claim(callId: CallId, customerId: CustomerId, token: string): Awaitable<Claim>;
  confirm(callId: CallId, customerId: CustomerId): CustomerId;
  release(callId: CallId, token: string): void;
  /** Forgets call ids of an erased customer that were claimed by then. Returns their number. */
  forget(customerId: CustomerId, claimedByMs: number): number;
  find(callId: CallId): CustomerId | null;
  claimedAt(callId: CallId): number | null;
}

/** Some objects per database: they bring the changes of all customers to it. */
export interface ProjectorRpc extends Rpc.DurableObjectBranded {
  /** Stores a page durably. Returns whether the projector is so busy that others should take the next one. */
  take(handOver: HandOver): { isBusy: boolean } | Promise<{ isBusy: boolean }>;
  state(whose: Whose): ProjectorState;
  listSetAside(organizationId: OrganizationId, afterPlace: number, rowsMax: number): SetAsideChange[];
  resendSetAside(organizationId: OrganizationId): ResentChanges;
  /** Adds the counts of an isolate. */
  recordRequests(figures: RequestFigures[]): void;
  recordRun(run: CronRun): void;
  /** The service's figures from an hour on, as far as this projector knows. */
  figures(sinceMs: number): ServiceFigures;
  /** Forgets all changes of a customer. */
  erase(customer: CustomerKey): void;
}

/** One object per webhook: it sends the organization's events to the endpoint. */
export interface WebhookEndpointRpc extends Rpc.DurableObjectBranded {
  /** There may be events to send, or the webhook was changed: sets the alarm. */
  wake(webhook: WebhookKey): void;
  state(): EndpointState;
  /** At most `rowsMax` of the newest deliveries before one. */
  listDeliveries(before: number | null, rowsMax: number): DeliveryRow[];
  /** Sends a test event now; `null` if the webhook is disabled, or gone. */
  sendTest(webhook: WebhookKey): Promise<TestResult | null>;
  /** Sends events after an id and before another again; `false` if too many replays run. */
  replay(webhook: WebhookKey, afterId: string, beforeId: string): boolean;
  /** Sends an event again, even a waiting one, with all attempts available. */
  sendAgain(webhook: WebhookKey, eventId: string): Promise<SentAgain>;
  /** Forgets the endpoint's earlier answers. */
  forgetAnswers(): void;
  /** Forgets a customer's sent and waiting events. */
  erase(customerId: CustomerId): void;
}

/** One object per organization: it finds events that no single customer's object finds, and reports them. */
export interface OrganizationWatchRpc extends Rpc.DurableObjectBranded {
  /** Looks soon if it would not look within the hour; at once if there `isNews`. */
  wake(organizationId: OrganizationId, isNews: boolean): Promise<void>;
  /** Forgets a customer. Returns the number of the customer's waiting events. */
  erase(customerId: CustomerId): Promise<number>;
}

/** One object per request for a batch at a vendor. */
export interface GatewayBatchRpc extends Rpc.DurableObjectBranded {
  /** Begins the batch at the vendor, once; sent again, it returns the result. */
  create(command: BatchCommand): Promise<BatchAnswer>;
  /** Polls the vendor now instead of after the pause. */
  pollNow(): Promise<void>;
  erase(): Promise<void>;
}

/** One object per customer: the names of the customer's requests for batches. */
export interface CustomerBatchesRpc extends Rpc.DurableObjectBranded {
  add(requestName: string): Promise<void>;
  /** Called when the request's object is gone. */
  forget(requestName: string): Promise<void>;
  /** Erases a bounded number of requests. */
  erase(organizationId: OrganizationId): Promise<{ erased: number; more: boolean }>;
}

/** One object per job that moves subscriptions to a version of their plan. */
export interface RepricingRpc extends Rpc.DurableObjectBranded {
  start(command: RepricingCommand): Promise<void>;
  /** `null`: the organization has no such job. */
  read(organizationId: OrganizationId): Promise<RepricingProgress | null>;
}

export interface PlanMigrationRpc extends Rpc.DurableObjectBranded {
  start(migration: MigrationCommand): Promise<void>;
  read(organizationId: OrganizationId): Promise<PlanMigration | null>;
}

/** One object per job that estimates the savings of a compression profile. */
export interface CompressionJobRpc extends Rpc.DurableObjectBranded {
  start(
    job: EstimateCommand,
    prices: OwnPrices,
    total: number,
  ): Promise<{ status: CompressionJob['status']; replayed: boolean } | null>;
  read(organizationId: OrganizationId): Promise<CompressionJob | null>;
}
