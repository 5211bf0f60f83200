/**
 * An operator takes back or replaces wrong records of an organization. The objects' commands take effect once, so a
 * change is made there first and then logged.
 */
import type { Answer, ErrorCode, Refused } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import { amendCall, reverseCall, reverseMeterEvent } from '../metering/correct.ts';
import { asTenant, change, type Decision, type Unchanged } from './operation.ts';

export const operatorReverseCall = change(operations.operatorReverseCall, {
  action: 'call.reverse',
  subject: atCustomer,
  decide: async ({ env, actor, params: { org, callId }, body }) =>
    corrected(await reverseCall({ env, organizationId: org, by: actor }, callId, body)),
});

export const operatorAmendCall = change(operations.operatorAmendCall, {
  action: 'call.amend',
  subject: atCustomer,
  decide: async ({ params: { callId }, body, actor, ...request }) =>
    // The operator's own record of keys replays answers; the object recognizes the amendment by its content.
    corrected(await asTenant(request, (caller) => amendCall({ ...caller, by: actor }, callId, body, null))),
});

export const operatorReverseMeterEvent = change(operations.operatorReverseMeterEvent, {
  action: 'meter_event.reverse',
  subject: atCustomer,
  decide: async ({ env, actor, params: { org, eventId }, body }) =>
    corrected(await reverseMeterEvent({ env, organizationId: org, by: actor }, eventId, body)),
});

/** Corrections are logged at the customer. */
function atCustomer(_request: unknown, { customerId }: { customerId: string }): string {
  return customerId;
}

/** A correction that was made before is not logged again. An operator has no key that could be limited to features. */
export function corrected<Data, Refusals extends ErrorCode>(
  answer: Answer<Data, string, Refusals>,
): Decision<Data> | Unchanged<Data> | Refused<Exclude<Refusals, 'FEATURE_NOT_ALLOWED'>> {
  if (!answer.ok) return answer as Refused as Refused<Exclude<Refusals, 'FEATURE_NOT_ALLOWED'>>;
  const { data, replayed } = answer;
  return replayed ? { unchanged: data, replayed } : { before: null, after: data, data };
}
