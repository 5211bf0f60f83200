/**
 * Commands to a customer's object, and their results. Everything here crosses an RPC boundary: plain data, no classes.
 *
 * Each command names the organization, because a derived call id routes to an object without naming it.
 */

import type { BeginCallData, EndCallData } from '../contract/calls.ts';
import type { CompressPromptRequest } from '../contract/compression.ts';
import type { CustomerState } from '../contract/entitlements.ts';
import type { Accepted, Refused } from '../contract/errors.ts';
import type { KeyLimits } from '../contract/key-limits.ts';
import type { Left } from '../contract/limit-headers.ts';
import type { RefusalTo } from '../contract/operations.ts';
import type { OperatorCustomer } from '../contract/operator-customers.ts';
import type { Account, ChangeStrategy, Contact } from '../domain/account.ts';
import type { CallBound } from '../domain/bound.ts';
import type { BeginRequest, Call, CallStatus } from '../domain/call.ts';
import type { CallReport } from '../domain/call-report.ts';
import type { NewPrices } from '../domain/correct-call.ts';
import type { IncrementRequest, MeterEvent } from '../domain/custom-meter.ts';
import type { OpenWork } from '../domain/denial.ts';
import type { MoneySums } from '../domain/denial-sums.ts';
import type { Entitlements } from '../domain/entitlements.ts';
import type { CallId, CustomerId, CustomerKey, OrganizationId } from '../domain/ids.ts';
import type { LedgerFilter } from '../domain/ledger-rows.ts';
import type { Estimate, LostAttempt } from '../domain/lost-call.ts';
import type { Alerts, PlanVersion } from '../domain/plan.ts';
import type { ResolvedPrice } from '../domain/pricing.ts';
import type { Tier } from '../domain/tiers.ts';
import type { CreditUnit, LedgerEntry } from '../domain/wallet.ts';
import type { HourColumn } from './series-hours.ts';

/**
 * The call's key: the caller's own, a hash of the key of a browser's session, a hash of the request from which the
 * object makes one, or the name of a request that is a call of its own.
 */
export type CallKey =
  | { source: 'explicit'; callId: CallId; claimedAtMs: number }
  | { source: 'session'; hash: string }
  | { source: 'derived'; hash: string }
  | { source: 'request'; requestId: string };

/** What the catalog knows of the first model that a tier is mapped to. */
export interface TierHints {
  preferredModel: string;
  maxInputTokens?: number;
  maxResponseTokens?: number;
}

/** What a customer who was never seen starts with. */
export interface Provisioning extends CustomerKey {
  /**
   * The organization's default plan, a `PlanVersion` as JSON that only the command of a new customer parses. Without a
   * plan no customer is created.
   */
  defaultPlan: string | null;
  /** Its id at Stripe is one that the organization has (`history/stripe-customers.ts`). */
  contact: Contact;
  /** The id at Stripe that a begin names. It is claimed if the customer is new, and counts for no other. */
  namedStripeCustomerId?: string | undefined;
  /** What the organization wants to be told of where a plan says nothing; `null` is nothing of its own. */
  alerts: Alerts | null;
}

export interface BeginCommand extends Provisioning {
  key: CallKey;
  fingerprint: string;
  request: BeginRequest;
  models?: CustomerState['models'];
  tierHints: Partial<Record<Tier, TierHints>>;
  /** How long the call may take, where that is known better than by its pricing mode. */
  deadlineMs?: number;
  /** `API` where the service makes the call itself. */
  callType: NonNullable<BeginCallData['callType']>;
  /** Of the models that may run, in their order, where they are known. */
  bounds?: CallBound[];
  /** The prompt of each bound, as its vendor may have counted it before; `null` if nothing can be known of it. */
  prompts?: (PromptBeginnings | null)[] | undefined;
  /** A call that only waits for holds of others is refused, and nothing is recorded of it: its request is repeated. */
  refusesHeld?: boolean;
  /** The vendors have counted the prompts of the bounds that are `countable`, or could not: nobody is asked again. */
  counted?: boolean;
}

/**
 * Beginnings of a prompt, up to the whole of it: the digest of each, and the most tokens that the whole prompt has more than
 * its vendor counted for that beginning.
 */
export type PromptBeginnings = readonly (readonly [digest: string, moreTokens: number])[];

/** The digest of a prompt, and the tokens that its vendor counted for it, from its cache and not. */
export type CountedPrompt = readonly [digest: string, tokens: number];

/** The begin of a call that the service makes itself. */
export interface BeginServiceCallCommand extends BeginCommand {
  /** Whether the whole answer is wanted. */
  wantsAnswer: boolean;
  /** What requests of the browser's session are counted under; absent for a backend. */
  session?: string | undefined;
}

