/**
 * The gateway over HTTP: routes of OpenAI, Anthropic and Google, with errors in the form of each. Browsers may call the
 * two that take session tokens. Requests are checked as in the metering interface (mount.ts).
 */
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import type { z } from 'zod';
import { CORRELATION_HEADER, REPLAY_HEADER } from '../../contract/envelope.ts';
import { type Refusal, type Result, refuse } from '../../contract/errors.ts';
import { clientForm, type ErrorForm, errorFormAt, errorFormBeside } from '../../contract/gateway/answers.ts';
import { GATEWAY_HEADERS } from '../../contract/gateway/labels.ts';
import { openPathOperations } from '../../contract/gateway/open-path-operations.ts';
import { type GatewayOperation, gatewayOperations, type ModelOperation } from '../../contract/gateway/operations.ts';
import { GATEWAY_BODY_BYTES_MAX, type OpenPathRequest } from '../../contract/gateway/requests.ts';
import { LIMIT_HEADERS } from '../../contract/limit-headers.ts';
import type { GatewayAnswer } from '../../gateway/answer.ts';
import { listAnthropicModels, retrieveAnthropicModel } from '../../gateway/anthropic-models.ts';
import { uploadFile } from '../../gateway/batches/upload.ts';
import { createBatch, readBatch } from '../../gateway/batches/use-cases.ts';
import { callModel } from '../../gateway/call.ts';
import { countTokens } from '../../gateway/count-tokens.ts';
import { anthropicError } from '../../gateway/dialects/anthropic.ts';
import { COUNTING, type Counting } from '../../gateway/dialects/counting.ts';
import type { Dialect, ErrorBody, ModelRequest } from '../../gateway/dialects/dialect.ts';
import { DIALECTS } from '../../gateway/dialects/dialects.ts';
import { googleError } from '../../gateway/dialects/google.ts';
import { openAiError } from '../../gateway/dialects/openai.ts';
import { refusalAnswer } from '../../gateway/error-envelope.ts';
import { passForm, WholeForm } from '../../gateway/form-upload.ts';
import { listGoogleModels, retrieveGoogleModel } from '../../gateway/google-models.ts';
import { headerLabels, withoutOwnFields } from '../../gateway/identify.ts';
import { isOwn, type KeptRequest, listKept, makeKept, noObject, passKept } from '../../gateway/kept-objects.ts';
import { LIFECYCLE_HEADERS } from '../../gateway/lifecycle-headers.ts';
import { listModels, retrieveModel } from '../../gateway/list-models.ts';
import { callOpenPath } from '../../gateway/open-paths.ts';
import { VENDOR_ID } from '../../gateway/pass-through.ts';
import { headersToVendor } from '../../gateway/passed-headers.ts';
import { closedField } from '../../gateway/session-rules.ts';
import { ByteBody } from '../../platform/byte-body.ts';
import type { ApiStyle, SessionCredential } from '../middleware/check-request.ts';
import { type AppContext, type AppEnv, NO_SNIFF, NO_STORE } from '../middleware/context.ts';
import { logAndRefuse } from '../middleware/error-envelopes.ts';
import { getCaller, headerKey, type Input, mountMethodNotAllowed, mountRoute } from './mount.ts';

type Handler<O extends GatewayOperation> = (c: AppContext, input: Input<O>) => Promise<GatewayAnswer>;

/** How long browsers cache the answer to a preflight. */
const PREFLIGHT_SECONDS = 7_200;

const browsers = cors({
  origin: '*',
  allowMethods: ['POST'],
  exposeHeaders: [
    ...Object.values(GATEWAY_HEADERS),
    ...Object.values(LIMIT_HEADERS),
    ...LIFECYCLE_HEADERS,
    REPLAY_HEADER,
    'Retry-After',
  ],
  maxAge: PREFLIGHT_SECONDS,
});

