/**
 * One operation of the OpenAPI document: parameters, bodies, answers, errors and a curl command.
 */
import type { z } from 'zod';
import { CORRELATION_HEADER, IDEMPOTENCY_HEADER, MEDIA_TYPE, REPLAY_HEADER } from '../../contract/envelope.ts';
import { GATEWAY_HEADERS, HeaderLabels, LABEL_HEADERS } from '../../contract/gateway/labels.ts';
import { openPathOperations } from '../../contract/gateway/open-path-operations.ts';
import { modelOperations } from '../../contract/gateway/operations.ts';
import { LIMIT_HEADERS } from '../../contract/limit-headers.ts';
import type { Security } from '../../contract/operations.ts';
import { type Entry, findRoute } from './entries.ts';
import { listErrorResponses } from './errors.ts';
import { EXAMPLES, type Example, type ExampleId, VALUES, type Value } from './examples.ts';
import { pathParameters, queryParameters } from './schemas.ts';
import { renderShell } from './shell.ts';
import { concrete } from './steps.ts';
import { findTag, WORDS } from './text.ts';
import type { AnswerObject, JsonSchema, OpenApiDocument, Parameter, Reference } from './types.ts';

const JSON_TYPE = 'application/json';
/** Stands for any other type. */
const BYTES_TYPE = 'application/octet-stream';
const EVENT_STREAM = 'text/event-stream';
/** Operations whose answers may be streams of events. */
const STREAMS = new Set<ExampleId>([
  'createChatCompletion',
  'createResponse',
  'createMessage',
  'createCompletion',
  'createImage',
  'createImageEdit',
  'createSpeech',
  'createTranscription',
  'streamGenerateContent',
]);

export function buildOperation(entry: Entry, origin: string) {
  const { id, summary, path, security, body, form, anyBody } = entry;
  const example = EXAMPLES[id];
  const type = form ? FORM_TYPE : JSON_TYPE;
  const requestBody =
    form && !body
      ? describeForm(entry)
      : body && {
          required: isBodyRequired(body),
          content: { [type]: describeBody(entry, body), ...(anyBody && { [BYTES_TYPE]: { schema: {} } }) },
        };
  return {
    operationId: id,
    summary,
    ...(describeAccess(entry) && { description: describeAccess(entry) }),
    tags: [findTag(path)],
    security: buildSecurity(security),
    parameters: [...inPath(entry, example), ...inQuery(entry, example), ...inHeaders(entry)],
    ...(requestBody && { requestBody }),
    responses: { '200': success(entry), ...listErrorResponses(entry) },
    'x-codeSamples': [{ lang: 'Shell', label: 'curl', source: renderShell(id, origin, findRoute) }],
  };
}

function describeBody({ id }: Entry, body: z.ZodType) {
  const example = EXAMPLES[id].body;
  return { schema: body, ...(example !== undefined && { example: concrete(example) }) };
}

/** A missing body counts as an empty object. */
function isBodyRequired(body: z.ZodType): boolean {
  return !body.safeParse({}).success;
}

const FORM_TYPE = 'multipart/form-data';

/** The forms of uploads, by operation. */
const FORMS: Partial<Record<ExampleId, { description: string; fields: Record<string, JsonSchema> }>> = {
  uploadFile: {
    description:
      'A form, as OpenAI takes it; it passes to the vendor byte for byte. The lines of a batch are checked on the way, and the first broken one is 400.',
    fields: {
      purpose: { type: 'string', description: 'What the file is for' },
      file: binary('The file: at most 200 MiB'),
    },
  },
  addUploadPart: {
    description: 'A form, as OpenAI takes it; it passes to the vendor byte for byte.',
    fields: { data: binary('The part: at most 64 MiB') },
  },
};

function binary(description: string): JsonSchema {
  return { type: 'string', contentMediaType: 'application/octet-stream', description };
}

function describeForm({ id }: Entry) {
  const form = FORMS[id];
  if (!form) throw new Error(`the form of ${id} is not described`);
  const { description, fields: properties } = form;
  const schema = { type: 'object', properties, required: Object.keys(properties) };
  return { required: true, description, content: { [FORM_TYPE]: { schema } } };
}

