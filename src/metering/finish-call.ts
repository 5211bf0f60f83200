/**
 * The end of a call that the service made itself: usage from the vendor's own figures, priced, and recorded with what
 * is kept for retries.
 */

import { resolvePrice } from '../catalog/prices.ts';
import type { EndCallData } from '../contract/calls.ts';
import type { Accepted, Refusal } from '../contract/errors.ts';
import type { Reasoning } from '../domain/call.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { ResolvedPrice, Usage } from '../domain/pricing.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { sendCommand } from '../objects/command-text.ts';
import type { BeginCommand, FinishCommand, FinishedCall } from '../objects/customer-commands.ts';
import { sendShared } from '../objects/shared-messages.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { IMPLAUSIBLE, type ReportedUsage, type VendorUsage } from '../vendors/usage.ts';
import type { Caller } from './caller.ts';

/** How a call went. */
export interface Outcome extends Reasoning {
  customerId: string;
  providerUsed?: string | undefined;
  modelUsed?: string | undefined;
  /**
   * `null` where a vendor was asked, may have done the work, and did not say, `IMPLAUSIBLE` where it said what no call
   * uses: what that cost is not known.
   */
  usage: Partial<Usage> | typeof IMPLAUSIBLE | null;
  /** Web searches that are known although the usage is not: they ran. */
  searches?: number | undefined;
  isPremium?: boolean | undefined;
  error?: { code: string; message: string } | undefined;
  /** Kept for retries, unless it is too large to travel. */
  keep?: unknown;
  /** Whether the whole answer of the end is wanted. */
  answered: boolean;
  /** The begin, where the object may hold it in memory alone. */
  untold?: BeginCommand | null | undefined;
}

export const NO_USAGE: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  responseTokens: 0,
  reasoningTokens: 0,
  searches: 0,
  audio: 0,
  audioSeconds: 0,
};

/** Characters of a message to an object: it may have 32 MiB, and a character takes up to two bytes. */
const MESSAGE_LENGTH_MAX = 15 * 1024 * 1024;

/** What came of the end. */
export type Finished =
  | { ok: false; refusal: Refusal }
  | {
      ok: true;
      /** `null` where it is not known. */
      costNanoUsd: NanoUsd | null;
      /** Where it was wanted. */
      answer: Accepted<EndCallData> | null;
    };

/** Ends the call. One that its object forgot, because nobody had been told of it, is recorded from its begin. */
export async function finishCall(caller: Caller, callId: string, outcome: Outcome): Promise<Finished> {
  const command = await finishCommand(caller, outcome);
  const address = customerByName(caller.env, caller.organization.organizationId, outcome.customerId);
  const whole = sendCommand({ ...command, callId });
  // An answer that is too large to travel is not kept; what it used is recorded all the same.
  const text = travels(whole) ? whole : sendCommand({ ...command, callId, keep: undefined });
  // What is kept may be large: it travels by itself.
  const answer = await (command.keep === undefined
    ? sendShared(caller, outcome.customerId, { kind: 'finish', text: () => text })
    : ask(address, (customer) => customer.finish(text)));
  const finished = JSON.parse(answer) as FinishedCall;
  const { untold } = outcome;
  const forgotten = untold && !finished.ok && finished.refusal.code === 'CALL_NOT_FOUND';
  if (!forgotten) return finishedOf(finished);
  const begin = { ...untold, untold: false };
  return finishedOf(await ask(address, (customer) => customer.record(begin, command) as PromiseLike<FinishedCall>));
}

/**
 * Whether a command can be sent, and what it keeps be answered again: as a text within a text, whose quotes are escaped
 * once more.
 */
function travels(text: string): boolean {
  return text.length * 2 <= MESSAGE_LENGTH_MAX || JSON.stringify(text).length <= MESSAGE_LENGTH_MAX;
}

function finishedOf(finished: FinishedCall): Finished {
  if (!finished.ok) return finished;
  const { costNanoUsd, answer } = finished;
  return {
    ok: true,
    costNanoUsd: costNanoUsd === null ? null : BigInt(costNanoUsd),
    answer: answer && { ok: true, ...answer, replayed: false },
  };
}

/** The end as the customer's object takes it, but for the call. */
export async function finishCommand(
  { env, organization, defer }: Caller,
  outcome: Outcome,
): Promise<Omit<FinishCommand, 'callId'>> {
  const { modelUsed, providerUsed, usage, searches = 0, isPremium, error, keep, answered } = outcome;
  const { reasoningEffort, reasoningEffortSource, reasoningMode, reasoningBudgetTokens } = outcome;
  const { catalog } = await currentCatalog(env, defer);
  const price = await resolvePrice(catalog, organization.prices, { modelUsed, providerUsed }, Date.now());
  return {
    organizationId: organization.organizationId,
    price: usage === null || usage === IMPLAUSIBLE ? usageUnknown(price, usage) : price,
    request: {
      providerUsed,
      modelUsed,
      reasoningEffort,
      reasoningEffortSource,
      reasoningMode,
      reasoningBudgetTokens,
      usage: usage === null || usage === IMPLAUSIBLE ? { ...NO_USAGE, searches } : { ...NO_USAGE, ...usage },
      isPremium,
      error,
    },
    keep,
    answered,
  };
}

/** The vendor's figures as usage. */
export function usageOf(said: VendorUsage): Usage {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, responseTokens, reasoningTokens } = said;
  const { searches = 0, audio = 0, audioSeconds = 0 } = said;
  return {
    inputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    responseTokens,
    reasoningTokens,
    searches,
    audio,
    audioSeconds,
  };
}

/** What the vendor said of its usage, to be recorded. */
export function reportedUsage(reported: ReportedUsage): Usage | typeof IMPLAUSIBLE | null {
  return reported === null || reported === IMPLAUSIBLE ? reported : usageOf(reported);
}

/** A call whose vendor did not say what it used was not free: what it cost is not known. */
function usageUnknown(price: ResolvedPrice, usage: typeof IMPLAUSIBLE | null): ResolvedPrice {
  return price.available
    ? { available: false, reason: usage === null ? 'USAGE_NOT_REPORTED' : 'USAGE_IMPLAUSIBLE' }
    : price;
}
