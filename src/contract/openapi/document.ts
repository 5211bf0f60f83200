/**
 * The OpenAPI 3.1 document, made of nothing but the contract's own tables: every route of the metering interface, the
 * operator API, the gateway and the public lookup.
 */
import type { z } from 'zod';
import { CORRELATION_HEADER, ErrorEnvelope, IDEMPOTENCY_HEADER, MEDIA_TYPE, REPLAY_HEADER } from '../envelope.ts';
import { CUSTOMER_HEADER, GATEWAY_HEADERS, GatewayError, type GatewayOperation, gatewayOperations } from '../gateway.ts';
import { LookupError } from '../model-lookup.ts';
import { type Operation, operations, responseSchema, type Security } from '../operations.ts';
import { errorResponses, gatewayErrorResponses, responsesOf } from './errors.ts';
import { EXAMPLES, type Example, type ExampleId, VALUES, type Value } from './examples.ts';
import { type LookupOperation, lookupOperations } from './lookup.ts';
import { type JsonSchema, SCHEMAS_POINTER, SchemaBook } from './schemas.ts';
import { type Route, shellOf } from './shell.ts';
import { INTRODUCTION, SECURITY_SCHEMES, TAGS, tagOf, WORDS } from './text.ts';
import type { AnswerObject, OpenApiDocument, OpenApiOperation, Parameter, Reference } from './types.ts';

const JSON_TYPE = 'application/json';
const EVENT_STREAM = 'text/event-stream';

/** `version` is the service's own, `origin` where it is reached. */
export function openApiDocument(version: string, origin: string): OpenApiDocument {
  const book = new SchemaBook();
  const entries = allEntries();
  for (const entry of entries) nameSchemas(book, entry);
  const paths: OpenApiDocument['paths'] = {};
  for (const entry of entries) {
    paths[entry.path] = { ...paths[entry.path], [entry.method.toLowerCase()]: operationOf(book, entry, origin) };
  }
  const responses = {
    ...errorResponses(book.reference(ErrorEnvelope, 'output')),
    ...gatewayErrorResponses(book.reference(GatewayError, 'output'), book.reference(LookupError, 'output')),
  };
  const schemas = book.components([paths, responses] as unknown as JsonSchema[]);
  describe(schemas, schemas);
  admitIds(schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Callmeter',
      version,
      summary: 'Metering, entitlements and exact cost for AI calls, at the edge.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: origin, description: 'This service' }],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    paths,
    components: { schemas, parameters: PARAMETERS, responses, headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
  };
}

/** A route of any of the tables, in one form. */
interface Entry extends Route {
  id: ExampleId;
  kind: 'envelope' | 'gateway' | 'lookup';
  summary: string;
  security: Security | null;
  params?: z.ZodObject | undefined;
  query?: z.ZodType | undefined;
  body?: z.ZodType | undefined;
  form: boolean;
  lines: boolean;
  answer: z.ZodType;
  /** The name that the answer's schema gets where it has none. */
  answerName: string;
  codes: readonly string[];
}

function allEntries(): Entry[] {
  return [
    ...Object.values<Operation>(operations).map(fromOperation),
    ...Object.values<GatewayOperation>(gatewayOperations).map(fromGateway),
    ...Object.values<LookupOperation>(lookupOperations).map(fromLookup),
  ];
}

function fromOperation(operation: Operation): Entry {
  const { operationId, summary, method, path, security, params, query, body, lines, data, code, otherCodes = [] } = operation;
  const isOperator = security.kind === 'operator';
  return {
    ...{ id: operationId as ExampleId, kind: 'envelope', summary, method, path, security, params, query, body, form: false },
    credential: isOperator ? 'OPERATOR_TOKEN' : 'DEMO_API_KEY',
    vendorType: !isOperator,
    lines: lines === true,
    answer: lines ? data : responseSchema(operation),
    answerName: `${capital(operationId)}Response`,
    codes: [code, ...otherCodes],
  };
}

function fromGateway({ operationId, summary, method, path, security, body, form, answer }: GatewayOperation): Entry {
  return {
    ...{ id: operationId as ExampleId, kind: 'gateway', summary, method, path, security, body, form: form === true, lines: false },
    ...{ credential: 'DEMO_API_KEY', vendorType: false, answer, answerName: `${capital(operationId)}Answer`, codes: [] },
  };
}

function fromLookup({ operationId, summary, path, params, query, answer }: LookupOperation): Entry {
  return {
    ...{ id: operationId as ExampleId, kind: 'lookup', summary, method: 'GET', path, security: null, params, query, form: false },
    ...{ lines: false, vendorType: false, answer, answerName: capital(operationId), codes: [] },
  };
}

const routes = new Map(allEntries().map((entry) => [entry.id, entry] as const));

/** How an operation is asked; every example has one. */
export function routeOf(id: ExampleId): Route {
  const entry = routes.get(id);
  if (!entry) throw new Error(`no operation is called ${id}`);
  return entry;
}

function nameSchemas(book: SchemaBook, { id, body, kind, answer, answerName }: Entry): void {
  if (body) book.add(`${capital(id)}Request`, body);
  const operation = kind === 'envelope' ? (operations as Record<string, Operation>)[id] : undefined;
  if (operation) book.add(`${capital(id)}Data`, operation.data);
  book.add(answerName, answer);
}

function operationOf(book: SchemaBook, entry: Entry, origin: string): OpenApiOperation {
  const { id, summary, path, security, body, form } = entry;
  const example = EXAMPLES[id];
  const requestBody = form ? FORM_BODY : body && { required: isBodyRequired(body), content: { [JSON_TYPE]: bodyOf(book, entry, body) } };
  return {
    operationId: id,
    summary,
    ...(descriptionOf(entry) && { description: descriptionOf(entry) }),
    tags: [tagOf(path)],
    security: securityOf(security),
    parameters: [...inPath(book, entry, example), ...inQuery(book, entry, example), ...inHeaders(entry)],
    ...(requestBody && { requestBody }),
    responses: { '200': success(book, entry), ...responsesOf(entry) },
    'x-codeSamples': [{ lang: 'Shell', label: 'curl', source: shellOf(id, origin, routeOf) }],
  };
}

function bodyOf(book: SchemaBook, { id }: Entry, body: z.ZodType) {
  const example = EXAMPLES[id].body;
  return { schema: book.reference(body, 'input'), ...(example !== undefined && { example: concrete(example) }) };
}

/** No body is an empty object. */
function isBodyRequired(body: z.ZodType): boolean {
  return !body.safeParse({}).success;
}

const FORM_BODY = {
  required: true,
  description: 'A form, as OpenAI takes it; it passes to the vendor byte for byte.',
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: {
          purpose: { type: 'string', description: 'What the file is for' },
          file: { type: 'string', contentMediaType: 'application/octet-stream', description: 'The file' },
        },
        required: ['purpose', 'file'],
      },
    },
  },
};