function success(entry: Entry) {
  const { id, answer, kind, lines, csv, codes, vendorType } = entry;
  const schema = answer();
  const plainType = id === 'createSpeech' ? 'application/octet-stream' : JSON_TYPE;
  const types = lines ? ['application/x-ndjson'] : vendorType ? [MEDIA_TYPE] : [plainType];
  const streams = STREAMS.has(id);
  const content = Object.fromEntries(types.map((type) => [type, { schema }]));
  const links = buildLinks(entry);
  const what = lines
    ? 'A line of JSON for each'
    : codes.length > 0
      ? codes.map((code) => `\`${code}\``).join(' or ')
      : 'Success';
  // Besides JSON in `content`, generated clients would give every caller a union with a text.
  const asCsv = csv ? '. With `Accept: text/csv` all items as CSV, one line each' : '';
  return {
    description: what + asCsv,
    headers: headerReferences(kind, id),
    content: {
      ...content,
      ...(streams && { [EVENT_STREAM]: { schema: { type: 'string', description: 'Server-sent events' } } }),
      ...(id === 'exportHistory' && { 'text/csv': { schema: { type: 'string', description: 'With `format=focus`' } } }),
    },
    ...(Object.keys(links).length > 0 && { links }),
  };
}

function headerReferences(kind: Entry['kind'], id: ExampleId): Record<string, Reference> {
  const names =
    kind === 'lookup'
      ? ['ETag', 'Cache-Control']
      : [CORRELATION_HEADER, ...(kind === 'envelope' ? [REPLAY_HEADER, ...limitHeaderNames(id)] : gatewayHeaders(id))];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function limitHeaderNames(id: ExampleId): string[] {
  return id === 'beginCall' || id === 'endCall' ? Object.values(LIMIT_HEADERS) : [];
}

/** Their answers do not consist of tokens, so no bound on tokens is lowered. */
const WITHOUT_TOKENS: ReadonlySet<ExampleId> = new Set<ExampleId>([
  'createEmbedding',
  'createModeration',
  'createImage',
  'createImageEdit',
  'createSpeech',
  'createTranscription',
  'createTranslation',
  'embedContent',
  'batchEmbedContents',
]);

/** A request may be changed, because credit pays or a limit bounds it. */
const MADE_SAFE: ReadonlySet<ExampleId> = new Set<ExampleId>([
  'createChatCompletion',
  'createResponse',
  'createMessage',
]);

/** The headers of a deprecated model. */
const LIFECYCLE = ['Deprecation', 'Sunset', 'Link'];

function gatewayHeaders(id: ExampleId): string[] {
  const { callId, modelKey, requestId, costUsd, maxOutputTokens, changed, attempts } = GATEWAY_HEADERS;
  if (!Object.hasOwn({ ...modelOperations, ...openPathOperations }, id)) return [requestId];
  const metered = [callId, modelKey, requestId, costUsd, attempts, ...Object.values(LIMIT_HEADERS), ...LIFECYCLE];
  if (WITHOUT_TOKENS.has(id) || id.endsWith('OpenPath')) return metered;
  return MADE_SAFE.has(id) ? [...metered, maxOutputTokens, changed] : [...metered, maxOutputTokens];
}

/** Links from fields of the answer to path parameters of other operations. */
function buildLinks({ id, kind }: Entry): NonNullable<AnswerObject['links']> {
  const links: NonNullable<AnswerObject['links']> = {};
  for (const [name, value] of Object.entries<Value>(VALUES)) {
    if (value.from !== id) continue;
    for (const [target, { params = {} }] of Object.entries<Example>(EXAMPLES)) {
      const parameter = Object.entries(params).find(([, given]) => given === `$${name}`)?.[0];
      if (parameter === undefined) continue;
      const expression = `$response.body#${kind === 'envelope' ? '/data' : ''}/${value.field}`;
      links[target] = {
        operationId: target,
        parameters: { [parameter]: expression },
        description: `\`${value.field}\` is its \`${parameter}\``,
      };
    }
  }
  return links;
}

function inPath({ params, path }: Entry, { params: values = {} }: Example): Parameter[] {
  const properties = params ? pathParameters(params) : {};
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const { description, ...schema } = properties[name] ?? { type: 'string' };
    return {
      name,
      in: 'path',
      required: true,
      description: description ?? WORDS[name] ?? name,
      schema,
      example: concrete(values[name]),
    };
  });
}

function inQuery({ query }: Entry, { query: values = {} }: Example): Parameter[] {
  if (!query) return [];
  const { properties, required } = queryParameters(query);
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    description: description ?? WORDS[name] ?? name,
    ...(required.includes(name) && { required: true }),
    ...(schema.type === 'array' && { style: 'form' as const, explode: false }),
    schema,
    ...(values[name] !== undefined && { example: typed(values[name], schema) }),
  }));
}

function typed(text: string, { type }: JsonSchema): unknown {
  return type === 'integer' || type === 'number' ? Number(text) : text;
}

