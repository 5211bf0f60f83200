/**
 * The needs of a request to a model besides its tier: the capabilities that it uses, and a bound of its cost.
 *
 * A session may use only models with a price. With an API key the customer's object decides, because it alone knows
 * whether an allowance or credit pays: credit does not pay for a use without a rate or a bound. The organization can
 * open both.
 */

import type { OrganizationConfig } from '../config/credentials.ts';
import type { CustomerId } from '../domain/ids.ts';
import type { Capability, ReasoningLevel } from '../domain/plan.ts';
import type { Caller } from '../metering/caller.ts';
import { requestedCapabilities } from '../vendors/capabilities.ts';
import { asksToThink, chooseEffort, type Effort, effortCeiling } from '../vendors/effort.ts';
import { isCounted } from '../vendors/prompt-counter.ts';
import { type BoundedRequest, boundedRequest, type OpenToCredit } from './demand/call-bound.ts';
import { type AttemptTerms, type Dialect, formAt, type ModelRequest } from './dialects/dialect.ts';
import { type Refused, refuseCall } from './error-envelope.ts';
import { withoutOwnFields } from './identify.ts';
import type { Attempt } from './models.ts';
import { type FollowedPrompt, followedPrompts, versionHeaders } from './service-calls/counted-prompts.ts';

/** The capabilities that the request uses with any of its models, because each of them may be the one that runs. */
export function usedCapabilities(
  { endpoint }: Pick<Dialect, 'endpoint'>,
  body: ModelRequest,
  attempts: readonly Attempt[],
): Capability[] {
  const path = `/${endpoint}`;
  return [...new Set(attempts.flatMap(({ model }) => requestedCapabilities({ path, model, body })))];
}

export interface BoundedAttempt extends Attempt, BoundedRequest {}

/** An attempt of an admitted call. */
export interface AdmittedAttempt extends BoundedAttempt {
  /** `null` if nothing can be known of its tokens. */
  prompt: FollowedPrompt | null;
}

/** The most models whose vendors count the prompt of one call. */
const COUNTED_MAX = 3;

/** The attempts with the most that each may cost. Requests to the gateway are never billed as a batch. */
export function withBounds(
  dialect: Dialect,
  { request, isUnread = false }: { request: ModelRequest; isUnread?: boolean },
  attempts: readonly Attempt[],
  opened: OpenToCredit,
): BoundedAttempt[] {
  const body = withoutOwnFields(request);
  const counted = new Set<string>();
  return attempts.map((attempt) => {
    const { provider, kind, baseUrl, model, modelKey, price, limits, tier, onDowngrade } = attempt;
    const form = formAt(dialect, kind);
    const canBeStopped = request.stream === true && form.streamClosing(request) !== undefined;
    // The vendor bills thinking that the answer does not show.
    const mayHide = limits.reasons && mayThink(dialect, request, limits);
    const held = { inSteps: canBeStopped && !mayHide, fitsBalance: canBeStopped && mayHide };
    const thinks = mayHide && asksToThink(body);
    const path = dialect.endpoint;
    if (counted.size < COUNTED_MAX && isCounted(kind, form.endpoint)) counted.add(modelKey);
    const vendor = { provider, kind, address: baseUrl };
    const toModel = { ...vendor, model, modelKey, path, body, isUnread, price, limits, asIs: false };
    const asked = { ...toModel, tier, onDowngrade, ...held, thinks, isCounted: counted.has(modelKey) };
    return { ...attempt, ...boundedRequest(asked, 'standard', opened) };
  });
}

/** A model that has no level `none` thinks at its lowest level, whatever the request asked. */
function mayThink(dialect: Dialect, request: ModelRequest, { efforts }: Attempt['limits']): boolean {
  if (dialect.thinksNot?.(request)) return false;
  return chooseEffort(dialect.effortAsked(request), 'HIGH', efforts).effort !== 'none';
}

/** The prompts of the attempts; the vendors may have counted their beginnings before. */
export function followed(
  { env, organization }: Caller,
  customerId: CustomerId,
  {
    dialect,
    request,
    toVendor,
  }: { dialect: Dialect; request: ModelRequest; toVendor: Readonly<Record<string, string>> },
  attempts: readonly BoundedAttempt[],
): Promise<(FollowedPrompt | null)[]> {
  const { organizationId, vendors } = organization;
  return followedPrompts(env, {
    organizationId,
    customerId,
    path: dialect.endpoint,
    body: withoutOwnFields(request),
    attempts: attempts.map(({ bound, following, provider, kind, baseUrl, model }) => {
      const headers = { ...versionHeaders(toVendor), ...vendors.get(provider)?.headers };
      return {
        bound,
        following,
        kind,
        terms: [provider, kind, baseUrl, model, formAt(dialect, kind).endpoint, headers],
      };
    }),
  });
}

/** The terms of an attempt at this effort, under the plan's ceiling. */
export function attemptTerms(attempt: Attempt, effort: Effort | undefined, ceiling: ReasoningLevel): AttemptTerms {
  const { model, limits } = attempt;
  const outputTokensMax = limits.maxOutputTokens;
  return { model, effort, ceiling: effortCeiling(ceiling), outputTokensMax, addsUsage: true };
}

/**
 * The attempts that can be made with the request as it is: a vendor that is asked in another form may lack something
 * that the request needs. Refuses the request if no attempt is left, or only models that stand in for premium ones.
 */
export function translatableAttempts(
  dialect: Dialect,
  request: ModelRequest,
  attempts: readonly Attempt[],
): { ok: true; attempts: Attempt[] } | Refused {
  const able: Attempt[] = [];
  let first: Refused | null = null;
  for (const attempt of attempts) {
    const { effort } = chooseEffort(dialect.effortAsked(request), 'HIGH', attempt.limits.efforts);
    const refused = formAt(dialect, attempt.kind).refused?.(request, attemptTerms(attempt, effort, 'HIGH'));
    if (!refused) {
      able.push(attempt);
      continue;
    }
    const { param, message } = refused;
    const sentence = `${param} ${message}; the model ${attempt.modelKey} is asked in another form`;
    first ??= refuseCall('BAD_REQUEST', sentence, { param });
  }
  return first === null || able.some(({ onDowngrade }) => !onDowngrade) ? { ok: true, attempts: able } : first;
}

/** The refusal of a session's request that names a model without a price; `null` if it names none. */
export function refuseUnpriced(organization: OrganizationConfig, attempts: readonly Attempt[]): Refused | null {
  const unpriced = organization.allowUnpricedModels ? undefined : attempts.find(({ price }) => !price.available);
  if (!unpriced) return null;
  const message = `the model ${JSON.stringify(unpriced.modelKey)} has no price, and a session may use only models with a price`;
  return refuseCall('MODEL_NOT_PRICED', message, { param: 'model', members: { component: 'model' } });
}
