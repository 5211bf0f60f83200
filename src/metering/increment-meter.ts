/**
 * Use case: record usage of a custom meter.
 */

import type { IncrementMeterRequest } from '../contract/custom-meter.ts';
import type { SerializedAnswer } from '../contract/errors.ts';
import { closedFeature } from '../contract/key-limits.ts';
import type { AnswerTo } from '../contract/operations.ts';
import type { Nothing } from '../domain/call-report.ts';
import { takeLabels } from '../domain/labels.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { sendCommand } from '../objects/command-text.ts';
import type { IncrementCommand } from '../objects/customer-commands.ts';
import { timeOrderedId } from '../platform/time-ordered-id.ts';
import type { Caller } from './caller.ts';
import { explicitKey, hashPayload } from './idempotency.ts';

export async function incrementMeter(
  { env, organization, limits }: Caller,
  request: IncrementMeterRequest,
  headerKey: string | null,
): Promise<SerializedAnswer<AnswerTo<'incrementMeter'>>> {
  const closed = closedFeature(limits, request.feature);
  if (closed) return closed;
  const { organizationId } = organization;
  const { labels, rest: described } = takeLabels(request);
  const { customerId, meterSlot, amount, metadata, idempotencyKey: _key, idempotency: _oldKey, ...rest } = described;
  rest satisfies Nothing;
  const idempotencyKey = explicitKey(headerKey, request);
  // Without a key, there is no payload to compare with.
  const fingerprint = idempotencyKey === null ? '' : await hashPayload(request);
  // Made here, so that the object recognizes an increment without a key that is sent again.
  const eventId = timeOrderedId(Date.now());
  return ask(customerByName(env, { organizationId, customerId }), (customer) =>
    customer.increment(
      sendCommand<IncrementCommand>({
        organizationId,
        eventId,
        request: { ...labels, slot: meterSlot, amount, metadata },
        idempotencyKey,
        fingerprint,
      }),
    ),
  );
}
