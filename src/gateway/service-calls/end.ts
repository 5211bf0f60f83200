/**
 * The end of a call that the service made itself: usage from the vendor's own figures, priced, and recorded with the
 * response for retries.
 */

import { matchModel } from '../../catalog/matching.ts';
import { type Catalog, modelKeyOf } from '../../catalog/model.ts';
import { type OwnPrices, pricedParts, resolvePrice, resolvePriceFor } from '../../catalog/prices.ts';
import { currentCatalog } from '../../config/catalog.ts';
import type { EndCallData } from '../../contract/calls.ts';
import type { Accepted, Refused } from '../../contract/errors.ts';
import type { Left } from '../../contract/limit-headers.ts';
import type { RefusalTo } from '../../contract/operations.ts';
import { type Facts, pickFacts } from '../../domain/call-facts.ts';
import type { CallPart } from '../../domain/call-parts.ts';
import type { CallReport } from '../../domain/call-report.ts';
import type { CallId, CustomerId } from '../../domain/ids.ts';
import type { Estimate, LostAttempt } from '../../domain/lost-call.ts';
import type { NanoUsd } from '../../domain/money.ts';
import { measureOutputRate, type Worked } from '../../domain/output-rate.ts';
import type { ResolvedPrice } from '../../domain/pricing.ts';
import { atBound, type Unclear, type UsageBound } from '../../domain/unclear-usage.ts';
import { NO_USAGE, takeUsage, type Usage } from '../../domain/usage.ts';
import type { Env } from '../../env.ts';
import { highestOutputRate } from '../../history/output-rates.ts';
import type { Caller } from '../../metering/caller.ts';
import { vendorReportedCost } from '../../metering/vendor-reported.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import { sendCommand } from '../../objects/command-text.ts';
import type { CountedPrompt, EndServiceCallCommand, ServiceCallEnd } from '../../objects/customer-commands.ts';
import type { VendorUsage } from '../../vendors/usage.ts';

/** The outcome of a service call. */
export interface Outcome extends Facts {
  customerId: CustomerId;
  /** `null` if a vendor was asked, may have done the work, and reported no usage. */
  usage: (Partial<Usage> & Unclear) | null;
  /** The most that the call can use: its unclear figures count at that. */
  atMost?: UsageBound | undefined;
  /** Other models that ran for the call besides the one that answered: at the same vendor, if a part names none. */
  parts?: readonly CallPart[] | undefined;
  /** Earlier attempts whose vendors may have done the work, and reported no usage. */
  lost?: readonly LostPart[] | undefined;
  /** The facts that are known if the usage is not. */
  estimate?: Omit<Estimate, 'price' | 'outputRate'> | undefined;
  /** The text that is stored to ask the vendor for its figures later. */
  awaited?: string | undefined;
  /** The vendor's counts, for later prompts. */
  counted?: readonly CountedPrompt[] | undefined;
  /** How long the vendor worked, if that can show how fast its model writes. */
  worked?: Worked | undefined;
  /** Web searches that ran although the usage is not known. */
  searches?: number | undefined;
  /** The fields that the vendor got with another value than the caller asked for. */
  changed?: readonly string[] | undefined;
  /** Uses without a rate that the request could incur. */
  notIncluded?: readonly string[] | undefined;
  /** The cost of the call that the vendor itself reports. */
  vendorReportedCostUSD?: number | undefined;
  isPremium?: boolean | undefined;
  error?: { code: string; message: string } | undefined;
  /** Stored for retries, unless it is too large to send to the object. */
  response?: unknown;
  /** Whether the caller needs the whole answer of the end. */
  wantsAnswer: boolean;
}

export interface LostPart extends Omit<LostAttempt, 'estimate'> {
  estimate: Omit<Estimate, 'price'>;
  notIncluded?: readonly string[] | undefined;
}

/** The most characters of a message to an object: it may have 32 MiB, and a character takes up to two bytes. */
const MESSAGE_LENGTH_MAX = 15 * 1024 * 1024;

export type EndedServiceCall =
  | Refused<RefusalTo<'endCall'>>
  | {
      ok: true;
      /** `null` if it is not known. */
      costNanoUsd: NanoUsd | null;
      /** Set if the answer was wanted. */
      answer: Accepted<EndCallData> | null;
      left: Left;
    };

export async function endServiceCall(caller: Caller, callId: CallId, outcome: Outcome): Promise<EndedServiceCall> {
  const command: EndServiceCallCommand = { ...(await endServiceCallCommand(caller, outcome)), callId };
  const whole = sendCommand<EndServiceCallCommand>(command);
  // A response that is too large is left out; the usage of the call is recorded all the same.
  const text = canBeSent(whole) ? whole : sendCommand<EndServiceCallCommand>({ ...command, response: undefined });
  const address = customerByName(caller.env, {
    organizationId: caller.organization.organizationId,
    customerId: outcome.customerId,
  });
  const end = JSON.parse(await ask(address, (customer) => customer.endServiceCall(text))) as ServiceCallEnd;
  if (!end.ok) return end;
  const { costNanoUsd, answer, left } = end;
  return {
    ok: true,
    costNanoUsd: costNanoUsd === null ? null : BigInt(costNanoUsd),
    answer: answer && { ok: true, ...answer, replayed: false },
    left,
  };
}

/**
 * Whether a command can be sent, and the response in it sent back: as a text within a text, whose quotes are escaped
 * once more.
 */
function canBeSent(text: string): boolean {
  return text.length * 2 <= MESSAGE_LENGTH_MAX || JSON.stringify(text).length <= MESSAGE_LENGTH_MAX;
}