const STYLE: ApiStyle = {
  requiresAccept: false,
  bodyBytesMax: GATEWAY_BODY_BYTES_MAX,
  checkSessionBody,
  refuse: refuseRequest,
};

const ERROR_BODIES: Readonly<Record<ErrorForm, ErrorBody>> = {
  openai: openAiError,
  anthropic: anthropicError,
  google: googleError,
};

/** An app of its own, so that exceptions are answered in its envelope too. */
export function gateway(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.onError((error, c) => respond(c, refusalAnswer(logAndRefuse(c, error), errorBody(c))));
  mountModels(app);
  mountResponses(app);
  mountFiles(app);
  mountUploads(app);
  mountBatches(app);
  mountOpenPaths(app);
  mountMethodNotAllowed(app, Object.values<GatewayOperation>(gatewayOperations), STYLE);
  return app;
}

function errorForm(c: AppContext): ErrorForm {
  return errorFormAt(c.req.path, readClientForm(c));
}

function readClientForm({ req }: AppContext): ErrorForm {
  return clientForm({ header: (name) => req.header(name), query: (name) => req.query(name) });
}

function errorBody(c: AppContext): ErrorBody {
  return ERROR_BODIES[errorForm(c)];
}

/** The answer to a path under `/v1/` that is not a route. */
export function gatewayNotFound(c: AppContext): Response {
  const routes = Object.values<GatewayOperation>(gatewayOperations).map(({ method, path }) => `${method} ${path}`);
  const { refusal } = refuse('NOT_FOUND', `no route has the path ${c.req.path}; there are ${routes.join(', ')}`);
  return respond(c, refusalAnswer(refusal, ERROR_BODIES[errorFormBeside(c.req.path, readClientForm(c))]));
}

function mountModels(app: Hono<AppEnv>): void {
  const call =
    (dialect: Dialect): Handler<ModelOperation> =>
    (c, { body, text }) =>
      callModel(getCaller(c), {
        dialect,
        request: addressedRequest(c, dialect, body),
        text,
        labels: readLabels(c),
        toVendor: headersForVendor(c),
        headerKey: headerKey(c),
        session: c.get('credential').session,
        requestId: c.get('correlationId'),
        clientSignal: () => c.req.raw.signal,
      });
  for (const dialect of Object.values<Dialect>(DIALECTS)) mount(app, dialect.operation, call(dialect));
  for (const counting of Object.values<Counting>(COUNTING)) {
    mount(app, counting.operation, (c, { body }) => {
      const inPath = modelInPath(c);
      const request = { ...(body as object | undefined), ...(inPath !== '' && { model: inPath }) } as ModelRequest;
      const requestId = c.get('correlationId');
      return countTokens(getCaller(c), counting, request, { toVendor: headersForVendor(c), requestId });
    });
  }
  for (const operation of [gatewayOperations.listModels, gatewayOperations.listGoogleModels])
    mount(app, operation, (c, { query }) => LIST_MODELS[errorForm(c)](getCaller(c), query));
  for (const operation of [gatewayOperations.retrieveModel, gatewayOperations.retrieveGoogleModel])
    mount(app, operation, (c) => RETRIEVE_MODEL[errorForm(c)](getCaller(c), c.req.param('model') ?? ''));
}

const LIST_MODELS = { openai: listModels, anthropic: listAnthropicModels, google: listGoogleModels } as const;
const RETRIEVE_MODEL = {
  openai: retrieveModel,
  anthropic: retrieveAnthropicModel,
  google: retrieveGoogleModel,
} as const;

/** The request with what its address says of it. */
function addressedRequest(c: AppContext, dialect: Dialect, body: Omit<ModelRequest, 'model'>): ModelRequest {
  const addressed = dialect.addressed?.(modelInPath(c), (name) => c.req.query(name));
  return { ...body, ...addressed } as ModelRequest;
}

