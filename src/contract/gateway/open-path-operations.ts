/**
 * The operations of paths of a vendor that its operator has opened, one for each method.
 */
import { z } from 'zod';
import { type GatewayOperation, invoke } from './operation.ts';
import { OpenPathParams, OpenPathRequest } from './requests.ts';

const openPath = {
  path: '/v1/passthrough/{provider}/{path}',
  security: invoke,
  beginsCall: true,
  params: OpenPathParams,
  answer: z.unknown().describe("The vendor's answer as it comes: JSON, events or bytes"),
} as const;

/** Any path of a vendor that its operator has opened, with the vendor's key: each request is a call. */
export const openPathOperations = {
  getOpenPath: {
    operationId: 'getOpenPath',
    summary: 'GET an open path of a vendor, metered',
    method: 'GET',
    ...openPath,
  },
  postOpenPath: {
    operationId: 'postOpenPath',
    summary: 'POST to an open path of a vendor, metered',
    method: 'POST',
    body: OpenPathRequest,
    anyBody: true,
    ...openPath,
  },
  putOpenPath: {
    operationId: 'putOpenPath',
    summary: 'PUT to an open path of a vendor, metered',
    method: 'PUT',
    body: OpenPathRequest,
    anyBody: true,
    ...openPath,
  },
  patchOpenPath: {
    operationId: 'patchOpenPath',
    summary: 'PATCH an open path of a vendor, metered',
    method: 'PATCH',
    body: OpenPathRequest,
    anyBody: true,
    ...openPath,
  },
  deleteOpenPath: {
    operationId: 'deleteOpenPath',
    summary: 'DELETE an open path of a vendor, metered',
    method: 'DELETE',
    body: OpenPathRequest,
    anyBody: true,
    ...openPath,
  },
} as const satisfies Record<string, GatewayOperation>;
