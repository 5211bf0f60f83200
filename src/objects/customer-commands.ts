/**
 * Commands to a customer's object, and their results. Everything here crosses an RPC boundary: plain data, no classes.
 *
 * Each command names the organization, because a derived call id routes to an object without naming it.
 */

import type { BeginCallData, EndCallData } from '../contract/calls.ts';
import type { CompressPromptRequest } from '../contract/compression.ts';
import type { CustomerState } from '../contract/entitlements.ts';
import type { Accepted, CallFigures, Refused } from '../contract/errors.ts';
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

/** The catalog's facts about the first model that a tier is mapped to. */
export interface TierHints {
  preferredModel: string;
  maxInputTokens?: number;
  maxResponseTokens?: number;
}

/** The initial data of a new customer. */
export interface Provisioning extends CustomerKey {
  /**
   * The organization's default plan, a `PlanVersion` as JSON that only the command of a new customer parses. Without a
   * plan no customer is created.
   */
  defaultPlan: string | null;
  /** Its id at Stripe belongs to the organization (`history/stripe-customers.ts`). */
  contact: Contact;
  /** The id at Stripe that a begin names. It is claimed if the customer is new, and counts for no other. */
  namedStripeCustomerId?: string | undefined;
  /** The organization's alerts for plans that set none; `null` if it has none of its own. */
  alerts: Alerts | null;
}

export interface BeginCommand extends Provisioning {
  key: CallKey;
  fingerprint: string;
  request: BeginRequest;
  models?: CustomerState['models'];
  tierHints: Partial<Record<Tier, TierHints>>;
  /** How long the call may take, if that is known better than by its pricing mode. */
  deadlineMs?: number;
  /** `API` if the service makes the call itself. */
  callType: NonNullable<BeginCallData['callType']>;
  /** The bounds of the models that may run, in their order, if they are known. */
  bounds?: CallBound[];
  /** The prompt of each bound, whose beginning its vendor may have counted; `null` if nothing can be known of it. */
  prompts?: (PromptBeginnings | null)[] | undefined;
  /** A call that only waits for holds of others is refused without a record: its request will be repeated. */
  refusesHeld?: boolean;
  /**
   * The vendors have counted the prompts of the bounds that are `countable`, or could not: they are not asked again.
   */
  counted?: boolean;
}

/**
 * Beginnings of a prompt, up to the whole of it: the digest of each, and the most tokens by which the whole prompt
 * exceeds the vendor's count of that beginning.
 */
export type PromptBeginnings = readonly (readonly [digest: string, moreTokens: number])[];

/** The digest of a prompt, and the tokens that its vendor counted for it, cached and uncached. */
export type CountedPrompt = readonly [digest: string, tokens: number];

/** The begin of a call that the service makes itself. */
export interface BeginServiceCallCommand extends BeginCommand {
  /** Whether the caller needs the whole answer. */
  wantsAnswer: boolean;
  /** The name under which requests of the browser's session are counted; absent for a backend. */
  session?: string | undefined;
}

/** The facts of a call that are needed to make it. */
export interface Admission extends Pick<BeginCallData, 'callId' | 'canceled' | 'entitlementHints' | 'denial'> {
  allowed: Entitlements;
  /** The output tokens, of all answers together, within which a call of each tier must stay. */
  outputTokens: Partial<Record<Tier, number>>;
  /** For each bound, the most tokens of its prompt by the vendor's earlier count; absent if no count is known. */
  promptTokens?: (number | null)[];
  /** The web searches within which it must stay; absent if nothing limits them. */
  searches?: number;
  /** Present if credit pays: the tiers, and the output that is held if it is held in steps. */
  credit?: { tiers: Tier[]; heldTokens?: number };
  /** The remaining limits after it; absent for a replay. */
  left?: Left;
}

/** The part of an answer that reaches the caller of an operation. */
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
      /** Set if the answer was wanted. */
      answer: AnswerBody<BeginCallData> | null;
      /** For a replayed begin whose call has ended: a `StoredServiceCall` as JSON. */
      stored: string | null;
      /** Set instead if that gave way to later answers of the customer. */
      gaveWay: CallFigures | null;
    };

/** The stored data that answer retries of a finished service call. */
export interface StoredServiceCall {
  endedAtMs: number;
  end: EndCallData;
  /** The service's answer, in a form of its own choice. */
  response: unknown;
}

export interface EndCommand {
  organizationId: OrganizationId;
  callId: CallId;
  idempotencyKey: string | null;
  fingerprint: string;
  report: CallReport;
  price: ResolvedPrice;
  /** The limits of the API key that reports the end. */
  limits?: KeyLimits | undefined;
}

/** The end of a call that the service made itself. */
export interface EndServiceCallCommand extends Pick<EndCommand, 'organizationId' | 'callId' | 'report' | 'price'> {
  /** Set if the vendor was asked and reported no usage. */
  estimate?: Estimate | undefined;
  /** Earlier attempts whose vendors may have done the work, and reported no usage. */
  lost?: readonly LostAttempt[] | undefined;
  /**
   * The question to the vendor for the figures that it did not report (`AwaitedResponse` of `gateway/late-figures.ts`,
   * as text).
   */
  awaited?: string | undefined;
  /** The vendor's counts, for later prompts that begin alike. */
  counted?: readonly CountedPrompt[] | undefined;
  /** Plain JSON to store with the end, for retries of the request for which the call was made. */
  response?: unknown;
  /** Whether the caller needs the whole answer. */
  wantsAnswer: boolean;
}

