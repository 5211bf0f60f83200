/**
 * What a request for a batch is answered where it is not the first: the stored answer, a conflict, or that it is under
 * way. OpenAI's SDK sends no key of its own and still sends failed requests again, so that what may have begun without
 * a key is marked as not to be sent again.
 */

import { REPLAY_HEADER } from '../../contract/envelope.ts';
import { refuse } from '../../contract/errors.ts';
import { GATEWAY_HEADERS } from '../../contract/gateway.ts';
import type { BatchAnswer } from '../../objects/batch-commands.ts';
import { failureAnswer, refusalAnswer } from '../answer.ts';
import { kept } from './creation.ts';

/** While the first request is on its way, or its batch is looked for, a retry is asked to come back after this. */
const IN_FLIGHT_RETRY_SECONDS = 2;

export function replayedAnswer(answer: BatchAnswer): BatchAnswer {
  return { ...answer, headers: { ...answer.headers, [REPLAY_HEADER]: 'true' } };
}

/** The batch was begun, and the vendor's answer is too large to be kept. */
export function answerNotKept(batchId: string): BatchAnswer {
  const message = `the batch ${batchId} was begun, and the vendor's answer was too large to be kept; read the batch by its id`;
  return kept(refusalAnswer(refuse('CALL_ALREADY_FINALIZED', message).refusal));
}

export function inFlight(keyed: boolean): BatchAnswer {
  const message = 'the batch is still being begun';
  const retryAfterSeconds = IN_FLIGHT_RETRY_SECONDS;
  return kept(failureAnswer({ status: 409, code: 'CALL_IN_FLIGHT', message, retryAfterSeconds, retry: keyed }));
}

export function keyOfAnotherBatch(): BatchAnswer {
  return kept(
    refusalAnswer(
      refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload').refusal,
    ),
  );
}

/**
 * The customer was erased while the request was on its way, and nothing was asked of the vendor. No client sends this
 * again by itself.
 */
export function erasedMeanwhile(): BatchAnswer {
  return kept(refusalAnswer(refuse('CONFLICT', 'the customer was erased while the batch was being begun').refusal));
}

/**
 * A failure after which the vendor may have begun all the same: under a key a retry finds out, without one it would
 * begin another.
 */
export function notSentAgain(answer: BatchAnswer, keyed: boolean): BatchAnswer {
  return keyed ? answer : { ...answer, headers: { ...answer.headers, [GATEWAY_HEADERS.shouldRetry]: 'false' } };
}