/** The command of an end, without its call. */
export async function endServiceCallCommand(
  { env, organization, defer }: Caller,
  outcome: Outcome,
): Promise<Omit<EndServiceCallCommand, 'callId'>> {
  const { modelUsed, providerUsed, usage, searches = 0, isPremium, error, response, wantsAnswer } = outcome;
  const { changed, notIncluded, vendorReportedCostUSD, worked } = outcome;
  const estimate = usage ? undefined : outcome.estimate;
  const { catalog } = await currentCatalog(env, defer);
  const reported = { modelUsed, providerUsed };
  const { unclear, totalTokens, ...told } = usage ?? { searches };
  const known = { ...NO_USAGE, ...told };
  const whole = unclear && (await resolvePrice(catalog, organization.prices, reported, Date.now()));
  const atMost = outcome.atMost && { ...outcome.atMost, writtenTokens: outcome.estimate?.usage.responseTokens };
  const filled = whole && atBound(known, { unclear, totalTokens }, atMost, whole.available ? whole.card : null);
  const used = filled ?? known;
  const nowMs = Date.now();
  const found = estimate
    ? await priceOfEstimate(catalog, organization.prices, reported, estimate, nowMs)
    : await resolvePriceFor(catalog, organization.prices, reported, used, nowMs);
  const price = withNotIncluded(found, notIncluded);
  const parts = await pricedParts(
    catalog,
    organization.prices,
    (outcome.parts ?? []).map((part) => ({ ...part, providerUsed: part.providerUsed ?? providerUsed })),
    nowMs,
  );
  const lost = await Promise.all(
    (outcome.lost ?? []).map(async ({ notIncluded: notOfIt, estimate: its, ...ran }) => {
      const foundOfIt = await priceOfEstimate(catalog, organization.prices, ran, its, nowMs);
      const outputRate = await rateFor(env, its, foundOfIt);
      return { ...ran, estimate: { ...its, price: withNotIncluded(foundOfIt, notOfIt), outputRate } };
    }),
  );
  return {
    organizationId: organization.organizationId,
    price: usage && filled !== null ? price : usageUnknown(price, usage),
    ...(estimate && { estimate: { ...estimate, price, outputRate: await rateFor(env, estimate, found) } }),
    ...(lost.length > 0 && { lost }),
    report: {
      ...pickFacts(outcome),
      usage: used,
      parts: parts.length > 0 ? parts : undefined,
      usageSource: unclear && ('partial' as const),
      unclear,
      outputBasis: undefined,
      outputRate:
        worked && isOfCatalog(catalog, modelUsed, found) ? measureOutputRate(used.responseTokens, worked) : undefined,
      changed: changed?.length ? changed : undefined,
      vendorReported: vendorReportedCost(organization, providerUsed, vendorReportedCostUSD),
      isPremium,
      error,
      // The customer and the begin provide these fields.
      stripeCustomerId: undefined,
      pricingMode: undefined,
      promptCompression: undefined,
    } satisfies Record<keyof CallReport, unknown>,
    awaited: outcome.awaited,
    counted: outcome.counted,
    response,
    wantsAnswer,
  };
}

/** The price for an estimate. The customer's object may count the output. */
function priceOfEstimate(
  catalog: Catalog,
  own: OwnPrices,
  reported: Pick<CallPart, 'providerUsed' | 'modelUsed'>,
  { usage }: Omit<Estimate, 'price'>,
  nowMs: number,
): Promise<ResolvedPrice> {
  const priced = { ...usage, responseTokens: Math.max(1, usage.responseTokens) };
  return resolvePriceFor(catalog, own, reported, priced, nowMs);
}

function withNotIncluded(price: ResolvedPrice, notIncluded: readonly string[] | undefined): ResolvedPrice {
  return price.available && notIncluded ? { ...price, card: { ...price.card, notIncluded } } : price;
}

/** The vendor's figures as usage. */
export function toUsage(reported: VendorUsage): Usage {
  return takeUsage(reported).usage;
}

/** The vendor's report as usage to record, with its unclear figures. */
export function reportedUsage(reported: VendorUsage | null): (Usage & Unclear) | null {
  return reported && { ...toUsage(reported), ...unclearIn(reported) };
}

/** The unclear part of usage; empty if all of it is clear. */
export function unclearIn({ unclear, totalTokens }: Unclear): Unclear {
  return { ...(unclear && unclear.length > 0 && { unclear }), ...(totalTokens !== undefined && { totalTokens }) };
}

/** The highest output rate that was observed for the model, if the time of this answer decides anything. */
async function rateFor(
  env: Env,
  { worked, outputTokensMax }: Pick<Estimate, 'worked' | 'outputTokensMax'>,
  price: ResolvedPrice,
): Promise<number | undefined> {
  const decides = worked !== undefined && outputTokensMax !== undefined;
  return decides && price.available ? highestOutputRate(env, price.card.modelKey, Date.now()) : undefined;
}

/** Whether the price is for a model that the catalog knows under that name. */
function isOfCatalog(catalog: Catalog, modelUsed: string | undefined, price: ResolvedPrice): boolean {
  const match = modelUsed === undefined ? null : matchModel(catalog, modelUsed, Date.now());
  return match !== null && price.available && price.card.modelKey === modelKeyOf(match.model);
}

/**
 * A call whose vendor reported no usage was not free, and neither was a call with an unclear figure without a bound:
 * its cost is unknown.
 */
function usageUnknown(price: ResolvedPrice, usage: Outcome['usage']): ResolvedPrice {
  return price.available
    ? { available: false, reason: usage === null ? 'USAGE_NOT_REPORTED' : 'USAGE_IMPLAUSIBLE' }
    : price;
}
