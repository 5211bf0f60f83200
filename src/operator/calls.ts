/**
 * An organization's calls, as its own key reads them.
 */
import { operations } from '../contract/operations.ts';
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
