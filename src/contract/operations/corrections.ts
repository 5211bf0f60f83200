/**
 * Operator: corrections of what an organization recorded by mistake.
 */
import { eventId, ReversedMeterEvent, ReverseMeterEventRequest } from '../corrections.ts';
import { type Operation, operation, operator, organizationParam } from './operation.ts';

export const operatorCorrections = {
  operatorReverseMeterEvent: operation({
    operationId: 'operatorReverseMeterEvent',
    summary: "Take back an increment of an organization's custom meter that was recorded by mistake",
    method: 'POST',
    path: '/operator/organizations/{org}/meter_events/{eventId}/reverse',
    security: operator,
    params: organizationParam.extend({ eventId }),
    body: ReverseMeterEventRequest,
    code: 'METER_EVENT_REVERSED',
    data: ReversedMeterEvent,
  }),
} as const satisfies Record<string, Operation>;
