/**
 * The answers to a repeated request for a batch: the stored answer, a conflict, or that it is still in progress.
 *
 * OpenAI's SDKs send no idempotency key, yet repeat failed requests. If a batch may have begun and its request had no
 * key, the answer tells them not to repeat it.
 */

import { REPLAY_HEADER } from '../../contract/envelope.ts';
import { GATEWAY_HEADERS } from '../../contract/gateway/labels.ts';
import type { BatchAnswer } from '../../objects/batch-commands.ts';
import { refusalAnswer } from '../error-envelope.ts';

/** A retry that arrives while the batch is being begun or searched for is told to come back after this time. */
const IN_FLIGHT_RETRY_SECONDS = 2;

export function replayedAnswer(answer: BatchAnswer): BatchAnswer {
  return { ...answer, headers: { ...answer.headers, [REPLAY_HEADER]: 'true' } };
}

/** The batch was begun, and the vendor's answer is too large to be stored. */
export function answerNotKept(batchId: string): BatchAnswer {
  const message = `the batch ${batchId} was begun, and the vendor's answer was too large to be kept; read the batch by its id`;
  return refusalAnswer({ code: 'CALL_ALREADY_FINALIZED', message });
}

export function inFlight(keyed: boolean): BatchAnswer {
  const retryAfterSeconds = IN_FLIGHT_RETRY_SECONDS;
  return refusalAnswer({
    code: 'CALL_IN_FLIGHT',
    message: 'the batch is still beginning',
    retryAfterSeconds,
    retry: keyed,
  });
}

export function keyOfAnotherBatch(): BatchAnswer {
  const message = 'the idempotency key was used before with another payload';
  return refusalAnswer({ code: 'IDEMPOTENCY_KEY_CONFLICT', message });
}

/** The customer was erased before the vendor was asked. The answer tells clients not to repeat the request. */
export function erasedMeanwhile(): BatchAnswer {
  return refusalAnswer({ code: 'CONFLICT', message: 'the customer was erased while the batch was being begun' });
}

/**
 * An error after which the vendor may still begin the batch: without a key, a repeated request would begin another one.
 */
export function notSentAgain(answer: BatchAnswer, keyed: boolean): BatchAnswer {
  return keyed ? answer : { ...answer, headers: { ...answer.headers, [GATEWAY_HEADERS.shouldRetry]: 'false' } };
}
