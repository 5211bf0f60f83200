/**
 * The contract's zod schemas in the OpenAPI document: every exported schema of the contract is a component under its
 * own name, and every use refers to it.
 *
 * zod-openapi renders them. A schema can differ between requests and answers, because a default makes a field optional
 * to send; the form for requests is then called `<Name>Input`.
 */
import { z } from 'zod';
import type { CreateDocumentOptions } from 'zod-openapi';
import * as calls from '../../contract/calls.ts';
import * as catalog from '../../contract/catalog.ts';
import * as compression from '../../contract/compression.ts';
import * as customMeter from '../../contract/custom-meter.ts';
import * as customers from '../../contract/customers.ts';
import * as entitlements from '../../contract/entitlements.ts';
import * as envelope from '../../contract/envelope.ts';
import * as gatewayAnswers from '../../contract/gateway/answers.ts';
import * as gatewayLabels from '../../contract/gateway/labels.ts';
import * as gatewayRequests from '../../contract/gateway/requests.ts';
import * as margin from '../../contract/margin.ts';
import * as lookup from '../../contract/model-lookup.ts';
import * as operator from '../../contract/operator.ts';
import * as operatorCustomers from '../../contract/operator-customers.ts';
import * as operators from '../../contract/operators.ts';
import * as plans from '../../contract/plans.ts';
import * as prices from '../../contract/prices.ts';
import * as readings from '../../contract/readings.ts';
import * as samples from '../../contract/samples.ts';
import * as sampling from '../../contract/sampling.ts';
import * as sessions from '../../contract/sessions.ts';
import * as unifiedCall from '../../contract/unified-call.ts';
import * as usageSummary from '../../contract/usage-summary.ts';
import * as vendors from '../../contract/vendors.ts';
import { WORDS } from './text.ts';
import type { JsonSchema, OpenApiDocument } from './types.ts';

const POINTER = '#/components/schemas/';

/** Schemas with the same name in the lookup and the catalog. */
const LOOKUP_NAMES: Record<string, string> = {
  Lifecycle: 'LookupLifecycle',
  Candidate: 'LookupCandidate',
  KeyGuidance: 'LookupKeyGuidance',
  Policy: 'LookupPolicy',
};
const CATALOG_NAMES: Record<string, string> = {
  Lifecycle: 'CatalogLifecycle',
  Provider: 'ModelProvider',
  Transition: 'CatalogTransition',
};

const MODULES: readonly (readonly [Record<string, unknown>, Record<string, string>?])[] = [
  ...[entitlements, calls, unifiedCall, customers, customMeter, readings, usageSummary, margin].map(
    (each) => [each] as const,
  ),
  ...[sampling, samples, compression, sessions, gatewayLabels, gatewayRequests, gatewayAnswers, envelope].map(
    (each) => [each] as const,
  ),
  [lookup, LOOKUP_NAMES],
  [catalog, CATALOG_NAMES],
  ...[operator, operatorCustomers, operators, plans, prices, vendors].map((each) => [each] as const),
];

/** Schemas that are only parts of others, or queries, which have no body. */
const PIECE = /(?:Body|Fields|Query|Identity|Idempotency)$/;

/** The schemas that the contract exports, by name. A schema has one name: the first. */
export function exportedSchemas(): Map<z.ZodType, string> {
  const names = new Map<z.ZodType, string>();
  for (const [module, other = {}] of MODULES) {
    for (const [name, schema] of Object.entries(module)) {
      const isNamed = schema instanceof z.ZodType && /^[A-Z]/.test(name) && !PIECE.test(name);
      if (isNamed && !names.has(schema)) names.set(schema, other[name] ?? name);
    }
  }
  return names;
}

/** The parameters of a path, which are text. */
export function pathParameters(schema: z.ZodType): Record<string, JsonSchema> {
  return toJsonSchema(schema, 'input').properties ?? {};
}

