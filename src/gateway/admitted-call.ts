/**
 * An admitted call while it is carried out: the facts known of it, and its end.
 */

import type { Catalog } from '../catalog/model.ts';
import { modelToRecord, resolvePrice } from '../catalog/prices.ts';
import type { Session } from '../config/credentials.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import type { CallPart } from '../domain/call-parts.ts';
import type { CustomerId } from '../domain/ids.ts';
import type { Estimate } from '../domain/lost-call.ts';
import type { ResolvedPrice } from '../domain/pricing.ts';
import { takeUsage } from '../domain/usage.ts';
import type { Caller } from '../metering/caller.ts';
import type { Admission } from '../objects/customer-commands.ts';
import type { RequestBody } from '../platform/request-body.ts';
import type { Effort, EffortChoice } from '../vendors/effort.ts';
import { requestedServiceTier } from '../vendors/service-tier.ts';
import type { AdmittedAttempt } from './admission.ts';
import type { AttemptList } from './attempt-list.ts';
import { hasOutputBound } from './demand/output.ts';
import type { Dialect, ModelRequest } from './dialects/dialect.ts';
import type { HeaderLabels } from './identify.ts';
import { recordResponse } from './kept-objects.ts';
import { awaitedText } from './late-figures.ts';
import { lifecycleHeaders } from './lifecycle-headers.ts';
import { type Attempt, modelHeader } from './models.ts';
import { countedPrompts } from './service-calls/counted-prompts.ts';
import type { EndedServiceCall, LostPart, Outcome } from './service-calls/end.ts';
import { endWithRetries } from './service-calls/end-with-retries.ts';
import { type Asked, loweredBound, measuredAt, usageAtMost } from './service-calls/output.ts';
import type { Reading } from './vendor-result.ts';

/** A request to a model, with the contents of its headers. */
export interface ModelCall {
  dialect: Dialect;
  request: ModelRequest;
  /** The request as it came. */
  text: RequestBody;
  labels: HeaderLabels;
  /** Headers of the caller that pass to the vendor. */
  toVendor: Readonly<Record<string, string>>;
  headerKey: string | null;
  session: Session | undefined;
  /** Callmeter's id of the request, for vendors that have none. */
  requestId: string;
  /** Aborted when the caller leaves. A function, because a call that is refused needs no signal. */
  clientSignal: () => AbortSignal;
}

export interface Run extends ModelCall {
  caller: Caller;
  catalog: Catalog;
  customerId: CustomerId;
  admission: Admission;
  /** The attempts that the plan allows. */
  attempts: readonly AdmittedAttempt[];
  /** The caller sent an idempotency key, so the answer is stored. */
  keyed: boolean;
  /** The attempts that were made so far. */
  tried: AttemptList;
  /** The fields that the last vendor got with another value than the caller asked for: `service_tier=default`. */
  changed: readonly string[];
  /** The request asked to think, but the bound of its output is too low, so the last vendor was not asked to. */
  lostThinking: boolean;
  /** Earlier attempts whose vendors may have done the work. */
  unanswered: UnansweredAttempt[];
}

/** An attempt without an answer: the usage that its vendor reported, and the usage to record if it reported none. */
interface UnansweredAttempt {
  current: CurrentAttempt;
  reading: Reading;
  estimate: Omit<Estimate, 'price'>;
}

/** The attempt that is being made, or was made last. */
export interface CurrentAttempt {
  attempt: AdmittedAttempt;
  effort: EffortChoice;
  asked: Asked;
}

/** The facts that an answer states about its model. */
type Served = Pick<Reading, 'modelUsed' | 'isFallback'>;

/** How a call went. */
interface RunEnd
  extends Pick<
    Outcome,
    'usage' | 'atMost' | 'parts' | 'estimate' | 'searches' | 'vendorReportedCostUSD' | 'error' | 'response'
  > {
  /** The id under which the vendor may keep the response. */
  responseId?: string | undefined;
}

