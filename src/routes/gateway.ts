/**
 * The gateway over HTTP: OpenAI's routes, in its dialect. Browsers may call the two that take session tokens.
 *
 * Refusals come in the same order as elsewhere (401, 403, 415, 413, 400), in OpenAI's envelope. A body is refused while
 * it is read, as soon as it is too large.
 */
import type { Hono } from 'hono';
import { cors } from 'hono/cors';
import { CORRELATION_HEADER, IDEMPOTENCY_HEADER, REPLAY_HEADER } from '../contract/envelope.ts';
import { refuse } from '../contract/errors.ts';
import { idempotencyKey } from '../contract/fields.ts';
import {
  CUSTOMER_HEADER,
  GATEWAY_BODY_BYTES_MAX,
  GATEWAY_HEADERS,
  type GatewayOperation,
  gatewayOperations,
} from '../contract/gateway.ts';
import {
  brokenAnswer,
  failureAnswer,
  type GatewayAnswer,
  refusalAnswer,
  unauthenticatedAnswer,
} from '../gateway/answer.ts';
import { createBatch, readBatch } from '../gateway/batches/use-cases.ts';
import { callModel } from '../gateway/call.ts';
import { listModels, retrieveModel } from '../gateway/list-models.ts';
import type { Endpoint } from '../gateway/models.ts';
import { passThrough, VENDOR_ID } from '../gateway/pass-through.ts';
import { closedField } from '../gateway/session-rules.ts';
import { type AppContext, type AppEnv, correlate, NO_STORE } from '../middleware/context.ts';
import { authenticate, missingScope } from '../middleware/credentials.ts';
import { badRequest, bodyBytesMax, describeIssues, tooLarge, unreadable } from '../middleware/input.ts';
import { readRequest } from '../platform/bytes.ts';
import { readJsonBody } from '../platform/json-body.ts';
import { log } from '../platform/log.ts';
import { callerOf, headerKeyOf } from './mount.ts';

/** What an operation takes: its body validated, or the bytes of a form. */
interface Input {
  body: unknown;
  bytes: Uint8Array;
}

type Handler = (c: AppContext, input: Input) => Promise<GatewayAnswer>;

/** How long browsers remember what a preflight said. */
const PREFLIGHT_SECONDS = 7_200;

const browsers = cors({
  origin: '*',
  allowMethods: ['POST'],
  exposeHeaders: [...Object.values(GATEWAY_HEADERS), REPLAY_HEADER, 'Retry-After'],
  maxAge: PREFLIGHT_SECONDS,
});

export function mountGateway(app: Hono<AppEnv>): void {
  mountModels(app);
  mountFiles(app);
  mountBatches(app);
  mountMethodNotAllowed(app);
}

function mountModels(app: Hono<AppEnv>): void {
  const call =
    (endpoint: Endpoint): Handler =>
    (c, { body }) =>
      callModel(callerOf(c), {
        endpoint,
        request: body as Parameters<typeof callModel>[1]['request'],
        customerHeader: c.req.header(CUSTOMER_HEADER) ?? null,
        headerKey: headerKeyOf(c),
        session: c.get('credential').session,
        requestId: c.get('correlationId'),
        left: () => c.req.raw.signal,
      });
  mount(app, gatewayOperations.createChatCompletion, call('chat/completions'));
  mount(app, gatewayOperations.createResponse, call('responses'));
  mount(app, gatewayOperations.createEmbedding, call('embeddings'));
  mount(app, gatewayOperations.listModels, (c) => listModels(callerOf(c)));
  mount(app, gatewayOperations.retrieveModel, (c) => retrieveModel(callerOf(c), c.req.param('model') ?? ''));
}

function mountFiles(app: Hono<AppEnv>): void {
  mount(app, gatewayOperations.uploadFile, (c, { bytes }) =>
    passThrough(
      callerOf(c),
      { method: 'POST', path: 'files', contentType: c.req.header('Content-Type'), body: bytes },
      c.get('correlationId'),
    ),
  );
  mount(
    app,
    gatewayOperations.listFiles,
    pass('GET', () => 'files'),
  );
  mount(
    app,
    gatewayOperations.retrieveFile,
    pass('GET', (id) => `files/${id}`),
  );
  mount(
    app,
    gatewayOperations.deleteFile,
    pass('DELETE', (id) => `files/${id}`),
  );
  mount(
    app,
    gatewayOperations.readFileContent,
    pass('GET', (id) => `files/${id}/content`),
  );
}

function mountBatches(app: Hono<AppEnv>): void {
  mount(app, gatewayOperations.createBatch, (c, { body }) =>
    createBatch(callerOf(c), {
      request: body as Parameters<typeof createBatch>[1]['request'],
      customerHeader: c.req.header(CUSTOMER_HEADER) ?? null,
      headerKey: headerKeyOf(c),
      requestId: c.get('correlationId'),
    }),
  );
  mount(
    app,
    gatewayOperations.listBatches,
    pass('GET', () => 'batches'),
  );
  mount(app, gatewayOperations.retrieveBatch, async (c) => {
    const id = c.req.param('id') ?? '';
    return VENDOR_ID.test(id) ? readBatch(callerOf(c), id, c.get('correlationId')) : notFound();
  });
  mount(
    app,
    gatewayOperations.cancelBatch,
    pass('POST', (id) => `batches/${id}/cancel`),
  );
}

/** A request that passes to the vendor as it is, with its query. */
function pass(method: 'GET' | 'POST' | 'DELETE', path: (id: string) => string): Handler {
  return async (c) => {
    const id = c.req.param('id') ?? 'none';
    if (!VENDOR_ID.test(id)) return notFound();
    return passThrough(callerOf(c), { method, path: path(id) + new URL(c.req.url).search }, c.get('correlationId'));
  };
}

