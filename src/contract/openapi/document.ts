/**
 * The API reference, made of nothing but the contract's own tables: the OpenAPI 3.1 document as a whole, or what a page
 * shows of it, piece by piece. A piece is what it is in the document; only what it needs is made.
 */
import { ErrorEnvelope } from '../envelope.ts';
import { GatewayError } from '../gateway.ts';
import { LookupError } from '../model-lookup.ts';
import { type Entry, entries, nameSchemas } from './entries.ts';
import { errorResponses, gatewayErrorResponses } from './errors.ts';
import { HEADERS, operationOf, PARAMETERS } from './operation.ts';
import { type JsonSchema, SCHEMAS_POINTER, SchemaBook } from './schemas.ts';
import { INTRODUCTION, SECURITY_SCHEMES, TAGS, tagOf, WORDS } from './text.ts';
import type { AnswerObject, OpenApiDocument, OpenApiOperation, Parameter } from './types.ts';

/** `version` is the service's own, `origin` where it is reached. */
export function openApiDocument(version: string, origin: string): OpenApiDocument {
  return new ApiReference(version, origin).document();
}

/** What a list says of an operation. */
export interface RouteSummary {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  tag: string;
}

export class ApiReference {
  readonly info: OpenApiDocument['info'];
  readonly tags: OpenApiDocument['tags'] = TAGS.map(({ name, description }) => ({ name, description }));
  readonly origin: string;
  readonly #book = new SchemaBook();
  #document: OpenApiDocument | undefined;

  constructor(version: string, origin: string) {
    this.origin = origin;
    this.info = {
      title: 'Callmeter',
      version,
      summary: 'Metering, entitlements and exact cost for AI calls, at the edge.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    };
    for (const entry of entries().values()) nameSchemas(this.#book, entry);
  }

  /** As the document has them: one path after the other. */
  routes(): RouteSummary[] {
    const byPath = Map.groupBy(entries().values(), ({ path }) => path);
    return [...byPath.values()]
      .flat()
      .map(({ id, method, path, summary }) => ({ method, path, operationId: id, summary, tag: tagOf(path) }));
  }

  /** `null` where there is none of that name, as with the others. */
  operation(operationId: string): { method: string; path: string; operation: OpenApiOperation } | null {
    const entry = entries().get(operationId);
    if (!entry) return null;
    return { method: entry.method, path: entry.path, operation: operationOf(this.#book, entry, this.origin) };
  }

  schema(name: string): JsonSchema | null {
    // The names of envelopes are not known before their operations are.
    const envelope = [...entries().values()].find(({ answerName }) => answerName === name);
    if (envelope) this.#book.add(name, envelope.answer());
    const schema = this.#book.component(name);
    return schema ? this.#shown(name, schema) : null;
  }

  parameter(name: string): Parameter | null {
    return Object.hasOwn(PARAMETERS, name) ? (PARAMETERS[name] as Parameter) : null;
  }

  response(name: string): AnswerObject | null {
    const responses = this.#responses();
    return Object.hasOwn(responses, name) ? (responses[name] as AnswerObject) : null;
  }

  document(): OpenApiDocument {
    this.#document ??= this.#whole();
    return this.#document;
  }

  #whole(): OpenApiDocument {
    const all = [...entries().values()];
    for (const { answerName, answer } of all) this.#book.add(answerName, answer());
    this.#book.renderAll();
    const paths: OpenApiDocument['paths'] = {};
    for (const entry of all) addTo(paths, entry, operationOf(this.#book, entry, this.origin));
    const responses = this.#responses();
    const components = this.#book.components([paths, responses] as unknown as JsonSchema[]);
    const schemas = Object.fromEntries(
      Object.entries(components).map(([name, schema]) => [name, this.#shown(name, schema)]),
    );
    return {
      openapi: '3.1.0',
      info: this.info,
      servers: [{ url: this.origin, description: 'This service' }],
      tags: this.tags,
      paths,
      components: { schemas, parameters: PARAMETERS, responses, headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
    };
  }

  #responses(): Record<string, AnswerObject> {
    return {
      ...errorResponses(this.#book.reference(ErrorEnvelope, 'output')),
      ...gatewayErrorResponses(
        this.#book.reference(GatewayError, 'output'),
        this.#book.reference(LookupError, 'output'),
      ),
    };
  }

  #shown(name: string, schema: JsonSchema): JsonSchema {
    const described = describe(schema, (reference) => this.#book.component(reference.slice(SCHEMAS_POINTER.length)));
    return name === CUSTOMER_OR_ID
      ? { anyOf: [{ type: 'string', description: 'The customer id' }, described] }
      : described;
  }
}

/** What is resolved before it is checked has a second form, which no schema can say: a customer's id for the object. */
const CUSTOMER_OR_ID = 'GatewayCustomer';

function addTo(paths: OpenApiDocument['paths'], { path, method }: Entry, operation: OpenApiOperation): void {
  paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
}

/** Every field says what it is: where neither it nor what it refers to does, by the word that is kept for it. */
function describe<Value>(schema: Value, referred: (reference: string) => JsonSchema | undefined): Value {
  if (Array.isArray(schema)) return schema.map((part) => describe(part, referred)) as Value;
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([keyword, value]) => [keyword, describe(value, referred)] as const);
  const described = Object.fromEntries(parts) as JsonSchema;
  for (const [name, property] of Object.entries(described.properties ?? {})) {
    const word = WORDS[name];
    if (word === undefined || property.description !== undefined) continue;
    if (property.$ref === undefined || referred(property.$ref)?.description === undefined) property.description = word;
  }
  return described as Value;
}
