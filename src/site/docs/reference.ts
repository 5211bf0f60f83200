/**
 * The queries of the reference's pages to the OpenAPI document: operations by group, the targets of references, the
 * codes of an operation's errors.
 */
import type { JsonSchema, OpenApiDocument, OpenApiOperation, Parameter } from '../../http/openapi/types.ts';

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

export function routesOf({ paths }: OpenApiDocument): Route[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

export function groupsOf(document: OpenApiDocument): Group[] {
  const routes = routesOf(document);
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    routes: routes.filter(({ operation }) => operation.tags[0] === name),
  }));
}

/** `beginCall` is `Begin call`. */
export function titleOf({ operationId }: OpenApiOperation): string {
  const words = operationId.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function parametersOf(document: OpenApiDocument, { parameters }: OpenApiOperation): Parameter[] {
  return parameters.map((parameter) => resolved(parameter, document.components.parameters));
}

/** Codes that only operations with a certain field or parameter answer. */
const FIELD_OF_CODE: Readonly<Record<string, string>> = {
  CALL_NOT_FOUND: 'callId',
  CUSTOMER_NOT_FOUND: 'customerId',
  SUBSCRIPTION_NOT_FOUND: 'customerId',
  PLAN_NOT_FOUND: 'planId',
  METER_NOT_ENABLED: 'meterSlot',
  COMPRESSION_JOB_NOT_FOUND: 'jobId',
};
/** Codes of session tokens: only operations that take them return these. */
const SESSION_CODES: ReadonlySet<string> = new Set(['FIELD_NOT_ALLOWED', 'CUSTOMER_FORBIDDEN']);

/** The codes that an operation may answer with a status. */
export function codesOf(document: OpenApiDocument, operation: OpenApiOperation, status: string): string[] {
  const answer = operation.responses[status];
  // A success has codes too.
  if (!answer || status === '200') return [];
  const { description } = resolved(answer, document.components.responses);
  const codes = [...description.matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => code);
  const fields = inputFields(document, operation);
  const takesSessions = operation.security.some((choice) => 'sessionToken' in choice);
  return codes.filter((code) => {
    const field = FIELD_OF_CODE[code];
    return (field === undefined || fields.has(field)) && (takesSessions || !SESSION_CODES.has(code));
  });
}

/** The names of an operation's parameters, and of the fields of its body. */
function inputFields(document: OpenApiDocument, operation: OpenApiOperation): Set<string> {
  const bodies = Object.values(operation.requestBody?.content ?? {});
  const fields = bodies.flatMap(({ schema }) =>
    Object.keys(resolved(schema, document.components.schemas).properties ?? {}),
  );
  return new Set([...parametersOf(document, operation).map(({ name }) => name), ...fields]);
}

/** The target of a reference. */
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

/** The names of a schema's fields with their descriptions, for the search. */
export function fieldTexts({ properties = {} }: JsonSchema): string {
  return Object.entries(properties)
    .map(([name, { description = '' }]) => `${name} ${description}`)
    .join(' ');
}