function inHeaders({ kind, method, id }: Entry): Reference[] {
  if (kind === 'lookup') return [{ $ref: '#/components/parameters/IfNoneMatch' }];
  const metered = kind === 'gateway' && gatewayHeaders(id).length > 1;
  return [
    ...((kind === 'envelope' || metered) && method === 'POST' ? ['IdempotencyKey'] : []),
    ...(metered || id === 'createBatch' ? LABEL_PARAMETERS : []),
    'CorrelationId',
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** Makes `CustomerId`, `CustomerUserId`, `Feature`, `Tags`. */
const capitalize = (label: string) => label.charAt(0).toUpperCase() + label.slice(1);
const LABELS = Object.keys(LABEL_HEADERS) as (keyof typeof LABEL_HEADERS)[];
const LABEL_PARAMETERS = LABELS.map(capitalize);

export const PARAMETERS: Record<string, Parameter> = {
  IdempotencyKey: {
    name: IDEMPOTENCY_HEADER,
    in: 'header',
    description:
      'One for each logical request: the same key with the same payload gets the stored answer, and nothing counts twice',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
  CorrelationId: {
    name: CORRELATION_HEADER,
    in: 'header',
    description: "The caller's own identifier of the request; it comes back with the answer",
    schema: { type: 'string', maxLength: 200 },
  },
  ...Object.fromEntries(
    LABELS.map((label) => [
      capitalize(label),
      {
        name: LABEL_HEADERS[label],
        in: 'header',
        description: HeaderLabels.shape[label].description ?? '',
        schema: { type: 'string' },
      },
    ]),
  ),
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The entity tag of an earlier answer: 304 without a body if that is still current',
    schema: { type: 'string' },
  },
};

const header = (description: string): { description: string; schema: JsonSchema } => ({
  description,
  schema: { type: 'string' },
});

export const HEADERS: OpenApiDocument['components']['headers'] = {
  [CORRELATION_HEADER]: header("The caller's correlation identifier, or one made for this request"),
  [REPLAY_HEADER]: header('`true` if an earlier request with the same idempotency key stored the answer'),
  [GATEWAY_HEADERS.callId]: header('The metered call'),
  [GATEWAY_HEADERS.modelKey]: header('The model that answered, `provider/model`'),
  [GATEWAY_HEADERS.requestId]: header('The request'),
  [GATEWAY_HEADERS.costUsd]: header('Cost of the call in USD, if it is known before the answer begins'),
  [GATEWAY_HEADERS.attempts]: header('If more than one model was tried: each of them, with how it ended'),
  [GATEWAY_HEADERS.maxOutputTokens]: header(
    'Output tokens that an answer may have, if plan or balance allow fewer than request and model',
  ),
  [GATEWAY_HEADERS.changed]: header(
    'Fields that Callmeter changed or added for the vendor, because credit pays or the plan limits searches, such as `service_tier=default`',
  ),
  [LIMIT_HEADERS.policy]: header("The plan's rolling limit: calls (`q`) in seconds (`w`)"),
  [LIMIT_HEADERS.limit]: header('Calls left of the rolling limit (`r`), and seconds until one comes back (`t`)'),
  [LIMIT_HEADERS.calls]: header('Calls left of the tier that pays; absent without a bound'),
  [LIMIT_HEADERS.tokens]: header('Output tokens left of the tier that pays; absent without a bound'),
  [LIMIT_HEADERS.usd]: header('Available USD balance, if the plan lets it pay'),
  Deprecation: header('When the model was deprecated, as `@` and seconds (RFC 9745)'),
  Sunset: header('When the model stops to answer (RFC 8594)'),
  Link: header('The lookup of what replaces the model, as `successor-version`'),
  ETag: header('Validator of the answer'),
  'Cache-Control': header('How long you may cache the answer: never past its `validUntil`'),
};

function buildSecurity(security: Security | null): Record<string, string[]>[] {
  if (security === null) return [];
  if (security.kind === 'operator') return [{ operatorToken: [] }, { accessToken: [] }];
  const { scopes, anyScope, clientScope } = security;
  const choices = anyScope ? scopes.map((scope) => [scope]) : [[...scopes]];
  return [
    ...choices.flatMap((needed): Record<string, string[]>[] => [{ apiKey: needed }, { apiKeyHeader: needed }]),
    ...(clientScope ? [{ sessionToken: [clientScope] }] : []),
  ];
}

function describeAccess({ security, kind }: Entry): string {
  if (security === null) return 'Public: no credential is needed, and any page may send the request.';
  if (security.kind === 'operator') return `A named operator needs the role \`${security.role}\`.`;
  const { scopes, anyScope, clientScope } = security;
  const needed = scopes.map((scope) => `\`${scope}\``).join(anyScope ? ' or ' : ' and ');
  const browser = clientScope ? ` A browser's session token needs \`${clientScope}\`.` : '';
  return `Needs the scope ${needed}.${browser}${kind === 'gateway' ? " The answer is the vendor's, and errors are in OpenAI's envelope." : ''}`;
}
