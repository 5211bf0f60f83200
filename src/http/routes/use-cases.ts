/**
 * The operator's use cases over HTTP, and those that a key of the organization shares with the operator.
 */
import type { Hono } from 'hono';
import type { z } from 'zod';
import type { ListQuery } from '../../contract/fields.ts';
import type { ListedRefusal, Operation } from '../../contract/operations.ts';
import { idempotencySpace } from '../../operator/identity.ts';
import type { AnyInput, AnyUseCase, Requester } from '../../operator/operation.ts';
import { CSV_TYPE } from '../../platform/csv.ts';
import { pageRequest } from '../../platform/page.ts';
import { prefersCsv } from '../middleware/accept.ts';
import { type AppContext, type AppEnv, deferrer } from '../middleware/context.ts';
import { headerKey, mount, NO_SUCH_PAGE } from './mount.ts';

/** A use case of the operator whose entry has the data, the result code and the listed refusals of an own operation. */
type UseCaseLike<O extends Operation> = AnyUseCase & {
  operation: { data: O['data']; code: O['code']; refusals?: readonly ListedRefusal<O>[] };
};

/** Mounts a use case at the route of its entry. */
export function mountUseCase(app: Hono<AppEnv>, useCase: AnyUseCase): void {
  mountAt(app, useCase.operation, useCase, operatorIn, (input) => input);
}

/**
 * Mounts a use case of the operator at the route for a key of the organization. The log names the key, and idempotency
 * keys are the organization's own.
 */
export function mountForTenant<O extends Operation>(app: Hono<AppEnv>, own: O, useCase: UseCaseLike<O>): void {
  mountAt(app, own, useCase, tenantIn, (input, c) => ({
    ...input,
    params: { ...(input.params as object), org: c.get('credential').organization.organizationId },
  }));
}

function mountAt(
  app: Hono<AppEnv>,
  operation: Operation,
  useCase: AnyUseCase,
  requesterIn: (c: AppContext, operation: Operation) => Requester,
  toInput: (input: AnyInput, c: AppContext) => AnyInput,
): void {
  mount(app, operation, async (c, given) => {
    const input = toInput(given, c);
    const requester = requesterIn(c, operation);
    if (!useCase.isList) return useCase.run(requester, input);
    const page = pageRequest(given.query as unknown as z.infer<typeof ListQuery>);
    if (!page) return NO_SUCH_PAGE;
    const { csv } = useCase;
    if (!csv || !prefersCsv(c.req.header('Accept'))) return useCase.run(requester, { ...input, page });
    const answer = await useCase.run(requester, { ...input, page: null });
    return answer.ok ? c.body(csv(answer.data), 200, { 'Content-Type': CSV_TYPE }) : answer;
  });
}

function operatorIn(c: AppContext, { method, operationId }: Operation): Requester {
  const operator = c.get('operator');
  return {
    ...common(c, method),
    by: 'operator',
    actor: operator.name,
    keySpace: idempotencySpace(operationId, operator),
  };
}

function tenantIn(c: AppContext, { method, operationId }: Operation): Requester {
  const { keyId, organization } = c.get('credential');
  return {
    ...common(c, method),
    by: 'tenant',
    actor: keyId,
    keySpace: `${operationId} ${organization.organizationId}`,
  };
}

function common(c: AppContext, method: Operation['method']) {
  return {
    env: c.env,
    defer: deferrer(c),
    origin: new URL(c.req.url).origin,
    correlationId: c.get('correlationId'),
    idempotencyKey: method === 'POST' ? headerKey(c) : null,
  };
}