/** The model of a path, without the action that follows it; empty if the path names none. */
function modelInPath(c: AppContext): string {
  return (c.req.param('model') ?? '').replace(/:\w+$/, '');
}

/** Routes for stored responses; `createResponse` is a model's route. */
function mountResponses(app: Hono<AppEnv>): void {
  pass(app, gatewayOperations.retrieveResponse, (id) => `responses/${id}`);
  pass(app, gatewayOperations.deleteResponse, (id) => `responses/${id}`);
  pass(app, gatewayOperations.cancelResponse, (id) => `responses/${id}/cancel`);
  pass(app, gatewayOperations.listInputItems, (id) => `responses/${id}/input_items`);
}

function mountFiles(app: Hono<AppEnv>): void {
  mount(app, gatewayOperations.uploadFile, (c, { body }) =>
    uploadFile(getCaller(c), body, headersForVendor(c), c.get('correlationId')),
  );
  passList(app, gatewayOperations.listFiles, 'files');
  pass(app, gatewayOperations.retrieveFile, (id) => `files/${id}`);
  pass(app, gatewayOperations.deleteFile, (id) => `files/${id}`);
  pass(app, gatewayOperations.readFileContent, (id) => `files/${id}/content`);
}

function mountUploads(app: Hono<AppEnv>): void {
  passJson(app, gatewayOperations.createUpload, () => 'uploads');
  mount(app, gatewayOperations.addUploadPart, async (c, { body }) => {
    const id = c.req.param('id') ?? '';
    if (!VENDOR_ID.test(id) || !(await isOwn(getCaller(c), id))) return noObject();
    const startCheck = (boundary: string) => new WholeForm(boundary);
    const passed = { path: `uploads/${id}/parts`, headers: headersForVendor(c), startCheck };
    return passForm(getCaller(c), body, passed, c.get('correlationId'));
  });
  passJson(app, gatewayOperations.completeUpload, (id) => `uploads/${id}/complete`);
  pass(app, gatewayOperations.cancelUpload, (id) => `uploads/${id}/cancel`);
}

function mountBatches(app: Hono<AppEnv>): void {
  mount(app, gatewayOperations.createBatch, (c, { body }) =>
    createBatch(getCaller(c), {
      request: body,
      labels: readLabels(c),
      headerKey: headerKey(c),
      requestId: c.get('correlationId'),
    }),
  );
  passList(app, gatewayOperations.listBatches, 'batches');
  mount(app, gatewayOperations.retrieveBatch, async (c) => {
    const id = c.req.param('id') ?? '';
    return VENDOR_ID.test(id) ? readBatch(getCaller(c), id, c.get('correlationId')) : noObject();
  });
  pass(app, gatewayOperations.cancelBatch, (id) => `batches/${id}/cancel`);
}

function mountOpenPaths(app: Hono<AppEnv>): void {
  for (const operation of Object.values<GatewayOperation>(openPathOperations)) {
    mount(app, operation, (c, { body, text }) =>
      callOpenPath(getCaller(c), {
        method: operation.method,
        address: c.req.url,
        request: (body ?? {}) as z.infer<typeof OpenPathRequest>,
        text: text ?? NO_BODY,
        labels: readLabels(c),
        toVendor: { ...headersForVendor(c), accept: c.req.header('Accept') ?? '*/*' },
        headerKey: operation.method === 'POST' ? headerKey(c) : null,
        session: undefined,
        requestId: c.get('correlationId'),
        clientSignal: () => c.req.raw.signal,
      }),
    );
  }
}

const NO_BODY = new ByteBody(new Uint8Array(), '');

/** Passes a request to the vendor unchanged, with its query. */
function pass(app: Hono<AppEnv>, operation: GatewayOperation, path: (id: string) => string): void {
  mount(app, operation, async (c) => {
    const passed = keptRequest(c, operation, path);
    return passed ? passKept(getCaller(c), passed, c.get('correlationId')) : noObject();
  });
}

