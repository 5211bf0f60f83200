/**
 * Which operations and schemas a search in the API reference means: those that have every word of it somewhere.
 */
import type { RouteSummary } from '../../contract/openapi/document.ts';
import type { JsonSchema } from '../../contract/openapi/schemas.ts';
import type { OpenApiDocument, OpenApiOperation } from '../../contract/openapi/types.ts';

interface Route {
  method: string;
  path: string;
  operation: OpenApiOperation;
}

/** Words of one search that count; nobody asks for more. */
const WORDS_MAX = 12;

function routesOf({ paths }: OpenApiDocument): Route[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

export function findRoutes(document: OpenApiDocument, query: string): RouteSummary[] {
  const words = wordsOf(query);
  return routesOf(document)
    .filter((route) => hasAll(textOf(document, route), words))
    .map(({ method, path, operation: { operationId, summary, tags } }) => ({
      method,
      path,
      operationId,
      summary,
      tag: tags[0],
    }));
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

/** Everything that is said of an operation: its own words, and the names of what goes in and comes out. */
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

/** The last step of a reference. */
export function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
