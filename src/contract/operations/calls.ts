/**
 * Calls and custom meters: begin, end, make, read, increment.
 */
import { z } from 'zod';
import { BeginCallData, BeginCallRequest, EndCallData, EndCallRequest, ReadCallData } from '../calls.ts';
import {
  AmendCallRequest,
  AmendedCall,
  CorrectionRequest,
  callId,
  eventId,
  ReversedCall,
  ReversedMeterEvent,
  ReverseMeterEventRequest,
} from '../corrections.ts';
import { CustomMeterData, IncrementMeterRequest } from '../custom-meter.ts';
import { idempotencyKey } from '../fields.ts';
import { CallData, CallRequest } from '../unified-call.ts';
import { apiKey, type Operation, operation } from './operation.ts';

export const calls = {
  beginCall: operation({
    operationId: 'beginCall',
    summary: 'Ask what a customer may use for a call, and begin it',
    method: 'POST',
    path: '/call_begin',
    security: apiKey('usage:write'),
    body: BeginCallRequest,
    code: 'CALL_BEGIN_SUCCESS',
    data: BeginCallData,
  }),
  endCall: operation({
    operationId: 'endCall',
    summary: 'Report the usage of a call; get its cost and the updated quotas',
    method: 'POST',
    path: '/call_end',
    security: apiKey('usage:write'),
    body: EndCallRequest,
    code: 'CALL_END_SUCCESS',
    data: EndCallData,
  }),
  makeCall: operation({
    operationId: 'makeCall',
    summary: 'Begin a call, make the request to the vendor, and end it with the usage that the vendor reported',
    method: 'POST',
    path: '/call',
    security: apiKey('usage:write'),
    body: CallRequest,
    code: 'CALL_SUCCESS',
    otherCodes: ['CALL_VENDOR_WARNING'],
    data: CallData,
  }),
  readCall: operation({
    operationId: 'readCall',
    summary: 'Read the pricing of a call',
    method: 'GET',
    path: '/calls/{callId}',
    security: apiKey('usage:read'),
    params: z.object({ callId: idempotencyKey.describe('The call') }),
    code: 'CALL_PRICING_RETRIEVED',
    data: ReadCallData,
  }),
  reverseCall: operation({
    operationId: 'reverseCall',
    summary: 'Take back a finished call that was recorded by mistake',
    method: 'POST',
    path: '/calls/{callId}/reverse',
    security: apiKey('usage:write'),
    params: z.object({ callId }),
    body: CorrectionRequest,
    code: 'CALL_REVERSED',
    data: ReversedCall,
  }),
  amendCall: operation({
    operationId: 'amendCall',
    summary: 'Replace what the end of a call reported by mistake; everything is reported anew',
    method: 'POST',
    path: '/calls/{callId}/amend',
    security: apiKey('usage:write'),
    params: z.object({ callId }),
    body: AmendCallRequest,
    code: 'CALL_AMENDED',
    data: AmendedCall,
  }),
  incrementMeter: operation({
    operationId: 'incrementMeter',
    summary: 'Record usage of a custom meter; learn what paid for it',
    method: 'POST',
    path: '/custom_meter',
    security: { kind: 'apiKey', scopes: ['usage:write'], legacyGrant: 'meters:increment' },
    body: IncrementMeterRequest,
    code: 'CUSTOM_METER_SUCCESS',
    data: CustomMeterData,
  }),
  reverseMeterEvent: operation({
    operationId: 'reverseMeterEvent',
    summary: 'Take back an increment of a custom meter that was recorded by mistake',
    method: 'POST',
    path: '/meter_events/{eventId}/reverse',
    security: apiKey('usage:write'),
    params: z.object({ eventId }),
    body: ReverseMeterEventRequest,
    code: 'METER_EVENT_REVERSED',
    data: ReversedMeterEvent,
  }),
} as const satisfies Record<string, Operation>;