/** Passes a request for a list. */
function passList(app: Hono<AppEnv>, operation: GatewayOperation, path: string): void {
  mount(app, operation, (c) => {
    const passed = { method: operation.method, path: path + new URL(c.req.url).search, headers: headersForVendor(c) };
    return listKept(getCaller(c), passed, c.get('correlationId'));
  });
}

/** Passes a request with JSON that creates an object. */
function passJson(app: Hono<AppEnv>, operation: JsonOperation, path: (id: string) => string): void {
  mount(app, operation, async (c, { body, text }) => {
    const passed = keptRequest(c, operation, path);
    if (!passed) return noObject();
    const json = { body: text.changed(body, withoutOwnFields(body)), contentType: 'application/json' };
    return makeKept(getCaller(c), { ...passed, ...json }, c.get('correlationId'));
  });
}

type JsonOperation = GatewayOperation & { body: z.ZodType<Record<string, unknown>> };

/** The request in the vendor's form; `null` if its id is invalid. */
function keptRequest(c: AppContext, { method }: GatewayOperation, path: (id: string) => string): KeptRequest | null {
  const objectId = c.req.param('id');
  if (objectId !== undefined && !VENDOR_ID.test(objectId)) return null;
  const address = path(objectId ?? '') + new URL(c.req.url).search;
  return { method, path: address, headers: headersForVendor(c), objectId };
}

/** Google's SDK asks for the first version by default, which has the same forms; models are there in all forms. */
const googleVersions = <O extends GatewayOperation>(operation: O): O[] =>
  /^\/v1beta\/.+:\w+$/.test(operation.path)
    ? [operation, { ...operation, path: operation.path.replace('/v1beta/', '/v1/') }]
    : [operation];

/** Mounts an operation, with CORS if it accepts session tokens. Only browsers send `Origin`. */
function mount<O extends GatewayOperation>(app: Hono<AppEnv>, operation: O, handler: Handler<O>): void {
  if (operation.security.clientScope)
    app.use(operation.path, (c, next) => (c.req.header('Origin') === undefined ? next() : browsers(c, next)));
  for (const version of googleVersions(operation))
    mountRoute(app, STYLE, version, async (c, input) => respond(c, await handler(c, input)));
}

/** Refuses fields that sessions may not send. */
function checkSessionBody({ organization }: SessionCredential, body: unknown, path: string): Result {
  const closed = closedField(path, body, organization);
  if (closed === null) return { ok: true };
  const { message, param } = closed;
  return refuse('FIELD_NOT_ALLOWED', message, { members: { details: [{ path: param ?? 'body', message }] } });
}

/** The answer to a request that reached no use case. After too many failed authentications, a retry does not help. */
function refuseRequest(c: AppContext, refusal: Refusal): Response {
  const final = refusal.code === 'RATE_LIMITED' && { retry: false };
  return respond(c, refusalAnswer({ ...refusal, ...final }, errorBody(c)));
}

/** Statuses whose answers have no body. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/** Created with all headers at once: a later change would copy the response, with its body as a stream. */
function respond(c: AppContext, { status, headers, body }: GatewayAnswer): Response {
  const correlationId = c.get('correlationId');
  const own = {
    [CORRELATION_HEADER]: correlationId,
    'Cache-Control': NO_STORE,
    [NO_SNIFF[0]]: NO_SNIFF[1],
    [GATEWAY_HEADERS.requestId]: correlationId,
  };
  return new Response(WITHOUT_BODY.has(status) ? null : body, { status, headers: { ...own, ...headers } });
}

function readLabels(c: AppContext) {
  return headerLabels((name) => c.req.header(name));
}

/** The headers of the request that a vendor gets; none of a browser's. */
function headersForVendor(c: AppContext): Record<string, string> {
  return c.get('credential').session ? {} : headersToVendor((name) => c.req.header(name));
}
