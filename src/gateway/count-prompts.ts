/**
 * The bounds of a call's attempts by the counts of their vendors, each for the request that the vendor would get.
 */

import type { CallBound } from '../domain/bound.ts';
import type { CustomerId } from '../domain/ids.ts';
import type { Caller } from '../metering/caller.ts';
import { chooseEffort } from '../vendors/effort.ts';
import type { PromptToCount } from '../vendors/prompt-counter.ts';
import { attemptTerms, type BoundedAttempt } from './admission.ts';
import type { ModelCall } from './admitted-call.ts';
import { formAt } from './dialects/dialect.ts';
import { withoutOwnFields } from './identify.ts';
import { requestHeaders } from './passed-headers.ts';
import { countedBounds } from './service-calls/counted-bounds.ts';
import { findVendorKey } from './vendor-key.ts';

export function countPrompts(
  caller: Caller,
  { dialect, request, toVendor }: ModelCall,
  customerId: CustomerId,
  attempts: readonly BoundedAttempt[],
): Promise<CallBound[]> {
  const asked = withoutOwnFields(request);
  const buildCount = async (attempt: BoundedAttempt): Promise<PromptToCount | null> => {
    const { provider, kind, limits } = attempt;
    const vendorKey = await findVendorKey(caller, provider);
    if (vendorKey === null) return null;
    const form = formAt(dialect, kind);
    // A plan that lowers the effort does not make a prompt longer.
    const { effort } = chooseEffort(dialect.effortAsked(asked), 'HIGH', limits.efforts);
    return {
      kind,
      url: form.vendorUrl(attempt, asked),
      headers: requestHeaders(form.vendorHeaders(vendorKey), toVendor, caller.organization.vendors.get(provider)),
      body: form.vendorBody(asked, attemptTerms(attempt, effort, 'HIGH')),
    };
  };
  const bounds = attempts.map(({ bound }) => bound);
  return countedBounds(caller, customerId, bounds, async (place) => {
    const attempt = attempts[place];
    return attempt ? buildCount(attempt) : null;
  });
}
