/**
 * The begin of a call that the service makes itself: the customer's object decides, and returns the stored result if
 * the request is a retry.
 */

import { inBeginQueue } from '../../admission/begin-queue.ts';
import type { Session } from '../../config/credentials.ts';
import { holderName } from '../../config/session-token.ts';
import type { BeginCallData, BeginCallRequest } from '../../contract/calls.ts';
import type { Accepted, CallFigures } from '../../contract/errors.ts';
import { type CallBound, withKnownPrompts } from '../../domain/bound.ts';
import type { CallStatus } from '../../domain/call.ts';
import type { Capability } from '../../domain/plan.ts';
import type { Tier } from '../../domain/tiers.ts';
import { beginCommand, underKey } from '../../metering/begin-call.ts';
import type { Caller } from '../../metering/caller.ts';
import { explicitKey, sessionKeyHash } from '../../metering/idempotency.ts';
import { withClaimedStripe } from '../../metering/stripe-customers.ts';
import { ask, type CustomerStub, customerByName } from '../../objects/addresses.ts';
import { sendCommand } from '../../objects/command-text.ts';
import type {
  Admission,
  BeginServiceCallCommand,
  CallKey,
  RefusedBegin,
  ServiceCallBegin,
  StoredServiceCall,
} from '../../objects/customer-commands.ts';
import { timeOrderedId } from '../../platform/time-ordered-id.ts';
import type { FollowedPrompt } from './counted-prompts.ts';

/** The facts that `beginServiceCall` needs besides the request. */
export interface ServiceCall {
  request: BeginCallRequest;
  /** The fingerprint of the whole request, including the vendor's part. */
  fingerprint: string;
  /** The tiers of the models that are going to run, if they are known. */
  runsOn?: Tier[] | undefined;
  /** The capabilities that the request gives the vendor: all of them must be allowed. */
  needs?: Capability[] | undefined;
  /** The most that the models may cost, in their order. */
  bounds: CallBound[];
  /**
   * The bounds in their order, with the vendors' counts of the prompts. Called only if a bound is `countable` and the
   * call would otherwise be refused.
   */
  countPrompts: () => Promise<CallBound[]>;
  /** The prompt of each bound, as far as it is followed. */
  prompts: readonly (FollowedPrompt | null)[];
  /** Whether a call that only waits for holds of other calls is refused without a record. */
  refusesHeld?: boolean;
  /** How long the call may take until its end is recorded; by default the deadline of every call. */
  deadlineMs?: number | undefined;
  /** Whether the caller needs the whole answer of the begin. */
  wantsAnswer: boolean;
  /** The browser's session, whose keys are apart from the organization's. */
  session?: Session | undefined;
}

/** A service call that has begun, in this request or in one that this request retries. */
export type BegunServiceCall =
  | RefusedBegin
  | {
      ok: true;
      replayed: boolean;
      status: CallStatus;
      admission: Admission;
      /** Set if the answer was wanted. */
      answer: Accepted<BeginCallData> | null;
      /** Set if a replayed begin's call has ended. */
      stored: StoredServiceCall | null;
      /** Set instead if that gave way to later answers of the customer. */
      gaveWay: CallFigures | null;
      /** The most that the models may cost, as the begin held it. */
      bounds: CallBound[];
    };

/**
 * Begins a call that the service makes itself. Without a key each request is a call of its own: no answer could be
 * replayed to another request without asking the vendor.
 */
export async function beginServiceCall(
  caller: Caller,
  toMake: ServiceCall,
  headerKey: string | null,
): Promise<BegunServiceCall> {
  const { request, fingerprint, runsOn, needs = [], deadlineMs, wantsAnswer } = toMake;
  const { prompts, refusesHeld = false, session } = toMake;
  const keyless = explicitKey(headerKey, request) === null;
  const command = await beginCommand(caller, request, keyless ? '' : fingerprint, 'API');
  const requestId = timeOrderedId(Date.now());
  const send = async (customer: CustomerStub, key: CallKey, bounds: CallBound[], counted: boolean) => {
    const whole: BeginServiceCallCommand = {
      ...command,
      ...(deadlineMs !== undefined && { deadlineMs }),
      request: { ...command.request, runsOn, ...(needs.length > 0 && { needs }), openedBy: requestId },
      key,
      bounds,
      prompts: prompts.some((prompt) => prompt) ? prompts.map((prompt) => prompt?.beginnings ?? null) : undefined,
      refusesHeld,
      counted,
      wantsAnswer,
      session: session && holderName(session),
    };
    const begun = await withClaimedStripe(
      caller,
      whole,
      async (sent) => JSON.parse(await customer.beginServiceCall(sendCommand(sent))) as ServiceCallBegin,
    );
    return parseBegin(begun, bounds);
  };
  const isSessionKey = session !== undefined && headerKey !== null;
  const begin = async (bounds: CallBound[], counted: boolean): Promise<BegunServiceCall> => {
    if (!keyless && !isSessionKey)
      return underKey(caller, request, headerKey, 'API', (customer, key) => send(customer, key, bounds, counted));
    const key: CallKey = isSessionKey
      ? { source: 'session', hash: await sessionKeyHash(headerKey) }
      : { source: 'request', requestId };
    const owner = { organizationId: caller.organization.organizationId, customerId: request.customerId };
    const address = customerByName(caller.env, owner);
    return inBeginQueue(owner, (timed) =>
      timed(() => ask(address, (customer) => send(customer, key, bounds, counted))),
    );
  };
  const begun = await begin(toMake.bounds, false);
  return begun.ok || !begun.countFirst ? begun : begin(await toMake.countPrompts(), true);
}

function parseBegin(begin: ServiceCallBegin, bounds: CallBound[]): BegunServiceCall {
  if (!begin.ok) return begin;
  const { replayed, answer, stored } = begin;
  return {
    ...begin,
    bounds: withKnownPrompts(bounds, begin.admission.promptTokens),
    answer: answer && { ok: true, ...answer, replayed },
    stored: stored === null ? null : (JSON.parse(stored) as StoredServiceCall),
  };
}
