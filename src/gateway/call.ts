/**
 * Use case: one request to a model through the gateway.
 *
 * Finds the customer to meter and the models to try, and begins the call: the customer's object decides whether the
 * plan allows it. A retry under an idempotency key gets the stored answer. `run.ts` carries out an admitted call.
 */

import type { Catalog } from '../catalog/model.ts';
import { currentCatalog } from '../config/catalog.ts';
import { REPLAY_HEADER } from '../contract/envelope.ts';
import { answerNotKept } from '../contract/errors.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import { limitHeaders } from '../contract/limit-headers.ts';
import { capabilityDenied } from '../domain/entitlements.ts';
import type { CallId, CustomerId } from '../domain/ids.ts';
import type { Capability } from '../domain/plan.ts';
import type { Caller } from '../metering/caller.ts';
import { hashPayload } from '../metering/idempotency.ts';
import { closedName, modelsOfTools } from '../metering/key-limits.ts';
import { countSessionRequest } from '../metering/session-requests.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import type { Admission } from '../objects/customer-commands.ts';
import { ANSWERS_HELD, isAnswerMemoryFull } from '../vendors/answer-memory.ts';
import {
  type BoundedAttempt,
  followed,
  refuseUnpriced,
  translatableAttempts,
  usedCapabilities,
  withBounds,
} from './admission.ts';
import type { ModelCall } from './admitted-call.ts';
import type { GatewayAnswer } from './answer.ts';
import { AttemptList } from './attempt-list.ts';
import { countPrompts } from './count-prompts.ts';
import { mayStream } from './dialects/dialect.ts';
import { type Refused, refusalAnswer, refuseCall, refuseDenied } from './error-envelope.ts';
import { type BeginFields, identify, withoutOwnFields } from './identify.ts';
import { foreignReference } from './kept-objects.ts';
import { type Attempt, resolveAttempts } from './models.ts';
import { runCall } from './run.ts';
import type { BegunServiceCall } from './service-calls/begin.ts';
import { beginServiceCall } from './service-calls/begin.ts';
import type { FollowedPrompt } from './service-calls/counted-prompts.ts';
import { closedModel } from './session-rules.ts';
import { refuseReplay, replayedAnswer } from './stored-answer.ts';

/** How much longer than its vendors a call may take. */
const END_MARGIN_MS = 60_000;

export async function callModel(caller: Caller, call: ModelCall): Promise<GatewayAnswer> {
  const { session, dialect } = call;
  const result = await beginAndRun(caller, call);
  if (result.ok) return result.answer;
  if (!session) return refusalAnswer(result.refusal, dialect.errorBody);
  const counted = result.hasBegun ? result : await countSessionRequest(caller, session.customerId, session);
  // A browser's session gets only the words.
  const { denial, ...refusal } = counted.ok ? result.refusal : counted.refusal;
  const { call: _figures, ...members } = refusal.members ?? {};
  return refusalAnswer({ ...refusal, members }, dialect.errorBody);
}

/** `hasBegun`: the customer's object was asked, and has counted the request. */
type Answered = { ok: true; answer: GatewayAnswer } | (Refused & { hasBegun?: true });

async function beginAndRun(caller: Caller, call: ModelCall): Promise<Answered> {
  const { dialect, request, session } = call;
  const { organization } = caller;
  const identified = identify({ ...request, user: dialect.userOf(request) }, call.labels, session, caller.limits);
  if (!identified.ok) return identified;
  const { begin } = identified;
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const nowMs = Date.now();
  const names = [request.model, ...(request.models ?? [])];
  const closed = session && closedModel(organization, catalog, names, session, nowMs);
  if (closed) return closed;
  const resolved = await resolveAttempts(caller, catalog, dialect, names, nowMs);
  if (!resolved.ok) return resolved;
  const providers = resolved.attempts.map(({ provider }) => provider);
  const foreign = await foreignReference(caller, providers, request);
  if (foreign) return foreign;
  const closedTool = closedName(caller, catalog, modelsOfTools(request.tools), 'tools');
  if (closedTool) return closedTool;
  const unpriced = session && refuseUnpriced(organization, resolved.attempts);
  if (unpriced) return unpriced;
  return admitAndRun(caller, call, catalog, begin, resolved.attempts);
}

