/**
 * An operator's change: its effect, its event and its idempotency record commit in one D1 transaction. A change of a
 * value that isolates cache is acknowledged only when none of them uses the old value any more.
 */

import { markChange } from '../config/change-marks.ts';
import type { Statement } from '../config/database.ts';
import { commitStatements, findStoredAnswer, isTaken, type StoredAnswer } from '../config/operator-changes.ts';
import { type Accepted, type Answer, accept, type ErrorCode, refuse } from '../contract/errors.ts';
import type { OperatorAction } from '../contract/operator-actions.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { wakeAfterChange } from '../objects/watches.ts';
import { decryptText, encryptText } from '../platform/cipher.ts';
import { sha256Hex } from '../platform/hash.ts';
import { HOUR_MS } from '../platform/time.ts';

/** The operator who makes the change, and the identity of the request. */
export interface OperatorRequest {
  env: Env;
  /** For the event log. */
  actor: string;
  correlationId: string;
  /** The `Idempotency-Key` of a POST. */
  idempotencyKey: string | null;
  /** The key is bound to the operation and its whole input. */
  operationId: string;
  input: unknown;
}

export interface Change<Data, Code extends string = string> {
  action: OperatorAction;
  organizationId: OrganizationId | null;
  subject: string;
  before: unknown;
  after: unknown;
  statements: readonly Statement[];
  /** Whether isolates may hold the value that this change replaces. */
  replaces: boolean;
  code: Code;
  data: Data;
}

/** The refusal of an idempotency key that was used for something else. */
type KeyConflict = 'IDEMPOTENCY_KEY_CONFLICT';

/** Answers of POSTs are replayed for this long. */
const ANSWER_RETENTION_MS = 48 * HOUR_MS;
const ANSWER_PURPOSE = 'operator answers';
/** The most attempts to commit a change while concurrent changes come first. */
const ATTEMPTS_MAX = 5;

/**
 * Commits the change that `decide` returns. If it returns an answer instead (a refusal, or the state that is already as
 * requested), nothing is stored. If the idempotency key was used before, the stored answer is replayed.
 */
export async function commitChange<Data, Code extends string, Refusals extends ErrorCode = never>(
  request: OperatorRequest,
  decide: (nowMs: number) => Promise<Change<Data, Code> | Answer<Data, Code, Refusals>>,
): Promise<Answer<Data, Code, Refusals | KeyConflict>> {
  const earlier = await storedAnswer<Data, Code>(request);
  if (earlier) return earlier;
  for (let attempt = 1; ; attempt += 1) {
    const nowMs = Date.now();
    const decision = await decide(nowMs);
    if ('ok' in decision) return decision;
    const answer = await commit(request, decision, nowMs, attempt < ATTEMPTS_MAX);
    if (answer) return answer;
  }
}

/** Commits the change; `null` if a concurrent one came first and `mayDecideAgain` allows another attempt. */
async function commit<Data, Code extends string>(
  request: OperatorRequest,
  decision: Change<Data, Code>,
  nowMs: number,
  mayDecideAgain: boolean,
): Promise<Answer<Data, Code, KeyConflict> | null> {
  const answer = accept(decision.code, decision.data, nowMs);
  const { action, organizationId, subject, before, after } = decision;
  const { actor, correlationId } = request;
  const event = { atMs: nowMs, actor, action, organizationId, subject, before, after, correlationId };
  const stored = await toStoredAnswer(request, answer, nowMs);
  const mark = () => (decision.replaces && organizationId !== null ? markChange(request.env, organizationId) : null);
  try {
    await commitStatements(request.env, decision.statements, event, stored);
  } catch (error) {
    // It may be committed, with only the answer lost.
    await mark();
    // A concurrent request with the same key was committed first, and its answer is now stored.
    const winner = await storedAnswer<Data, Code>(request);
    if (winner) return winner;
    // Another request has created the row that this one was to create: decide again on the present state.
    if (mayDecideAgain && isTaken(error)) return null;
    throw error;
  }
  await Promise.all([
    wakeAfterChange(request.env, organizationId, action),
    mark(),
    decision.replaces ? scheduler.wait(request.env.CONFIG_TTL_MS) : null,
  ]);
  return answer;
}

async function storedAnswer<Data, Code extends string>(
  request: OperatorRequest,
): Promise<Answer<Data, Code, KeyConflict> | null> {
  if (request.idempotencyKey === null) return null;
  const row = await findStoredAnswer(request.env, recordKey(request));
  if (!row) return null;
  const answer =
    row.fingerprint === (await hashInput(request))
      ? await decryptText(operatorSecret(request), ANSWER_PURPOSE, row.answer)
      : null;
  if (answer === null)
    return refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');
  return { ...JSON.parse(answer), replayed: true };
}

async function toStoredAnswer(
  request: OperatorRequest,
  answer: Accepted<unknown>,
  nowMs: number,
): Promise<StoredAnswer | null> {
  if (request.idempotencyKey === null) return null;
  return {
    idempotencyKey: recordKey(request),
    fingerprint: await hashInput(request),
    answer: await encryptText(operatorSecret(request), ANSWER_PURPOSE, JSON.stringify(answer)),
    expiresAtMs: nowMs + ANSWER_RETENTION_MS,
  };
}

function recordKey({ operationId, idempotencyKey }: OperatorRequest): string {
  return `${operationId}:${idempotencyKey}`;
}

function hashInput({ input }: OperatorRequest): Promise<string> {
  return sha256Hex(canonicalJson(input));
}

/** Answers may hold a new API key, so they are stored under the operator's own secret. */
function operatorSecret({ env }: OperatorRequest): string {
  if (env.OPERATOR_TOKEN === undefined) throw new Error('the operator API needs OPERATOR_TOKEN');
  return env.OPERATOR_TOKEN;
}