/** The parameters of a query. They are sent as text, so the parsed types say more. */
export function queryParameters(schema: z.ZodType): { properties: Record<string, JsonSchema>; required: string[] } {
  const [sent, read] = [toJsonSchema(schema, 'input'), toJsonSchema(schema, 'output')];
  const properties = Object.entries(sent.properties ?? {}).map(([name, property]) => {
    const known = property.type ?? property.enum ?? property.anyOf;
    const answered = read.properties?.[name] ?? {};
    // The wire has text; clients have a boolean.
    if (answered.type === 'boolean') return [name, answered] as const;
    // A list is sent with commas and parsed as an array.
    return [name, known && answered.type !== 'array' ? property : { ...property, ...answered }] as const;
  });
  return { properties: Object.fromEntries(properties), required: sent.required ?? [] };
}

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema as JsonSchema),
  }) as JsonSchema;
}

/** How zod-openapi renders the schemas. */
export const RENDERING: CreateDocumentOptions = {
  // Every component is rendered for both directions; forms that are not used are removed afterwards.
  allowEmptySchema: { pipe: { output: true }, custom: true },
  override: ({ jsonSchema, zodSchema, io }) => {
    simplify(jsonSchema as JsonSchema);
    // An answer may have members that this version does not know. Only strict objects are closed.
    const { def } = zodSchema._zod;
    if (io === 'output' && def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
    if (zodSchema === gatewayLabels.GatewayCustomer) allowId(jsonSchema as JsonSchema);
  },
};

/** Adds the customer id as a plain string, which the schema's preprocessing accepts and JSON Schema cannot show. */
function allowId(schema: JsonSchema): void {
  const object = { ...schema };
  for (const keyword of Object.keys(schema)) delete schema[keyword];
  schema.anyOf = [{ type: 'string', description: 'The customer id' }, object];
}

/** Removes bounds that every integer has, and the pattern of a format. */
function simplify(schema: JsonSchema): void {
  for (const bound of ['minimum', 'maximum'])
    if (Math.abs(schema[bound] as number) === Number.MAX_SAFE_INTEGER) delete schema[bound];
  if ('format' in schema) delete schema.pattern;
}

/**
 * The document with only the components that its paths use. zod-openapi renders every component. If the forms for
 * answers and requests differ, it gives the form for answers the longer name; this swaps the names.
 */
export function usedComponents(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  const renamed = JSON.parse(
    JSON.stringify(document, (key, value) =>
      key === 'schemas' && value === schemas ? byFinalName(schemas) : value,
    ).replace(/"#\/components\/schemas\/(\w+)"/g, (_, name: string) => `"${POINTER}${finalName(name, schemas)}"`),
  ) as OpenApiDocument;
  const { components } = renamed;
  const used = new Set<string>();
  const waiting = referencesIn([renamed.paths, components.responses]);
  // Ends, because each name is visited once.
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (used.has(name)) continue;
    used.add(name);
    waiting.push(...referencesIn(components.schemas[name]));
  }
  const kept = [...used].sort().map((name) => [name, components.schemas[name] as JsonSchema] as const);
  const all = Object.fromEntries(kept);
  for (const part of [all, renamed.paths]) finish(part, all);
  return { ...renamed, components: { ...components, schemas: all } };
}

function finalName(name: string, schemas: Record<string, JsonSchema>): string {
  if (name.endsWith('Output') && schemas[name.slice(0, -'Output'.length)]) return name.slice(0, -'Output'.length);
  return schemas[`${name}Output`] ? `${name}Input` : name;
}

function byFinalName(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [finalName(name, schemas), schema]));
}

function referencesIn(part: unknown): string[] {
  return [...JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name as string);
}

/**
 * Adds the description for its name (`WORDS`) to a field without one. Removes `additionalProperties` beside a
 * reference, which zod writes and zod-openapi does not pass to `override`.
 */
function finish(part: unknown, schemas: Record<string, JsonSchema>): void {
  if (typeof part !== 'object' || part === null) return;
  const schema = part as JsonSchema;
  if (schema.$ref !== undefined) delete schema.additionalProperties;
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const word = WORDS[name];
    const described = field.description ?? (field.$ref && schemas[field.$ref.slice(POINTER.length)]?.description);
    if (word !== undefined && described === undefined) field.description = word;
  }
  for (const inner of Object.values(part)) finish(inner, schemas);
}