/** Begins a call that may be made in these attempts, and carries it out. */
export async function admitAndRun(
  caller: Caller,
  call: ModelCall,
  catalog: Catalog,
  begin: BeginFields,
  resolved: readonly Attempt[],
): Promise<Answered> {
  const { dialect, request } = call;
  if (isAnswerMemoryFull()) return refuseCall('SERVICE_UNAVAILABLE', ANSWERS_HELD);
  const translatable = translatableAttempts(dialect, withoutOwnFields(request), resolved);
  if (!translatable.ok) return translatable;
  const needs = usedCapabilities(dialect, request, translatable.attempts);
  const { isUnread = false } = call.text;
  const bounded = withBounds(dialect, { request, isUnread }, translatable.attempts, caller.organization);
  const prompts = await followed(caller, begin.customerId, call, bounded);
  const opened = await beginCall(caller, call, begin, { attempts: bounded, prompts, needs });
  if (!opened.ok) return { ...opened, hasBegun: true };
  const attempts = bounded.map((attempt, place) => ({ ...attempt, bound: opened.bounds[place] ?? attempt.bound }));
  const { admission, replayed } = opened;
  const { callId } = admission;
  const headers = {
    [GATEWAY_HEADERS.callId]: callId,
    ...(replayed && { [REPLAY_HEADER]: 'true' }),
    ...(opened.status === 'NOT_ALLOWED' && limitHeaders(admission.left, attempts[0]?.tier)),
  };
  const denied = () => ({ ...denialRefusal(admission, attempts, needs, headers), hasBegun: true }) as const;
  if (opened.status === 'NOT_ALLOWED') return denied();
  if (opened.stored) {
    return { ok: true, answer: replayedAnswer(opened.stored, dialect, request) };
  }
  if (opened.gaveWay) return { ok: false, refusal: { ...answerNotKept(opened.gaveWay), headers }, hasBegun: true };
  if (replayed) return { ...refuseReplay(opened.status, headers), hasBegun: true };
  const { customerId } = begin;
  const allowed = attempts
    .map((attempt, place) => ({ ...attempt, prompt: prompts[place] ?? null }))
    .filter((attempt) => isAllowed(attempt, admission));
  if (allowed.length === 0) {
    await voidCall(caller, customerId, callId);
    return denied();
  }
  const keyed = call.headerKey !== null;
  const tried = new AttemptList();
  const answer = await runCall({
    ...call,
    caller,
    catalog,
    customerId,
    admission,
    attempts: allowed,
    keyed,
    tried,
    changed: [],
    lostThinking: false,
    unanswered: [],
  });
  return { ok: true, answer };
}

/** Begins the call for the tiers of the attempts and for the capabilities that the request uses. */
async function beginCall(
  caller: Caller,
  call: ModelCall,
  begin: BeginFields,
  {
    attempts,
    prompts,
    needs,
  }: { attempts: readonly BoundedAttempt[]; prompts: readonly (FollowedPrompt | null)[]; needs: Capability[] },
): Promise<BegunServiceCall> {
  const { dialect, request, text, headerKey, session } = call;
  const { customer: _named, ...fields } = request;
  const requested = Object.fromEntries([...requestedTiers(attempts), ...needs].map((name) => [name, true]));
  // Hints about mapped models are for callers that choose a model themselves.
  const organization = { ...caller.organization, models: null };
  const toMake = {
    request: { ...begin, requested },
    // Without a key, each request is a call of its own and needs no fingerprint.
    fingerprint:
      headerKey === null
        ? ''
        : await hashPayload({
            operation: dialect.address ?? dialect.endpoint,
            begin,
            fields,
            files: await text.filesHash?.(),
          }),
    runsOn: [...new Set(attempts.map(({ tier }) => tier))],
    needs,
    bounds: attempts.map(({ bound }) => bound),
    countPrompts: () => countPrompts(caller, call, begin.customerId, attempts),
    prompts,
    refusesHeld: true,
    // If this Worker dies, a call whose answer is no stream holds its allowance no longer than its vendors could have taken.
    ...(!mayStream(dialect, request) && { deadlineMs: Number(caller.env.GATEWAY_TIMEOUT_MS) + END_MARGIN_MS }),
    wantsAnswer: false,
    session,
  };
  return beginServiceCall({ ...caller, organization }, toMake, headerKey);
}

function isAllowed({ tier, onDowngrade, bound }: BoundedAttempt, admission: Admission): boolean {
  const { allowed, entitlementHints, credit, searches } = admission;
  if (bound.gap && credit?.tiers.includes(tier)) return false;
  if (bound.searchGap && searches !== undefined) return false;
  return allowed[tier] && (!onDowngrade || entitlementHints.downgrade !== undefined);
}

/** Undoes a call that was begun and is not made. */
async function voidCall({ env, organization }: Caller, customerId: CustomerId, callId: CallId): Promise<void> {
  const { organizationId } = organization;
  await ask(customerByName(env, { organizationId, customerId }), (customer) => customer.void(organizationId, callId));
}

function denialRefusal(
  admission: Admission,
  attempts: readonly Attempt[],
  needs: readonly Capability[],
  headers: Record<string, string>,
): Refused {
  const { canceled, allowed, denial } = admission;
  const { code, message: _sums, ...figures } = denial ?? {};
  const deny = (reason: string) => refuseDenied('ENTITLEMENT_DENIED', reason, denial && figures, { headers });
  if (canceled) return deny("the customer's subscription is canceled");
  const capability = capabilityDenied(needs, allowed);
  if (capability !== null) return deny(capability);
  const reason = `the customer's plan allows no further call of a ${requestedTiers(attempts).join(' or ')} model`;
  if (code !== 'CREDIT_REQUIRED') return deny(reason);
  const uncovered = `${reason}, and the balance does not cover what this one may cost`;
  return refuseDenied('CREDIT_REQUIRED', uncovered, figures, { headers });
}

/** The tiers of the attempts, without those that only a downgrade uses. */
function requestedTiers(attempts: readonly Attempt[]): string[] {
  return [...new Set(attempts.filter(({ onDowngrade }) => !onDowngrade).map(({ tier }) => tier))];
}
