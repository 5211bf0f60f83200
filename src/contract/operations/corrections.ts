/**
 * Operator: corrections of an organization's wrong records.
 */

import {
  AmendCallRequest,
  AmendedCall,
  CorrectionRequest,
  eventId,
  ReversedCall,
  ReversedMeterEvent,
  ReverseMeterEventRequest,
} from '../corrections.ts';
import { callId } from '../fields.ts';
import { editor, type Operation, operation, organizationParam } from './operation.ts';

export const operatorCorrections = {
  operatorReverseCall: operation({
    operationId: 'operatorReverseCall',
    summary: "Reverse an organization's finished call that was recorded by mistake",
    method: 'POST',
    path: '/operator/organizations/{org}/calls/{callId}/reverse',
    security: editor,
    params: organizationParam.extend({ callId }),
    body: CorrectionRequest,
    code: 'CALL_REVERSED',
    data: ReversedCall,
    refusals: ['CALL_NOT_FOUND', 'CONFLICT'],
  }),
  operatorAmendCall: operation({
    operationId: 'operatorAmendCall',
    summary: "Amend an organization's call: replace what its end reported by mistake",
    method: 'POST',
    path: '/operator/organizations/{org}/calls/{callId}/amend',
    security: editor,
    params: organizationParam.extend({ callId }),
    body: AmendCallRequest,
    code: 'CALL_AMENDED',
    data: AmendedCall,
    refusals: ['CALL_NOT_FOUND', 'CONFLICT', 'PRICE_UNAVAILABLE'],
  }),
  operatorReverseMeterEvent: operation({
    operationId: 'operatorReverseMeterEvent',
    summary: "Reverse an increment of an organization's custom meter that was recorded by mistake",
    method: 'POST',
    path: '/operator/organizations/{org}/meter_events/{eventId}/reverse',
    security: editor,
    params: organizationParam.extend({ eventId }),
    body: ReverseMeterEventRequest,
    code: 'METER_EVENT_REVERSED',
    data: ReversedMeterEvent,
    refusals: ['CONFLICT'],
  }),
} as const satisfies Record<string, Operation>;
