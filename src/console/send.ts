/**
 * Calls the operator's use cases for pages: sends a form's input to an operation, and loads the data of a page, with
 * the same checks, roles and idempotency as over HTTP.
 */
import type { MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { z } from 'zod';
import { badRequest, brokenRules, type Detail, type Refusal, type Refused } from '../contract/errors.ts';
import type { AnswerOf, InputOf, Operation, RefusalOf } from '../contract/operations.ts';
import { includesRole, type OperatorRole } from '../contract/roles.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { idempotencySpace } from '../operator/identity.ts';
import type { AnyInput, Requester, UseCase } from '../operator/operation.ts';
import { sha256Hex } from '../platform/hash.ts';
import type { FormState } from '../ui/form.tsx';
import { deferrer } from './caller.ts';
import type { ConsoleContext, ConsoleEnv } from './context.ts';
import type { PageInput } from './page-input.ts';

/** Digits of the content's hash in the idempotency key. */
const HASH_DIGITS = 24;

/** The operator's role does not allow the operation. Every page shows this in the same way (`roleRequired`). */
export class RoleRequired extends HTTPException {
  readonly role: OperatorRole;

  constructor(role: OperatorRole) {
    super(403);
    this.role = role;
  }
}

/**
 * Sends a form. Missing parameters come from the page's path. If a form is sent twice with the same content, it takes
 * effect once. The default idempotency key is the submission's id with a hash of the content, so that changed content,
 * after a step back in the browser, has another key.
 */
export async function send<O extends Operation, Given extends object>(
  c: ConsoleContext,
  useCase: UseCase<O>,
  given?: PageInput<O, 'params' | 'body', Given>,
  idempotencyKey?: string,
): Promise<AnswerOf<O>> {
  const { operation } = useCase;
  const { params, body } = given ?? {};
  requireRole(c, operation);
  requireNames(operation, { params });
  const input = checked(operation, { params: { ...c.req.param(), ...params }, body });
  if (!input.ok) return input;
  // PUT and PATCH set a value. If they are sent again they set it again, because it may have changed since.
  const repeatable = operation.method === 'PUT' || operation.method === 'PATCH';
  const key = repeatable ? null : (idempotencyKey ?? (await submissionKey(c, input.value)));
  return useCase.run(requesterIn(c, operation, key), input.value);
}

/** Items of a list that a page loads, unless it requests another number. */
const ITEMS_MAX = 200;

/** Loads the answer of an operation. Missing parameters come from the page's path. */
export async function load<O extends Operation, Given extends object>(
  c: ConsoleContext,
  useCase: UseCase<O>,
  given?: PageInput<O, 'params' | 'query' | 'page', Given>,
): Promise<AnswerOf<O>> {
  const { operation, isList } = useCase;
  const { params, query = {}, page = { limit: ITEMS_MAX, after: null } } = given ?? {};
  requireRole(c, operation);
  requireNames(operation, { params, query });
  const input = checked(operation, { params: { ...c.req.param(), ...params }, query });
  if (!input.ok) return input;
  const requester = requesterIn(c, operation, null);
  return useCase.run(requester, { ...input.value, ...(isList && { page }) });
}

/** The role that the operator lacks for an operation; `null` if none is lacking. */
export function lackedRole(c: ConsoleContext, { security }: Operation): OperatorRole | null {
  if (security.kind !== 'operator') throw new Error('the operation is not one of the operator');
  return includesRole(c.get('session').operator.role, security.role) ? null : security.role;
}

/** Checks the role before a form's preview, so that an operator without the role is told at once. */
export function sends({ operation }: { operation: Operation }): MiddlewareHandler<ConsoleEnv> {
  return async (c, next) => {
    requireRole(c, operation);
    await next();
  };
}

function requireRole(c: ConsoleContext, operation: Operation): void {
  const lacked = lackedRole(c, operation);
  if (lacked !== null) throw new RoleRequired(lacked);
}

/** A schema drops a name that it does not have, and the answer would be wider than meant. Such a name is a bug. */
function requireNames(operation: Operation, given: Partial<Record<'params' | 'query', object | undefined>>): void {
  for (const part of ['params', 'query'] as const) {
    const names = operation[part]?.shape ?? {};
    const unknown = Object.keys(given[part] ?? {}).find((name) => !(name in names));
    if (unknown !== undefined) throw new Error(`${operation.operationId} has no "${unknown}" in its ${part}`);
  }
}

/** The state of a form to show again, with the submitted values and their errors. */
export function wrong(c: ConsoleContext, refusal: Refusal): FormState {
  return { values: c.get('submitted').fields, details: refusalDetails(refusal) };
}

/** The details of a refusal, each with its field; without details the whole message. */
export function refusalDetails({ message, members }: Refusal): Detail[] {
  const listed = members?.details ?? [];
  if (listed.length > 0) return [...listed];
  const [, path, rule] = /^([A-Za-z][\w.]*): (.+)$/s.exec(message) ?? [];
  return [path !== undefined && rule !== undefined ? { path, message: rule } : { path: '', message }];
}

/** The input, parsed by the operation's schemas; else each broken rule with its field. */
function checked<O extends Operation>(
  operation: O,
  given: { params: object; query?: object; body?: unknown },
): { ok: true; value: InputOf<O> } | Refused<RefusalOf<O>> {
  const value: AnyInput = { params: undefined, query: undefined, body: undefined };
  const details: Detail[] = [];
  for (const part of ['params', 'query', 'body'] as const) {
    const schema: z.ZodType | undefined = operation[part];
    if (!schema) continue;
    const parsed = schema.safeParse(given[part] ?? {});
    if (parsed.success) value[part] = parsed.data;
    else details.push(...brokenRules(parsed.error));
  }
  // If the operation has no schema, no rule can be broken.
  const broken = details.length > 0 && (badRequest(...details) as Refused as Refused<RefusalOf<O>>);
  return broken || { ok: true, value: value as InputOf<O> };
}

function requesterIn(c: ConsoleContext, { operationId }: Operation, idempotencyKey: string | null): Requester {
  const { operator, by } = c.get('session');
  return {
    env: c.env,
    defer: deferrer(c),
    by: 'operator',
    actor: operator.name,
    origin: new URL(c.req.url).origin,
    correlationId: c.get('correlationId'),
    idempotencyKey,
    keySpace: by === 'access' ? idempotencySpace(operationId, operator) : operationId,
  };
}

async function submissionKey(c: ConsoleContext, input: unknown): Promise<string> {
  const hash = await sha256Hex(canonicalJson(input));
  return `console-${c.get('submitted').nonce}-${hash.slice(0, HASH_DIGITS)}`;
}
