/**
 * The begin of a call that the service goes on to make itself: the customer's object decides, and answers what came of
 * the call where the request is a retry.
 */

import type { Session } from '../../config/credentials.ts';
import type { BeginCallData, BeginCallRequest } from '../../contract/calls.ts';
import type { Accepted } from '../../contract/errors.ts';
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
import { holderName } from '../../platform/session-token.ts';
import { timeOrderedId } from '../../platform/time-ordered-id.ts';
import type { FollowedPrompt } from './counted-prompts.ts';

/** What `beginServiceCall` needs to know beside the request. */
export interface ServiceCall {
  request: BeginCallRequest;
  /** Of the whole request, what goes to the vendor included. */
  fingerprint: string;
  /** The tiers of the models that are going to run, where that is known. */
  runsOn?: Tier[] | undefined;
  /** What the request makes the vendor able to do: all of it must be allowed. */
  needs?: Capability[] | undefined;
  /** What the models may cost that are going to run, in their order. */
  bounds: CallBound[];
  /**
   * The bounds in their order, with the prompts counted by their vendors. Asked for only if a bound is `countable` and the
   * call would be refused without.
   */
  countPrompts: () => Promise<CallBound[]>;
  /** The prompt of each bound, as far as it is followed. */
  prompts: readonly (FollowedPrompt | null)[];
  /** Whether a call that only waits for holds of others is refused without a record. */
  refusesHeld?: boolean;
  /** How long it may take until its end is recorded; default the deadline of every call. */
  deadlineMs?: number | undefined;
  /** Whether the whole answer of the begin is wanted. */
  wantsAnswer: boolean;
  /** The browser's session, whose keys are apart from those of the organization. */
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
      /** Where it was wanted. */
      answer: Accepted<BeginCallData> | null;
      /** Of a replayed begin whose call has ended. */
      stored: StoredServiceCall | null;
      /** What the models may cost, by what the begin held. */
      bounds: CallBound[];
    };

/**
 * Begins a call that the service makes itself. Without a key each request is a call of its own: there is nothing that
 * could be replayed to another request without asking the vendor.
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
    const address = customerByName(caller.env, {
      organizationId: caller.organization.organizationId,
      customerId: request.customerId,
    });
    return ask(address, (customer) => send(customer, key, bounds, counted));
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