/** The end of a call with figures that arrived after it was ended without them. */
export type LateFigures = Omit<EndServiceCallCommand, 'callId'>;

/** The result of ending a service call. Plain JSON. */
export type ServiceCallEnd =
  | Refused<RefusalTo<'endCall'>>
  | {
      ok: true;
      /** `null` if it is not known. */
      costNanoUsd: string | null;
      /** Set if the answer was wanted. */
      answer: AnswerBody<EndCallData> | null;
      left: Left;
    };

/** The request of an open call to hold more output tokens on credit. */
export interface ExtendHoldCommand {
  organizationId: OrganizationId;
  callId: CallId;
  /** The total, including held ones. */
  outputTokens: number;
}

/** The output tokens that are held now, in all; fewer than requested if the balance does not suffice. */
export interface ExtendedHold {
  heldTokens: number;
  /**
   * The time at which a call or batch of the customer was last refused for lack of credit; `null` if the object
   * remembers none.
   */
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
  /** The plan takes no new subscriptions: only its present customers may ask for it. */
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
  /** The id of the event to record. A repeated command has the same id. */
  eventId: string;
  request: IncrementRequest;
  idempotencyKey: string | null;
  fingerprint: string;
}

export interface CompressPromptCommand {
  organizationId: OrganizationId;
  callId: CallId;
  /** The customer of a browser's session, who has to own the call. `null` for a backend, which may name any call. */
  customerId: CustomerId | null;
  compression: CompressPromptRequest['promptCompression'];
  /** D1's record of a call of which the object has only what retries need. */
  old: Call | null;
  /** The limits of the API key that reports it. */
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

/** The part of a ledger page that D1 does not have yet. */
export interface LedgerCommand {
  organizationId: OrganizationId;
  filter: LedgerFilter;
  /** The entries of the page lie between these, both exclusive. */
  afterId: number;
  beforeId: number;
  /** The entries among them that D1 has. */
  known: number[];
  rowsMax: number;
}

export interface RevokeCommand {
  organizationId: OrganizationId;
  creditId: string;
  reason: string;
  /** D1's entry of a credit whose entries the object no longer has. */
  old: LedgerEntry | null;
}

/** A correction of a record that was made by mistake. */
interface CorrectCommand {
  organizationId: OrganizationId;
  reason: string;
  by: string;
  /** The limits of the API key that corrects; absent for the operator. */
  limits?: KeyLimits | undefined;
}

export interface ReverseCallCommand extends CorrectCommand {
  callId: CallId;
  /** D1's record of a call that the object has removed. */
  old: Call | null;
}

export interface AmendCallCommand extends ReverseCallCommand {
  /** The whole report of the call, with the amendment. */
  report: CallReport;
  /** The number of outcomes that the call had when the report was made from the last one. */
  outcomes: number;
  price: ResolvedPrice;
  idempotencyKey: string | null;
  /** The fingerprint of the amendment, without its reason. */
  fingerprint: string;
}

/** Calls of one customer that lacked a price, with the price of the day on which each ended. */
export interface RepriceCallsCommand {
  organizationId: OrganizationId;
  jobId: string;
  reason: string;
  by: string;
  /** `old`: D1's record of the call, which the object may have removed. */
  calls: (NewPrices & { callId: CallId; old: Call })[];
}

/** The number of the calls that got a price from the job, and their cost. */
export interface Repriced {
  repriced: number;
  /** Decimal nano-USD. */
  differenceNanoUsd: string;
}

export interface ReverseMeterEventCommand extends CorrectCommand {
  eventId: string;
  /** D1's record of the event, which the object may have removed. */
  old: MeterEvent | null;
}

export interface MigrateCommand {
  organizationId: OrganizationId;
  target: PlanVersion;
  when: 'NOW' | 'AT_NEXT_REPLENISH';
}

/** A customer in the object's view; changes that wait at the projectors are not included. */
export type InspectedCustomer = Omit<OperatorCustomer, 'outbox'> & {
  outbox: Omit<OperatorCustomer['outbox'], 'setAside'>;
};

/** The part of a customer's hours that a reading needs: columns of all hours, and of the recent ones. */
export interface HistoryCommand {
  organizationId: OrganizationId;
  /** Columns of the custom meters that the plan has enabled are always included. */
  columns: readonly HourColumn[];
  recentColumns: readonly HourColumn[];
}

/** The data from which a customer's readings are computed. */
export interface CustomerHistory {
  account: Account;
  /** The subscription in the form of the wire. */
  subscription: CustomerState['subscription'];
  /**
   * For `parseHours`: columns of all hours in the object, and columns of the hours since the beginning of the last two
   * weeks or of the period.
   */
  hoursJson: string;
  recentHoursJson: string;
  /** USD that was taken from the balance in the latest seven completed UTC days. */
  chargedLatestWeekUsd: number;
  /** Decimal nano-USD of the usual charge of a call on credit; `0` if the plan is not pay-as-you-go. */
  usualChargeNanoUsd: string;
  /**
   * The latest call of the usage period that credit did not cover; `null` if none is known, or if the plan has changed
   * since.
   */
  refused: RefusedCall | null;
}

/** A call that credit did not cover, with the amounts of that moment. */
export interface RefusedCall {
  atMs: number;
  money: MoneySums;
  open: OpenWork | undefined;
}
