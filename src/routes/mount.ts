/**
 * An operation of the contract as a route: who may call it, what it takes, in the order in which refusals are due
 * (401, 406, 403, 415, 413, 400), and 405 for every other method of its path.
 */
import type { Hono, MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { IDEMPOTENCY_HEADER } from '../contract/envelope.ts';
import { type Answer, refuse } from '../contract/errors.ts';
import type { ListQuery } from '../contract/fields.ts';
import { type Operation, operations } from '../contract/operations.ts';
import type { Caller } from '../metering/caller.ts';
import { type AppContext, type AppEnv, deferrer } from '../middleware/context.ts';
import { requireApiKey, requireOperator, requireScopes } from '../middleware/credentials.ts';
import { answerResponse, refusalResponse } from '../middleware/errors.ts';
import {
  BODY_BYTES_MAX,
  badRequest,
  checkIdempotencyHeader,
  jsonBody,
  requireAccept,
  validate,
} from '../middleware/input.ts';
import { type PageRequest, pageRequest } from '../platform/page.ts';

/** The validated input of an operation. */
export interface Input<O extends Operation> {
  params: O extends { params: z.ZodType } ? z.output<O['params']> : undefined;
  query: O extends { query: z.ZodType } ? z.output<O['query']> : undefined;
  body: O extends { body: z.ZodType } ? z.output<O['body']> : undefined;
}

/** What a check calls that has nothing against the request. */
const PASS = async () => undefined;

export function mount<O extends Operation>(
  app: Hono<AppEnv>,
  operation: O,
  handler: (c: AppContext, input: Input<O>) => Response | Promise<Response>,
): void {
  const checks = middlewareOf(operation);
  app.on([operation.method], [honoPath(operation)], async (c: AppContext) => {
    // One after the other here, and not as the router's own middleware, which costs more than most of the checks.
    for (const check of checks) {
      const refusal = await check(c, PASS);
      if (refusal) return refusal;
    }
    const valid = (target: 'param' | 'query' | 'json') => c.req.valid(target as never);
    const input = {
      params: operation.params && valid('param'),
      query: operation.query && valid('query'),
      body: operation.body && valid('json'),
    };
    return handler(c, input as Input<O>);
  });
}

/** An operation that answers in pages. */
export function mountList<O extends Operation>(
  app: Hono<AppEnv>,
  operation: O,
  answer: (c: AppContext, page: PageRequest, input: Input<O>) => Promise<Answer<unknown>>,
): void {
  mount(app, operation, async (c, input) => {
    const page = pageRequest(input.query as unknown as z.infer<typeof ListQuery>);
    if (!page)
      return refusalResponse(c, badRequest([{ path: 'cursor', message: 'must be the nextCursor of an earlier page' }]));
    return answerResponse(c, await answer(c, page, input));
  });
}

/** To be called last: a known path with another method is 405. */
export function mountMethodNotAllowed(app: Hono<AppEnv>): void {
  const methods = new Map<string, string[]>();
  for (const operation of Object.values<Operation>(operations)) {
    methods.set(honoPath(operation), [...(methods.get(honoPath(operation)) ?? []), operation.method]);
  }
  for (const [path, allowed] of methods) {
    const allow = [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
    app.all(path, (c) => {
      c.header('Allow', allow);
      return refusalResponse(c, refuse('METHOD_NOT_ALLOWED', `this route answers ${allow}`).refusal);
    });
  }
}

function middlewareOf({
  security,
  params,
  query,
  body,
  bodyBytesMax = BODY_BYTES_MAX,
  method,
}: Operation): MiddlewareHandler<AppEnv>[] {
  const permission =
    security.kind === 'operator' ? [requireOperator] : [requireApiKey, requireAccept, requireScopes(security)];
  return [
    ...permission,
    ...(body ? [jsonBody(body, bodyBytesMax)] : []),
    ...(method === 'POST' ? [checkIdempotencyHeader] : []),
    ...(params ? [validate('param', params)] : []),
    ...(query ? [validate('query', query)] : []),
  ];
}

function honoPath({ path }: Operation): string {
  // A model key may contain slashes, and ends its path.
  return path.replace('{modelKey}', ':modelKey{.+}').replace(/\{(\w+)\}/g, ':$1');
}

/** On whose behalf a request with an API key runs. */
export function callerOf(c: AppContext): Caller {
  return { env: c.env, organization: c.get('credential').organization, defer: deferrer(c) };
}

/** The idempotency key of the header, checked before. */
export function headerKeyOf(c: AppContext): string | null {
  return c.req.header(IDEMPOTENCY_HEADER) ?? null;
}