/** What has to be known of a call in order to make it. */
export interface Admission extends Pick<BeginCallData, 'callId' | 'canceled' | 'entitlementHints' | 'denial'> {
  allowed: Entitlements;
  /** Output tokens that a call of each tier must stay within, of all answers together. */
  outputTokens: Partial<Record<Tier, number>>;
  /** Of each bound, the most tokens of its prompt by what the vendor counted before; absent if nothing is known of any. */
  promptTokens?: (number | null)[];
  /** Web searches that it must stay within; absent if nothing limits them. */
  searches?: number;
  /** Present where credit pays: for which tiers, and how much of the output is held where it is held in steps. */
  credit?: { tiers: Tier[]; heldTokens?: number };
  /** What is left after it; absent of a replay. */
  left?: Left;
}

/** The part of an answer that goes to the caller of an operation. */
export type AnswerBody<Data> = Pick<Accepted<Data>, 'result' | 'data'>;

/** A begin of which nothing was recorded. It has `BALANCE_HELD` only if it `refusesHeld`. */
export interface RefusedBegin extends Refused<RefusalTo<'beginCall'> | 'BALANCE_HELD'> {
  /** The call may pass once the vendors have counted its prompt: it is begun again, as `counted`. */
  countFirst?: true;
  /** The customer is new: the id at Stripe that the begin names is claimed, and it is begun again. */
  claimFirst?: true;
}

/** The result of beginning a service call. Plain JSON. */
export type ServiceCallBegin =
  | RefusedBegin
  | {
      ok: true;
      replayed: boolean;
      status: CallStatus;
      admission: Admission;
      /** Where it was wanted. */
      answer: AnswerBody<BeginCallData> | null;
      /** Of a replayed begin whose call has ended: a `StoredServiceCall` as JSON. */
      stored: string | null;
    };

/** What retries of a finished service call are answered from. */
export interface StoredServiceCall {
  endedAtMs: number;
  end: EndCallData;
  /** What the service answered, in a form of its own choice. */
  response: unknown;
}

export interface EndCommand {
  organizationId: OrganizationId;
  callId: CallId;
  idempotencyKey: string | null;
  fingerprint: string;
  report: CallReport;
  price: ResolvedPrice;
  /** Of the API key that reports the end. */
  limits?: KeyLimits | undefined;
}

/** The end of a call that the service made itself. */
export interface EndServiceCallCommand extends Pick<EndCommand, 'organizationId' | 'callId' | 'report' | 'price'> {
  /** Where the vendor was asked and reported no usage. */
  estimate?: Estimate | undefined;
  /** Earlier attempts whose vendors may have done the work, and reported no usage. */
  lost?: readonly LostAttempt[] | undefined;
  /**
   * What the vendor is to be asked for the figures that it did not report (`AwaitedResponse` of `gateway/late-figures.ts`, as
   * text).
   */
  awaited?: string | undefined;
  /** What the vendor counted, for later prompts that begin alike. */
  counted?: readonly CountedPrompt[] | undefined;
  /** Plain JSON to store with the end, for retries of the request that the call was made for. */
  response?: unknown;
  /** Whether the whole answer is wanted. */
  wantsAnswer: boolean;
}

/** The end of a call by figures that came after it was ended without them. */
export type LateFigures = Omit<EndServiceCallCommand, 'callId'>;

/** The result of ending a service call. Plain JSON. */
export type ServiceCallEnd =
  | Refused<RefusalTo<'endCall'>>
  | {
      ok: true;
      /** `null` where it is not known. */
      costNanoUsd: string | null;
      /** Where it was wanted. */
      answer: AnswerBody<EndCallData> | null;
      left: Left;
    };

/** An open call wants to hold more output tokens on credit. */
export interface ExtendHoldCommand {
  organizationId: OrganizationId;
  callId: CallId;
  /** In all. */
  outputTokens: number;
}

/** The output tokens that are held now, in all; fewer than were wanted where the balance does not suffice. */
export interface ExtendedHold {
  heldTokens: number;
  /** When a call or batch of the customer was last refused for want of credit; `null` if the object remembers none. */
  creditRefusedAtMs: number | null;
}

export interface ProvisionCommand extends Provisioning {
  idempotencyKey: string | null;
  fingerprint: string;
  models?: CustomerState['models'];
}

export interface ReadUsageCommand {
  organizationId: OrganizationId;
  models?: CustomerState['models'];
}

export interface SetCanceledCommand extends ReadUsageCommand {
  canceled: boolean;
}

export interface ChangePlanCommand extends ReadUsageCommand {
  target: PlanVersion;
  /** The plan takes no new subscriptions: only those who have it may ask for it. */
  isArchived: boolean;
  strategy: ChangeStrategy;
  idempotencyKey: string | null;
  fingerprint: string;
}

