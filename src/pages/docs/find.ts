/**
 * What the pages of the API reference look up in the OpenAPI document. A search finds the operations and schemas that
 * have every word of it somewhere.
 */
import type { JsonSchema, OpenApiDocument, OpenApiOperation } from '../../contract/openapi/types.ts';

export interface Route {
  method: string;
  path: string;
  operation: OpenApiOperation;
}

/** Words of one search that count; nobody asks for more. */
const WORDS_MAX = 12;

export function routesOf({ paths }: OpenApiDocument): Route[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** Every route where nothing is searched for. */
export function findRoutes(document: OpenApiDocument, query: string): Route[] {
  const words = wordsOf(query);
  return routesOf(document).filter((route) => hasAll(words.length > 0 ? textOf(document, route) : '', words));
}

export function findSchemas({ components: { schemas } }: OpenApiDocument, query: string): string[] {
  const words = wordsOf(query);
  return Object.entries(schemas)
    .filter(([name, schema]) => hasAll(`${name} ${fieldsOf(schema)}`.toLowerCase(), words))
    .map(([name]) => name);
}

function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS_MAX);
}

function hasAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

const texts = new WeakMap<OpenApiOperation, string>();

/** The searchable text of an operation: its texts, and the names of its fields. */
function textOf(document: OpenApiDocument, { method, path, operation }: Route): string {
  const known = texts.get(operation);
  if (known !== undefined) return known;
  const { operationId, summary, description = '', tags, parameters, requestBody, responses } = operation;
  const schemas = [requestBody, responses['200']].flatMap((part) =>
    part && 'content' in part ? Object.values(part.content ?? {}).map(({ schema }) => schema) : [],
  );
  const named = schemas.map(({ $ref = '' }) => {
    const schema = document.components.schemas[nameOf($ref)];
    const data = schema?.properties?.data?.$ref;
    return [schema, data && document.components.schemas[nameOf(data)]].map((part) => part && fieldsOf(part)).join(' ');
  });
  const given = parameters.map((parameter) =>
    'name' in parameter ? `${parameter.name} ${parameter.description}` : '',
  );
  const text = [method, path, operationId, summary, description, tags[0], ...given, ...named].join(' ').toLowerCase();
  texts.set(operation, text);
  return text;
}

function fieldsOf({ properties = {} }: JsonSchema): string {
  return Object.entries(properties)
    .map(([name, { description = '' }]) => `${name} ${description}`)
    .join(' ');
}

/** The component that a reference means. */
export function resolved<Value extends object>(
  part: Value | { $ref: string },
  components: Record<string, Value>,
): Value {
  if (!('$ref' in part) || typeof part.$ref !== 'string') return part as Value;
  const found = components[nameOf(part.$ref)];
  if (!found) throw new Error(`${part.$ref} points nowhere`);
  return found;
}

/** The last step of a reference. */
export function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
