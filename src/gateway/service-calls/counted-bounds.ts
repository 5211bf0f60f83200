/**
 * Bounds of a call by its vendors' counts: asked before a call is refused for lack of credit, never for a call that
 * passes.
 *
 * A vendor's count is remembered for the same prompt, and a customer has a limited number of questions a minute, so
 * that calls that are refused again and again do not become as many requests to the vendor. One isolate keeps both.
 */

import { type CallBound, withVendorCount } from '../../domain/bound.ts';
import type { CustomerId } from '../../domain/ids.ts';
import type { Caller } from '../../metering/caller.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { sha256Hex } from '../../platform/hash.ts';
import { remember } from '../../platform/isolate-memory.ts';
import {
  askCounter,
  type CountRequest,
  countRequest,
  type PromptCount,
  type PromptToCount,
} from '../../vendors/prompt-counter.ts';

/** The longest that a call waits for a count before it is refused. */
const COUNT_TIMEOUT_MS = 3_000;
/** Counts that one isolate remembers, and for how long. */
const COUNTS_MAX = 1_000;
const COUNT_KEPT_MS = 600_000;
/** How long a vendor that gave no count is not asked again. */
const FAILURE_KEPT_MS = 10_000;
/** Questions for one customer in a minute. */
const QUESTIONS_MAX = 30;
const MINUTE_MS = 60_000;
/** Customers whose questions one isolate counts. */
const CUSTOMERS_MAX = 1_000;

const counts = remember(() => new BoundedMap<string, { count: PromptCount | null; untilMs: number }>(COUNTS_MAX));
const questions = remember(() => new BoundedMap<string, { startedAtMs: number; asked: number }>(CUSTOMERS_MAX));

/**
 * The bounds in their order. `buildCount` returns the request that the vendor of a bound would get; `null` if the vendor
 * cannot be asked.
 */
export async function countedBounds(
  { organization: { organizationId } }: Pick<Caller, 'organization'>,
  customerId: CustomerId,
  bounds: readonly CallBound[],
  buildCount: (place: number) => Promise<PromptToCount | null>,
): Promise<CallBound[]> {
  const customer = JSON.stringify([organizationId, customerId]);
  const asked = new Map<string, Promise<PromptCount | null>>();
  return Promise.all(
    bounds.map(async (bound, place) => {
      const request = bound.countable ? await buildCount(place) : null;
      const toCounter = request && countRequest(request);
      if (!toCounter) return bound;
      const prompt = await hashCountRequest(customer, toCounter);
      const count = asked.get(prompt) ?? countOnce(prompt, customer, toCounter);
      asked.set(prompt, count);
      return withVendorCount(bound, await count);
    }),
  );
}

/**
 * Names equal requests of one customer, which have the same count: only the vendor's own headers can change it. The
 * name includes the customer, so that the time of an answer does not reveal another customer's prompt.
 */
function hashCountRequest(customer: string, { url, headers, body }: CountRequest): Promise<string> {
  const own = Object.entries(headers).filter(([name]) => /^(?:anthropic|openai)-/i.test(name));
  return sha256Hex(JSON.stringify([customer, url, own, body]));
}

async function countOnce(prompt: string, customer: string, request: CountRequest): Promise<PromptCount | null> {
  const known = counts.value.get(prompt);
  if (known && Date.now() < known.untilMs) return known.count;
  if (!mayAsk(customer, Date.now())) return null;
  const count = await askCounter(request, COUNT_TIMEOUT_MS);
  counts.value.delete(prompt);
  counts.value.set(prompt, { count, untilMs: Date.now() + (count ? COUNT_KEPT_MS : FAILURE_KEPT_MS) });
  return count;
}

/** Takes one of the customer's questions, if one is left in this minute. */
function mayAsk(customer: string, nowMs: number): boolean {
  const known = questions.value.get(customer);
  const minute = known && nowMs - known.startedAtMs < MINUTE_MS ? known : { startedAtMs: nowMs, asked: 0 };
  if (minute.asked >= QUESTIONS_MAX) return false;
  questions.value.set(customer, { ...minute, asked: minute.asked + 1 });
  return true;
}
