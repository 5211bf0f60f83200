/**
 * An organization's calls, as its own key reads them.
 */
import { operations } from '../contract/operations.ts';
import type { Call } from '../domain/call.ts';
import type { CallId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { findOldCall } from '../history/calls.ts';
import { callsCsv, readCalls } from '../metering/list-calls.ts';
import { readCall } from '../metering/read-call.ts';
import { asTenant, csvList, read } from './operation.ts';

export const listOrganizationCalls = csvList(
  operations.listOrganizationCalls,
  ({ env, params, query, page }) => readCalls(env, params.org, query, page),
  callsCsv,
);

export const readOrganizationCall = read(operations.readOrganizationCall, (request) =>
  asTenant(request, (caller) => readCall(caller, request.params.callId)),
);

/** A call as D1 has it, with more of its report than an answer has; `null` if D1 does not have it. */
export function recordedCall(env: Env, organizationId: OrganizationId, callId: CallId): Promise<Call | null> {
  return findOldCall(env, organizationId, callId);
}