/** Ends the call with its outcome; `reported` holds the model and the effort that the vendor's answer states. */
export async function endRun(
  run: Run,
  { attempt, effort: chosen, asked }: CurrentAttempt,
  { responseId, ...outcome }: RunEnd,
  reported: Served & { effort?: Effort | undefined } = {},
): Promise<EndedServiceCall | null> {
  const { effort, source } =
    reported.effort === undefined ? chosen : { effort: reported.effort, source: 'provider_response' as const };
  const { parts, lost } = await partsOfAttempts(run);
  const { usage, estimate, response, ...rest } = outcome;
  const known = {
    atMost: usageAtMost(attempt, run.admission),
    ...rest,
    parts: [...(outcome.parts ?? []), ...parts],
    lost,
    customerId: run.customerId,
    wantsAnswer: false,
    providerUsed: attempt.provider,
    modelUsed: await answeringModel(run, attempt, reported),
    requestedServiceTier: requestedServiceTier(run.request),
    changed: run.changed,
    notIncluded: attempt.bound.notIncluded,
    ...(attempt.assertsTier && { isPremium: attempt.tier === 'premium' }),
    ...(source !== undefined && { reasoningEffort: effort, reasoningEffortSource: source }),
  };
  const { provider: providerUsed, model } = attempt;
  const isKept = run.dialect.isKept?.(run.request, attempt.kind) === true;
  if (isKept && responseId !== undefined) await recordResponse(run.caller, providerUsed, responseId);
  const isAwaited = usage === null && isKept;
  const hasWritten = (estimate?.usage.responseTokens ?? 0) > 0;
  const awaited =
    isAwaited && responseId !== undefined
      ? awaitedText({ responseId, providerUsed, model, hasWritten, known })
      : undefined;
  const worked = measuredAt(attempt.baseUrl, attempt, asked);
  const { modelUsed: served, isFallback } = reported;
  const { lostThinking } = run;
  const { parts: ofAnswer, error } = outcome;
  const counted = await countedPrompts(run.catalog, attempt.prompt, {
    ...{ usage, parts: ofAnswer, error, asked: model, served, isFallback, responseId, lostThinking },
    estimate: attempt.bound.ifLost?.inputTokens ?? 0,
  });
  return endWithRetries(run.caller, run.admission.callId, {
    ...known,
    ...{ usage, estimate, response, worked, awaited, counted },
  });
}

/** The attempts before the one that ends the call, each at its own model. */
async function partsOfAttempts(run: Run): Promise<{ parts: CallPart[]; lost: LostPart[] }> {
  const parts: CallPart[] = [];
  const lost: LostPart[] = [];
  for (const { current, reading, estimate } of run.unanswered) {
    const { attempt } = current;
    const { usage, parts: its = [] } = reading;
    const ran = {
      providerUsed: attempt.provider,
      modelUsed: await answeringModel(run, attempt, reading),
      ...(attempt.assertsTier && { isPremium: attempt.tier === 'premium' }),
    };
    if (usage === null || usage.unclear) lost.push({ ...ran, estimate, notIncluded: attempt.bound.notIncluded });
    else
      parts.push(
        { ...ran, usage: takeUsage(usage).usage },
        ...its.map((part) => ({ ...part, providerUsed: attempt.provider })),
      );
  }
  return { parts, lost };
}

/** A call has no model if neither the request nor the answer names one. */
function answeringModel(
  { caller, catalog }: Run,
  { model, provider }: Attempt,
  { modelUsed: served, isFallback }: Served,
): Promise<string | undefined> {
  const asked = isFallback ? undefined : model || undefined;
  const names = { asked, served, providerUsed: provider };
  return modelToRecord(catalog, caller.organization.prices, names, Date.now());
}

/** The price of a call that this attempt answered, by the model that the answer reports. */
export async function resolveServedPrice(run: Run, attempt: Attempt, reported: Served): Promise<ResolvedPrice> {
  const { caller, catalog } = run;
  const names = { modelUsed: await answeringModel(run, attempt, reported), providerUsed: attempt.provider };
  return resolvePrice(catalog, caller.organization.prices, names, Date.now());
}

export function answerHeaders(
  { admission, dialect, tried, catalog, changed }: Run,
  attempt: AdmittedAttempt,
): Record<string, string> {
  const lowered = hasOutputBound(dialect.endpoint) ? loweredBound(attempt, admission) : null;
  return {
    [GATEWAY_HEADERS.callId]: admission.callId,
    ...tried.header,
    ...modelHeader(attempt),
    ...lifecycleHeaders(catalog, attempt, Date.now()),
    ...(changed.length > 0 && { [GATEWAY_HEADERS.changed]: changed.join(', ') }),
    ...(lowered !== null && { [GATEWAY_HEADERS.maxOutputTokens]: String(lowered) }),
  };
}
