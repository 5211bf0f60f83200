/**
 * Mounts an operation of the contract: its request is checked, its handler gets the validated input, and any other
 * method of its path gets 405.
 *
 * The metering interface and the gateway are mounted by the same functions, each with its own `ApiStyle`.
 */
import type { Hono } from 'hono';
import type { z } from 'zod';
import { IDEMPOTENCY_HEADER } from '../../contract/envelope.ts';
import { badRequest, refuse, type SerializedAnswer } from '../../contract/errors.ts';
import type { ListQuery } from '../../contract/fields.ts';
import { type AnswerOf, type DataOf, type Operation, operations } from '../../contract/operations.ts';
import type { Caller } from '../../metering/caller.ts';
import { settleChange } from '../../metering/key-changes.ts';
import { countSessionRequest } from '../../metering/session-requests.ts';
import { CSV_TYPE } from '../../platform/csv.ts';
import type { UploadedForm } from '../../platform/multipart.ts';
import { type PageRequest, pageRequest } from '../../platform/page.ts';
import type { RequestBody } from '../../platform/request-body.ts';
import { prefersCsv } from '../middleware/accept.ts';
import { type ApiStyle, BODY_BYTES_MAX, checkRequest, type RouteSpec } from '../middleware/check-request.ts';
import { type AppContext, type AppEnv, deferrer } from '../middleware/context.ts';
import { answerResponse, refusalResponse } from '../middleware/error-envelopes.ts';
import { checkIdentity } from '../middleware/session-identity.ts';

/** The validated input of an operation. */
export interface Input<O extends RouteSpec> {
  params: O extends { params: z.ZodType } ? z.output<O['params']> : undefined;
  query: O extends { query: z.ZodType } ? z.output<O['query']> : undefined;
  body: O extends { body: z.ZodType } ? z.output<O['body']> : O extends { form: true } ? UploadedForm : undefined;
  /** The unchanged body. */
  text: O extends { body: z.ZodType } ? RequestBody : undefined;
}

const METERING: ApiStyle = {
  requiresAccept: true,
  isContract: true,
  bodyBytesMax: BODY_BYTES_MAX,
  checkSessionBody: ({ session }, body) => checkIdentity(session, body),
  refuse: refusalResponse,
};

/** An operation of the metering interface or the operator API. */
export function mount<O extends Operation>(
  app: Hono<AppEnv>,
  operation: O,
  answer: (c: AppContext, input: Input<O>) => Promise<AnswerOf<O> | SerializedAnswer<AnswerOf<O>> | Response>,
): void {
  mountRoute(app, METERING, operation, async (c, input) => {
    const answered = await answer(c, input);
    return answered instanceof Response ? answered : answerResponse(c, answered);
  });
}

export const NO_SUCH_PAGE = badRequest({ path: 'cursor', message: 'must be the nextCursor of an earlier page' });

/** An operation with a paginated answer. */
export function mountList<O extends Operation>(
  app: Hono<AppEnv>,
  operation: O,
  answer: (c: AppContext, page: PageRequest, input: Input<O>) => Promise<AnswerOf<O> | Response>,
): void {
  mount(app, operation, async (c, input) => {
    const page = pageRequest(input.query as unknown as z.infer<typeof ListQuery>);
    if (!page) return refusalResponse(c, NO_SUCH_PAGE.refusal);
    return answer(c, page, input);
  });
}

/**
 * An operation with a paginated answer. If the request prefers CSV, `csv` makes text of the answer: then `answer` gets
 * no page, and has all items.
 */
export function mountCsvList<O extends Operation & { csv: true }>(
  app: Hono<AppEnv>,
  operation: O,
  answer: (c: AppContext, page: PageRequest | null, input: Input<O>) => Promise<AnswerOf<O>>,
  csv: (data: DataOf<O>) => string,
): void {
  mountList<O>(app, operation, async (c, page, input) => {
    if (!prefersCsv(c.req.header('Accept'))) return answer(c, page, input);
    const answered = await answer(c, null, input);
    return answered.ok ? c.body(csv(answered.data), 200, { 'Content-Type': CSV_TYPE }) : answered;
  });
}

/** An operation whose answer `csv` turns into text if the request prefers that. */
export function mountCsv<O extends Operation & { csv: true }>(
  app: Hono<AppEnv>,
  operation: O,
  answer: (c: AppContext, input: Input<O>) => Promise<AnswerOf<O>>,
  csv: (data: DataOf<O>) => string,
): void {
  mount<O>(app, operation, async (c, input) => {
    const answered = await answer(c, input);
    const isCsv = answered.ok && prefersCsv(c.req.header('Accept'));
    return isCsv ? c.body(csv(answered.data), 200, { 'Content-Type': CSV_TYPE }) : answered;
  });
}

export function mountRoute<O extends RouteSpec>(
  app: Hono<AppEnv>,
  style: ApiStyle,
  operation: O,
  handler: (c: AppContext, input: Input<O>) => Response | Promise<Response>,
): void {
  app.on([operation.method], [honoPath(operation)], async (c: AppContext) => {
    const checked = await checkRequest(c, style, operation);
    if (!checked.ok) return style.refuse(c, checked.refusal);
    const session = operation.isFree ? c.get('credential').session : undefined;
    const counted = session ? await countSessionRequest(getCaller(c), session.customerId, session) : checked;
    if (!counted.ok) return style.refuse(c, counted.refusal);
    const response = await handler(c, checked.input as Input<O>);
    if (operation.isChange) await settleChange(c.env, c.get('credential').keyId, response);
    return response;
  });
}

/** Call this after all routes: another method of a known path gets 405. */
export function mountMethodNotAllowed(
  app: Hono<AppEnv>,
  routes: readonly RouteSpec[] = Object.values<Operation>(operations),
  { refuse: refuseWith }: Pick<ApiStyle, 'refuse'> = METERING,
): void {
  for (const [path, ofPath] of Map.groupBy(routes, honoPath)) {
    const methods = ofPath.map(({ method }) => method as string);
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
    const { refusal } = refuse('METHOD_NOT_ALLOWED', `this route answers ${allow}`);
    app.all(path, (c) => {
      const response = refuseWith(c, refusal);
      response.headers.set('Allow', allow);
      return response;
    });
  }
}

/** The path with its parameters in the router's form. */
export function honoPath({ path }: RouteSpec): string {
  return (
    path
      // Google's names of models have no colon: an action would follow.
      .replace(/^(\/v1beta\/.*)\{model\}$/, '$1:model{[^:]+}')
      // A model's name and a vendor's path may contain slashes, and end a path but for an action.
      .replace(/\{(model|modelKey|path)\}(:\w+)?$/, ':$1{.+$2}')
      .replace(/\{(\w+)\}/g, ':$1')
  );
}

/** The caller of a request with an API key. */
export function getCaller(c: AppContext): Caller {
  const { organization, limits } = c.get('credential');
  return { env: c.env, organization, defer: deferrer(c), limits };
}

/** The idempotency key of the header, which the route has checked. */
export function headerKey(c: AppContext): string | null {
  return c.req.header(IDEMPOTENCY_HEADER) ?? null;
}
