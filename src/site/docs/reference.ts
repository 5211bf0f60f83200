/**
 * The queries of the reference's pages to the OpenAPI document: operations by group, the targets of references, the
 * codes of an operation's errors.
 */
import type {
  AnswerObject,
  JsonSchema,
  OpenApiDocument,
  OpenApiOperation,
  Parameter,
} from '../../http/openapi/types.ts';

export interface Route {
  method: string;
  path: string;
  operation: OpenApiOperation;
}

export interface Group {
  name: string;
  description: string;
  routes: readonly Route[];
}

export function listRoutes({ paths }: OpenApiDocument): Route[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

export function groupRoutes(document: OpenApiDocument): Group[] {
  const routes = listRoutes(document);
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    routes: routes.filter(({ operation }) => operation.tags[0] === name),
  }));
}

/** `beginCall` is `Begin call`. */
export function operationTitle({ operationId }: OpenApiOperation): string {
  const words = operationId.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function listParameters(document: OpenApiDocument, { parameters }: OpenApiOperation): Parameter[] {
  return parameters.map((parameter) => resolved(parameter, document.components.parameters));
}

/** The codes that an operation may answer with a status. */
export function errorCodes(document: OpenApiDocument, operation: OpenApiOperation, status: string): string[] {
  const answer = operation.responses[status];
  // A success has codes too.
  if (!answer || status === '200') return [];
  const description = answer.description ?? resolved<AnswerObject>(answer, document.components.responses).description;
  return [...description.matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => code);
}

/** The target of a reference. */
export function resolved<Value extends object>(
  part: Value | { $ref: string },
  components: Record<string, Value>,
): Value {
  if (!('$ref' in part) || typeof part.$ref !== 'string') return part as Value;
  const found = components[referenceName(part.$ref)];
  if (!found) throw new Error(`${part.$ref} points nowhere`);
  return found;
}

/** The last step of a reference. */
export function referenceName(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** The names of a schema's fields with their descriptions, for the search. */
export function fieldTexts({ properties = {} }: JsonSchema): string {
  return Object.entries(properties)
    .map(([name, { description = '' }]) => `${name} ${description}`)
    .join(' ');
}