function mount(app: Hono<AppEnv>, operation: GatewayOperation, handler: Handler): void {
  const path = honoPath(operation);
  const answer = async (c: AppContext) => {
    correlate(c);
    try {
      const refused = await refuseCaller(c, operation);
      if (refused) return respond(c, refused);
      const input = await readInput(c, operation);
      return respond(c, 'status' in input ? input : await handler(c, input));
    } catch (error) {
      const answer = brokenAnswer(error);
      const level = answer.status === 503 ? 'warn' : 'error';
      log(level, 'request_failed', { correlationId: c.get('correlationId'), method: c.req.method }, error);
      return respond(c, answer);
    }
  };
  // Only browsers send an origin, and only they need an answer to it.
  if (operation.security.clientScope)
    app.use(path, (c, next) => (c.req.header('Origin') === undefined ? next() : browsers(c, next)));
  app.on([operation.method], [path], answer);
}

/** 401, 429 and 403; `null` where the caller may use the operation, and its credential is set. */
async function refuseCaller(c: AppContext, { security }: GatewayOperation): Promise<GatewayAnswer | null> {
  const authenticated = await authenticate(c);
  if (!authenticated.ok) return unauthenticatedAnswer(authenticated.refusal);
  const { credential } = authenticated;
  c.set('credential', credential);
  const requiredScope = missingScope(security, credential);
  if (requiredScope === null) return null;
  const members = { reason: 'API_KEY_SCOPE_REQUIRED', requiredScope };
  return refusalAnswer(
    refuse('API_KEY_SCOPE_REQUIRED', `the credential lacks the scope ${requiredScope}`, { members }).refusal,
  );
}

/** 415, 413 and 400; else what the operation takes. */
async function readInput(
  c: AppContext,
  { method, path, body: schema, form }: GatewayOperation,
): Promise<Input | GatewayAnswer> {
  const nothing: Input = { body: undefined, bytes: new Uint8Array() };
  if (method === 'POST') {
    const key = c.req.header(IDEMPOTENCY_HEADER);
    const parsed = key === undefined ? null : idempotencyKey.safeParse(key);
    if (parsed?.success === false)
      return refusalAnswer(badRequest([{ path: IDEMPOTENCY_HEADER, message: parsed.error.issues[0]?.message ?? '' }]));
  }
  if (!schema && !form) return nothing;
  if ((c.req.header('Content-Encoding') ?? 'identity') !== 'identity')
    return unsupported('a body must be sent without Content-Encoding');
  const contentType = c.req.header('Content-Type') ?? '';
  if (schema && !/^application\/(?:[\w.-]+\+)?json\b/i.test(contentType)) {
    return unsupported('the Content-Type of a body must be application/json');
  }
  // It travels on to the vendor as it is.
  if (form && !/^multipart\/form-data[\t ]*;[\t\x20-\x7e]+$/i.test(contentType)) {
    return unsupported('the Content-Type of a file must be multipart/form-data with a boundary, in ASCII');
  }
  const bytesTaken = bodyBytesMax(c, GATEWAY_BODY_BYTES_MAX);
  if (!schema) {
    const bytes = await readRequest(c.req.raw, bytesTaken);
    return bytes === null ? refusalAnswer(tooLarge(`must have at most ${bytesTaken} bytes`)) : { ...nothing, bytes };
  }
  const json = await readJsonBody(c.req.raw, bytesTaken);
  if (!json.ok) return refusalAnswer(unreadable(json.broken, bytesTaken));
  const { session, organization } = c.get('credential');
  const closed = session && closedField(path, json.value, organization);
  if (closed) return failureAnswer(closed);
  const parsed = schema.safeParse(json.value);
  return parsed.success ? { ...nothing, body: parsed.data } : refusalAnswer(badRequest(describeIssues(parsed.error)));
}

/** To be called last: a known path with another method is 405. */
function mountMethodNotAllowed(app: Hono<AppEnv>): void {
  const methods = new Map<string, string[]>();
  for (const operation of Object.values<GatewayOperation>(gatewayOperations)) {
    methods.set(honoPath(operation), [...(methods.get(honoPath(operation)) ?? []), operation.method]);
  }
  for (const [path, allowed] of methods) {
    const allow = [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
    const refusal = refusalAnswer(refuse('METHOD_NOT_ALLOWED', `this route answers ${allow}`).refusal);
    app.all(path, (c) => {
      correlate(c);
      return respond(c, { ...refusal, headers: { ...refusal.headers, Allow: allow } });
    });
  }
}

function honoPath({ path }: GatewayOperation): string {
  // A model's id may contain slashes, and ends its path.
  return path.replace('{model}', ':model{.+}').replace(/\{(\w+)\}/g, ':$1');
}

/**
 * Made at once with all that it carries: a response that is changed afterwards is copied, with its body as a stream.
 */
function respond(c: AppContext, { status, headers, body }: GatewayAnswer): Response {
  const correlationId = c.get('correlationId');
  const own = {
    [CORRELATION_HEADER]: correlationId,
    'Cache-Control': NO_STORE,
    [GATEWAY_HEADERS.requestId]: correlationId,
  };
  return new Response(body, { status, headers: { ...own, ...headers } });
}

function unsupported(message: string): GatewayAnswer {
  return refusalAnswer(refuse('UNSUPPORTED_MEDIA_TYPE', message).refusal);
}

function notFound(): GatewayAnswer {
  return refusalAnswer(refuse('NOT_FOUND', 'there is no such thing').refusal);
}