function success(book: SchemaBook, entry: Entry): AnswerObject {
  const { id, answer, kind, lines, codes, vendorType } = entry;
  const schema = book.reference(answer, 'output');
  const types = lines ? ['application/x-ndjson'] : vendorType ? [MEDIA_TYPE, JSON_TYPE] : [JSON_TYPE];
  const streams = id === 'createChatCompletion' || id === 'createResponse';
  const content = Object.fromEntries(types.map((type) => [type, { schema }]));
  const links = linksOf(entry);
  return {
    description: lines ? 'A line of JSON for each' : codes.length > 0 ? codes.map((code) => `\`${code}\``).join(' or ') : 'Success',
    headers: headersOf(kind, id),
    content: streams ? { ...content, [EVENT_STREAM]: { schema: { type: 'string', description: 'Server-sent events' } } } : content,
    ...(Object.keys(links).length > 0 && { links }),
  };
}

function headersOf(kind: Entry['kind'], id: ExampleId): Record<string, Reference> {
  const names =
    kind === 'lookup' ? ['ETag', 'Cache-Control'] : [CORRELATION_HEADER, ...(kind === 'envelope' ? [REPLAY_HEADER] : gatewayHeaders(id))];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function gatewayHeaders(id: ExampleId): string[] {
  const { callId, modelKey, requestId, costUsd } = GATEWAY_HEADERS;
  return ['createChatCompletion', 'createResponse', 'createEmbedding'].includes(id) ? [callId, modelKey, requestId, costUsd] : [requestId];
}

/** Where a field of the answer is what another operation's path asks for. */
function linksOf({ id, kind }: Entry): NonNullable<AnswerObject['links']> {
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

function inPath(book: SchemaBook, { params, path }: Entry, { params: values = {} }: Example): Parameter[] {
  const properties = params ? book.pathParameters(params) : {};
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const { description, ...schema } = properties[name] ?? { type: 'string' };
    return { name, in: 'path', required: true, description: description ?? WORDS[name] ?? name, schema, example: concrete(values[name]) };
  });
}

