/**
 * Runs a use case of the API on behalf of the operator, and records an operator event.
 */

import type { Answer } from '../contract/errors.ts';
import type { OperatorAction } from '../contract/operator-actions.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { commitChange, type OperatorRequest } from '../operator/change.ts';

export interface Logged {
  action: OperatorAction;
  organizationId: OrganizationId;
  subject: string;
  before: unknown;
}

/**
 * Runs the use case, whose commands are idempotent, and records its outcome. `after` is the state that the event
 * stores.
 */
export function byOperator<Data>(
  request: OperatorRequest,
  logged: Logged,
  run: () => Promise<Answer<Data>>,
  after: (data: Data) => unknown,
): Promise<Answer<Data>> {
  return commitChange<Data>(request, async () => {
    const answer = await run();
    if (!answer.ok) return answer;
    return {
      ...logged,
      after: after(answer.data),
      statements: [],
      replaces: false,
      code: answer.result.code,
      data: answer.data,
    };
  });
}
