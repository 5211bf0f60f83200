/**
 * The end of a call that the service made itself: usage from the vendor's own figures, priced, and recorded with what is
 * kept for retries.
 */

import type { EndCommand } from '../../durable-objects/customer/protocol.ts';
import type { Customer } from '../../durable-objects/customer.ts';
import { resolvePrice } from '../catalog/prices.ts';
import type { EndCallData } from '../contract/calls.ts';
import { type Answer, received, type SentAnswer } from '../contract/errors.ts';
import type { Reasoning } from '../domain/call.ts';
import type { ResolvedPrice, Usage } from '../domain/pricing.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { ask, customerByName } from '../storage/objects.ts';
import type { VendorUsage } from '../vendors/usage.ts';
import type { Caller } from './caller.ts';

/** How a call went. */
export interface Outcome extends Reasoning {
  customerId: string;
  providerUsed?: string | undefined;
  modelUsed?: string | undefined;
  /** `null` where a vendor was asked, may have done the work, and did not say: what that cost is not known. */
  usage: Partial<Usage> | null;
  isPremium?: boolean | undefined;
  error?: { code: string; message: string } | undefined;
  /** Kept for retries. */
  keep: unknown;
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

export async function finishCall(caller: Caller, callId: string, outcome: Outcome): Promise<Answer<EndCallData>> {
  const command = await endCommand(caller, outcome);
  const address = customerByName(caller.env, caller.organization.organizationId, outcome.customerId);
  return received(await ask<DurableObjectStub<Customer>, SentAnswer>(address, (customer) => customer.end({ ...command, callId })));
}

/** The end as the customer's object takes it, but for the call. */
export async function endCommand({ env, organization, defer }: Caller, outcome: Outcome): Promise<Omit<EndCommand, 'callId'>> {
  const { modelUsed, providerUsed, usage, isPremium, error, keep } = outcome;
  const { reasoningEffort, reasoningEffortSource, reasoningMode, reasoningBudgetTokens } = outcome;
  const { catalog } = await currentCatalog(env, defer);
  const price = await resolvePrice(catalog, organization.prices, { modelUsed, providerUsed }, Date.now());
  return {
    organizationId: organization.organizationId,
    idempotencyKey: null,
    // A call is finished once, by whoever opened it.
    fingerprint: 'finished',
    price: usage === null ? usageUnknown(price) : price,
    request: {
      providerUsed,
      modelUsed,
      reasoningEffort,
      reasoningEffortSource,
      reasoningMode,
      reasoningBudgetTokens,
      usage: { ...NO_USAGE, ...usage },
      isPremium,
      error,
    },
    keep,
  };
}

/** The vendor's figures as usage. */
export function usageOf({
  inputTokens,
  cachedInputTokens,
  cacheWriteInputTokens,
  responseTokens,
  reasoningTokens,
  searches,
}: VendorUsage): Usage {
  return { ...NO_USAGE, inputTokens, cachedInputTokens, cacheWriteInputTokens, responseTokens, reasoningTokens, searches: searches ?? 0 };
}

/** A call whose vendor did not say what it used was not free: what it cost is not known. */
function usageUnknown(price: ResolvedPrice): ResolvedPrice {
  return price.available ? { available: false, reason: 'USAGE_NOT_REPORTED' } : price;
}