function inQuery(book: SchemaBook, { query }: Entry, { query: values = {} }: Example): Parameter[] {
  if (!query) return [];
  const { properties, required } = book.queryParameters(query);
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
    ...((kind === 'envelope' && method === 'POST') || metered ? ['IdempotencyKey'] : []),
    ...(metered || id === 'createBatch' ? ['CustomerId'] : []),
    'CorrelationId',
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

const PARAMETERS: Record<string, Parameter> = {
  IdempotencyKey: {
    name: IDEMPOTENCY_HEADER,
    in: 'header',
    description: 'One for each logical request: sent again with the same payload, the stored answer is replayed and nothing counts twice',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
  CorrelationId: {
    name: CORRELATION_HEADER,
    in: 'header',
    description: "The caller's own identifier of the request; it comes back with the answer",
    schema: { type: 'string', maxLength: 200 },
  },
  CustomerId: {
    name: CUSTOMER_HEADER,
    in: 'header',
    description: 'Who is metered, where the body does not say it',
    schema: { type: 'string', maxLength: 255 },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The entity tag of an earlier answer: 304 without a body where it still holds',
    schema: { type: 'string' },
  },
};

const header = (description: string): { description: string; schema: JsonSchema } => ({ description, schema: { type: 'string' } });

const HEADERS: OpenApiDocument['components']['headers'] = {
  [CORRELATION_HEADER]: header("The caller's correlation identifier, or one made for this request"),
  [REPLAY_HEADER]: header('`true` where the answer was stored by an earlier request with the same idempotency key'),
  [GATEWAY_HEADERS.callId]: header('The metered call'),
  [GATEWAY_HEADERS.modelKey]: header('The model that answered, `provider/model`'),
  [GATEWAY_HEADERS.requestId]: header('The request'),
  [GATEWAY_HEADERS.costUsd]: header('Cost of the call in USD, where it is known before the answer begins'),
  ETag: header('Validator of the answer'),
  'Cache-Control': header('For how long the answer may be kept: never past its `validUntil`'),
};

function securityOf(security: Security | null): Record<string, string[]>[] {
  if (security === null) return [];
  if (security.kind === 'operator') return [{ operatorToken: [] }];
  const { scopes, anyScope, clientScope } = security;
  const choices = anyScope ? scopes.map((scope) => [scope]) : [[...scopes]];
  return [
    ...choices.flatMap((needed): Record<string, string[]>[] => [{ apiKey: needed }, { apiKeyHeader: needed }]),
    ...(clientScope ? [{ sessionToken: [clientScope] }] : []),
  ];
}

function descriptionOf({ security, kind }: Entry): string {
  if (security === null) return 'Public: no credential is asked for, and any page may ask.';
  if (security.kind === 'operator') return '';
  const { scopes, anyScope, clientScope } = security;
  const needed = scopes.map((scope) => `\`${scope}\``).join(anyScope ? ' or ' : ' and ');
  const browser = clientScope ? ` A browser's session token needs \`${clientScope}\`.` : '';
  return `Needs the scope ${needed}.${browser}${kind === 'gateway' ? " The answer is the vendor's, and errors are in OpenAI's envelope." : ''}`;
}

/** An example with a plausible value for each variable. */
function concrete(value: unknown): unknown {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value).replace(
    /\$([A-Z_]+)/g,
    (_, name: string) => (VALUES as Record<string, Value>)[name]?.sample ?? 'sk-example',
  );
  return JSON.parse(text);
}

/** Every field says what it is: where neither it nor what it refers to does, by the word that is kept for it. */
function describe(schema: unknown, schemas: Record<string, JsonSchema>): void {
  if (typeof schema !== 'object' || schema === null) return;
  const { properties = {} } = schema as JsonSchema;
  for (const [name, property] of Object.entries(properties)) {
    const target = property.$ref === undefined ? undefined : schemas[property.$ref.slice(SCHEMAS_POINTER.length)];
    const word = WORDS[name];
    if (property.description === undefined && target?.description === undefined && word !== undefined) property.description = word;
  }
  for (const part of Object.values(schema)) describe(part, schemas);
}

/** What is resolved before it is checked has a second form, which no schema can say: a customer's id for the object. */
function admitIds(schemas: Record<string, JsonSchema>): void {
  const { GatewayCustomer: customer } = schemas;
  if (!customer) throw new Error('the gateway names its customer');
  schemas.GatewayCustomer = { anyOf: [{ type: 'string', description: 'The customer id' }, customer] };
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