export interface ReplenishCommand extends ReadUsageCommand {
  idempotencyKey: string | null;
  fingerprint: string;
}

export interface IncrementCommand {
  organizationId: OrganizationId;
  /** Of the event to record. The same command sent again has the same id. */
  eventId: string;
  request: IncrementRequest;
  idempotencyKey: string | null;
  fingerprint: string;
}

export interface CompressPromptCommand {
  organizationId: OrganizationId;
  callId: CallId;
  /** The customer of a browser's session, whose call it has to be. `null` for a backend, which may name any call. */
  customerId: CustomerId | null;
  compression: CompressPromptRequest['promptCompression'];
  /** Of the API key that reports it. */
  limits: KeyLimits | undefined;
  idempotencyKey: string | null;
  fingerprint: string;
}

export interface GrantCommand {
  organizationId: OrganizationId;
  unit: CreditUnit;
  /** Decimal nano-USD, or units. */
  amount: string;
  expiresAtMs: number | null;
  reference: string | null;
  idempotencyKey: string | null;
  fingerprint: string;
}

/** What of a page of the ledger D1 does not have yet. */
export interface LedgerCommand {
  organizationId: OrganizationId;
  filter: LedgerFilter;
  /** The entries of the page lie between these, both exclusive. */
  afterId: number;
  beforeId: number;
  /** Those of them that D1 has. */
  known: number[];
  rowsMax: number;
}

export interface RevokeCommand {
  organizationId: OrganizationId;
  creditId: string;
  reason: string;
  /** What D1 has of a credit that the object has no entry of any more. */
  old: LedgerEntry | null;
}

/** A correction of something that was recorded by mistake. */
interface CorrectCommand {
  organizationId: OrganizationId;
  reason: string;
  by: string;
  /** Of the API key that corrects; absent for the operator. */
  limits?: KeyLimits | undefined;
}

export interface ReverseCallCommand extends CorrectCommand {
  callId: CallId;
  /** What D1 has of a call that the object has removed. */
  old: Call | null;
}

export interface AmendCallCommand extends ReverseCallCommand {
  /** All that the call reports with the amendment. */
  report: CallReport;
  /** Outcomes that the call had when the report was made from the last of them. */
  outcomes: number;
  price: ResolvedPrice;
  idempotencyKey: string | null;
  /** Of the amendment, without its reason. */
  fingerprint: string;
}

/** Calls of one customer that lacked a price, with the price of the day on which each ended. */
export interface RepriceCallsCommand {
  organizationId: OrganizationId;
  jobId: string;
  reason: string;
  by: string;
  /** `old`: what D1 has of the call, which the object may have removed. */
  calls: (NewPrices & { callId: CallId; old: Call })[];
}

/** How many of the calls have a price by the job now, and what they cost. */
export interface Repriced {
  repriced: number;
  /** Decimal nano-USD. */
  differenceNanoUsd: string;
}

export interface ReverseMeterEventCommand extends CorrectCommand {
  eventId: string;
  /** What D1 has of the event, which the object may have removed. */
  old: MeterEvent | null;
}

export interface MigrateCommand {
  organizationId: OrganizationId;
  target: PlanVersion;
  when: 'NOW' | 'AT_NEXT_REPLENISH';
}

/** A customer as its object knows it; what waits at the projectors is not in it. */
export type InspectedCustomer = Omit<OperatorCustomer, 'outbox'> & {
  outbox: Omit<OperatorCustomer['outbox'], 'setAside'>;
};

/** What a reading needs of a customer's hours: columns of all of them, and of the recent ones. */
export interface HistoryCommand {
  organizationId: OrganizationId;
  /** Columns of the custom meters that the plan has enabled are always included. */
  columns: readonly HourColumn[];
  recentColumns: readonly HourColumn[];
}

/** What readings of a customer are computed from. */
export interface CustomerHistory {
  account: Account;
  /** As the wire has it. */
  subscription: CustomerState['subscription'];
  /**
   * For `parseHours`: columns of all hours that the object has, and columns of those since the last two weeks or the
   * period began.
   */
  hoursJson: string;
  recentHoursJson: string;
  /** USD that was taken from the balance in the latest seven completed UTC days. */
  chargedLatestWeekUsd: number;
  /** Decimal nano-USD that a call on credit usually needs; `0` where the plan is not pay-as-you-go. */
  usualChargeNanoUsd: string;
  /** The latest call of the usage period that credit did not cover; `null` if none is known, or the plan is another one. */
  refused: RefusedCall | null;
}

/** A call that credit did not cover, with the sums of that moment. */
export interface RefusedCall {
  atMs: number;
  money: MoneySums;
  open: OpenWork | undefined;
}
