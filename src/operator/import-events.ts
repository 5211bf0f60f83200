/**
 * The daily import's events in the event log, under a name of its own.
 */
import type { OperatorAction } from '../contract/operator-actions.ts';
import type { Env } from '../env.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import type { Requester } from './operation.ts';

const ACTOR = 'upstream import';
/** The subject of its events. */
export const IMPORT_SUBJECT = 'catalog';

/** An event with an idempotency key is recorded once, even if it is requested several times at once. */
export function importRequest(
  env: Env,
  operationId: string,
  nowMs: number,
  idempotencyKey: string | null = null,
): OperatorRequest {
  const correlationId = `upstream-${new Date(nowMs).toISOString()}`;
  return { env, actor: ACTOR, correlationId, idempotencyKey, operationId, input: null };
}

/** The import in the role of a requester of operations. */
export function importRequester(request: OperatorRequest, defer: Requester['defer']): Requester {
  return { ...request, defer, by: 'operator', origin: '', keySpace: request.operationId };
}

export async function leaveEvent(request: OperatorRequest, action: OperatorAction, after: object): Promise<void> {
  await commitChange(request, async () => ({
    action,
    organizationId: null,
    subject: IMPORT_SUBJECT,
    before: null,
    after,
    statements: [],
    replaces: false,
    code: 'EVENT_LEFT',
    data: null,
  }));
}
