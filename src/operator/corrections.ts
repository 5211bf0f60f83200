/**
 * An operator takes back or replaces what an organization recorded by mistake. The objects' commands take effect once, so a change is
 * made there first and then logged.
 */

import type {
  AmendCallRequest,
  AmendedCall,
  CorrectionRequest,
  ReversedCall,
  ReversedMeterEvent,
  ReverseMeterEventRequest,
} from '../contract/corrections.ts';
import type { Answer } from '../contract/errors.ts';
import type { OperatorAction } from '../contract/operator-actions.ts';
import type { CallId, CustomerId, OrganizationId } from '../domain/ids.ts';
import type { Caller } from '../metering/caller.ts';
import { amendCall, type Corrector, reverseCall, reverseMeterEvent } from '../metering/correct.ts';
import { loadOrganization } from '../storage/credentials.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

export function operatorReverseCall(
  request: OperatorRequest,
  organizationId: OrganizationId,
  callId: CallId,
  body: CorrectionRequest,
): Promise<Answer<ReversedCall>> {
  return correct(request, organizationId, 'call.reverse', (corrector) => reverseCall(corrector, callId, body));
}

export function operatorAmendCall(
  request: OperatorRequest,
  organizationId: OrganizationId,
  callId: CallId,
  body: AmendCallRequest,
  defer: Caller['defer'],
): Promise<Answer<AmendedCall>> {
  return correct(request, organizationId, 'call.amend', async ({ env, by }) => {
    const organization = await loadOrganization(env, organizationId);
    if (!organization) return noOrganization();
    // The operator's own record of keys replays answers; the object knows the amendment by its content.
    return amendCall({ env, organization, defer, by }, callId, body, null);
  });
}

export function operatorReverseMeterEvent(
  request: OperatorRequest,
  organizationId: OrganizationId,
  eventId: string,
  body: ReverseMeterEventRequest,
): Promise<Answer<ReversedMeterEvent>> {
  return correct(request, organizationId, 'meter_event.reverse', (corrector) =>
    reverseMeterEvent(corrector, eventId, body),
  );
}

/** Corrects, and logs it at the customer; a correction that was made before is not logged again. */
function correct<Data extends { customerId: CustomerId }>(
  request: OperatorRequest,
  organizationId: OrganizationId,
  action: OperatorAction,
  correction: (corrector: Corrector) => Promise<Answer<Data>>,
): Promise<Answer<Data>> {
  return commitChange<Data>(request, async () => {
    const { env, actor } = request;
    if (!(await findOrganization(env, organizationId))) return noOrganization();
    const answer = await correction({ env, organizationId, by: actor });
    if (!answer.ok || answer.replayed) return answer;
    return {
      action,
      organizationId,
      subject: answer.data.customerId,
      before: null,
      after: answer.data,
      statements: [],
      replaces: false,
      code: answer.result.code,
      data: answer.data,
    };
  });
}
