/**
 * An operator's change: its effect, its event and its idempotency record commit in one D1 transaction; where it
 * replaces something that isolates may remember, it is acknowledged only when none of them uses the old value any more.
 */

import { eq } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Env } from '../env.ts';
import { decryptText, encryptText } from '../platform/cipher.ts';
import { sha256Hex } from '../platform/hash.ts';
import { HOUR_MS } from '../platform/time.ts';
import { database } from '../storage/database.ts';
import { newEventId } from '../storage/events.ts';
import { operatorEvents, operatorIdempotency } from '../storage/schema.ts';

/** Who asks, and how the request is identified. */
export interface OperatorRequest {
  env: Env;
  /** For the event log. */
  actor: string;
  correlationId: string;
  /** The `Idempotency-Key` of a POST. */
  idempotencyKey: string | null;
  /** What the key stands for: the operation, and its whole input. */
  operationId: string;
  input: unknown;
}

export interface Change<Data> {
  action: string;
  organizationId: string | null;
  subject: string;
  before: unknown;
  after: unknown;
  statements: BatchItem<'sqlite'>[];
  /** Whether isolates may hold the value that this change replaces. */
  replaces: boolean;
  code: string;
  data: Data;
}

/** Answers of POSTs are replayed for this long. */
const ANSWER_RETENTION_MS = 48 * HOUR_MS;
const ANSWER_PURPOSE = 'operator answers';
/** A change is decided so often at most while others come first. */
const ATTEMPTS_MAX = 5;

/**
 * Decides with `decide`, and commits the change that it returns. Where it returns an answer instead (a refusal, or the
 * state that already is as asked), nothing is stored. The stored answer is replayed where the key was used before.
 */
export async function commitChange<Data>(
  request: OperatorRequest,
  decide: (nowMs: number) => Promise<Change<Data> | Answer<Data>>,
): Promise<Answer<Data>> {
  const earlier = await storedAnswer<Data>(request);
  if (earlier) return earlier;
  for (let attempt = 1; ; attempt += 1) {
    const nowMs = Date.now();
    const decision = await decide(nowMs);
    if ('ok' in decision) return decision;
    const answer = await commit(request, decision, nowMs, attempt < ATTEMPTS_MAX);
    if (answer) return answer;
  }
}

/** Commits what was decided; `null` where another change came first, and it `mayDecideAgain`. */
async function commit<Data>(
  request: OperatorRequest,
  decision: Change<Data>,
  nowMs: number,
  mayDecideAgain: boolean,
): Promise<Answer<Data> | null> {
  const answer = accept(decision.code, decision.data, nowMs);
  const db = database(request.env.DB);
  const event = db.insert(operatorEvents).values({
    eventId: newEventId(nowMs),
    atMs: nowMs,
    actor: request.actor,
    action: decision.action,
    organizationId: decision.organizationId,
    subject: decision.subject,
    before: decision.before,
    after: decision.after,
    correlationId: request.correlationId,
  });
  const record = await idempotencyRecord(request, answer, nowMs);
  const batch: BatchItem<'sqlite'>[] = [
    ...decision.statements,
    event,
    ...(record ? [db.insert(operatorIdempotency).values(record)] : []),
  ];
  try {
    await db.batch(batch as [BatchItem<'sqlite'>, ...BatchItem<'sqlite'>[]]);
  } catch (error) {
    // Two requests with one key at the same time: the other one won, and its answer is there now.
    const winner = await storedAnswer<Data>(request);
    if (winner) return winner;
    // What it was decided on is no longer so: another request has taken the row that this one was to make.
    if (mayDecideAgain && isTaken(error)) return null;
    throw error;
  }
  if (decision.replaces) await scheduler.wait(request.env.CONFIG_TTL_MS);
  return answer;
}

/** D1 says so in words alone, and the driver wraps them. */
function isTaken(error: unknown): boolean {
  const { message, cause } = error as Error;
  return /UNIQUE constraint failed/.test(message) || (cause instanceof Error && isTaken(cause));
}

async function storedAnswer<Data>(request: OperatorRequest): Promise<Answer<Data> | null> {
  if (request.idempotencyKey === null) return null;
  const db = database(request.env.DB);
  const [row] = await db
    .select()
    .from(operatorIdempotency)
    .where(eq(operatorIdempotency.idempotencyKey, recordKey(request)));
  if (!row) return null;
  const answer =
    row.fingerprint === (await fingerprintOf(request))
      ? await decryptText(secretOf(request), ANSWER_PURPOSE, row.answer)
      : null;
  if (answer === null)
    return refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');
  return { ...JSON.parse(answer), replayed: true };
}

async function idempotencyRecord<Data>(request: OperatorRequest, answer: Answer<Data>, nowMs: number) {
  if (request.idempotencyKey === null) return null;
  return {
    idempotencyKey: recordKey(request),
    fingerprint: await fingerprintOf(request),
    answer: await encryptText(secretOf(request), ANSWER_PURPOSE, JSON.stringify(answer)),
    expiresAtMs: nowMs + ANSWER_RETENTION_MS,
  };
}

function recordKey({ operationId, idempotencyKey }: OperatorRequest): string {
  return `${operationId}:${idempotencyKey}`;
}

function fingerprintOf({ input }: OperatorRequest): Promise<string> {
  return sha256Hex(canonicalJson(input));
}

/** Answers may hold a new API key, so they are stored under the operator's own secret. */
function secretOf({ env }: OperatorRequest): string {
  if (env.OPERATOR_TOKEN === undefined) throw new Error('the operator API needs OPERATOR_TOKEN');
  return env.OPERATOR_TOKEN;
}
