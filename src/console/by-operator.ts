/**
 * A use case that is made for API keys, done by the operator: the same function, and the event that an operator leaves.
 */
import type { Answer } from '../contract/errors.ts';
import { commitChange, type OperatorRequest } from '../operator/change.ts';

export interface Logged {
  action: string;
  organizationId: string;
  subject: string;
  before: unknown;
}

/**
 * Runs the use case, whose commands are idempotent by themselves, and logs what came of it. `after` is what the event
 * keeps.
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
