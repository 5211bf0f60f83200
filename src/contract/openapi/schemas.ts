/**
 * The contract's zod schemas as JSON Schema, for the OpenAPI document: every exported schema of the contract becomes a
 * component under its own name, and whatever uses it refers to it.
 *
 * A schema means one thing where it is sent and another where it is answered, because a default makes a field optional
 * to send. Where the two differ, the one that is sent is called `<Name>Input`.
 */
import { z } from 'zod';
import * as calls from '../calls.ts';
import * as catalog from '../catalog.ts';
import * as compression from '../compression.ts';
import * as customMeter from '../custom-meter.ts';
import * as customers from '../customers.ts';
import * as entitlements from '../entitlements.ts';
import * as envelope from '../envelope.ts';
import * as gateway from '../gateway.ts';
import * as lookup from '../model-lookup.ts';
import * as operator from '../operator.ts';
import * as operatorCustomers from '../operator-customers.ts';
import * as plans from '../plans.ts';
import * as prices from '../prices.ts';
import * as readings from '../readings.ts';
import * as samples from '../samples.ts';
import * as sampling from '../sampling.ts';
import * as sessions from '../sessions.ts';
import * as unifiedCall from '../unified-call.ts';
import * as usageSummary from '../usage-summary.ts';
import * as vendors from '../vendors.ts';

/** A JSON Schema (2020-12), which is what OpenAPI 3.1 has. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  additionalProperties?: JsonSchema | boolean;
  [keyword: string]: unknown;
}

export const SCHEMAS_POINTER = '#/components/schemas/';

/** The lookup has words of its own for a few things that the catalog has too. */
const NAMES: Record<string, string> = { Policy: 'LookupPolicy' };
const OF_LOOKUP: Record<string, string> = { Lifecycle: 'LookupLifecycle', Candidate: 'LookupCandidate', KeyGuidance: 'LookupKeyGuidance' };
const OF_CATALOG: Record<string, string> = { Lifecycle: 'CatalogLifecycle', Provider: 'ModelProvider', Transition: 'CatalogTransition' };

const MODULES: readonly (readonly [Record<string, unknown>, Record<string, string>])[] = [
  ...[entitlements, calls, unifiedCall, customers, customMeter, readings, usageSummary].map((module) => [module, {}] as const),
  ...[sampling, samples, compression, sessions, gateway, envelope].map((module) => [module, {}] as const),
  [lookup, OF_LOOKUP],
  [catalog, OF_CATALOG],
  ...[operator, operatorCustomers, plans, prices, vendors].map((module) => [module, {}] as const),
];

/** Schemas that are only pieces of others, or queries, which have no body. */
const PIECE = /(?:Body|Fields|Query|Identity|Idempotency)$/;
/** What zod writes and OpenAPI has no use for. */
const NOISE = new Set(['$schema', '$id', 'id']);

type Io = 'input' | 'output';

/** What a name says of its schema: that it is only sent, or only answered. Any other may be both. */
const ONLY_SENT = /Request$/;
const ONLY_ANSWERED = /(?:Response|Answer|Data)$/;

export class SchemaBook {
  readonly #names = new Map<z.ZodType, string>();
  readonly #registries = { input: z.registry<{ id: string }>(), output: z.registry<{ id: string }>() };
  #rendered: Record<Io, Record<string, JsonSchema>> | undefined;
  #different: Set<string> = new Set();

  constructor() {
    for (const [module, names] of MODULES) {
      for (const [name, schema] of Object.entries(module)) {
        if (!(schema instanceof z.ZodType) || !/^[A-Z]/.test(name) || PIECE.test(name)) continue;
        this.add(names[name] ?? NAMES[name] ?? name, schema);
      }
    }
  }

  /** Gives the schema a name; where it has one already, that one stays. */
  add(name: string, schema: z.ZodType): void {
    if (this.#names.has(schema)) return;
    this.#names.set(schema, name);
    if (!ONLY_ANSWERED.test(name)) this.#registries.input.add(schema, { id: name });
    if (!ONLY_SENT.test(name)) this.#registries.output.add(schema, { id: name });
  }

  /** A reference to a schema that has a name. To be called when all of them are there. */
  reference(schema: z.ZodType, io: Io): JsonSchema {
    const name = this.#names.get(schema);
    if (name === undefined) throw new Error('only schemas with a name are referred to');
    this.#render();
    return { $ref: SCHEMAS_POINTER + this.#nameOf(name, io) };
  }

  /** Every schema that one of `roots` leads to, by name. */
  components(roots: readonly JsonSchema[]): Record<string, JsonSchema> {
    const { input, output } = this.#render();
    const found: Record<string, JsonSchema> = {};
    const waiting = roots.flatMap(referencesOf);
    // Each name is taken up once, so this ends with the last of them.
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (found[name]) continue;
      const base = name.replace(/Input$/, '');
      const sent = ONLY_SENT.test(name) || (name !== base && this.#different.has(base));
      const schema = sent ? input[base] : output[name];
      if (!schema) throw new Error(`no schema is called ${name}`);
      found[name] = sent ? this.#renamed(schema) : schema;
      waiting.push(...referencesOf(found[name]));
    }
    return Object.fromEntries(Object.entries(found).sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** The fields of a path: text, of which nothing is made. */
  pathParameters(schema: z.ZodType): Record<string, JsonSchema> {
    return convert(schema, 'input').properties ?? {};
  }

  /** The fields of a query. It is text, so what it is read as says more than what is sent. */
  queryParameters(schema: z.ZodType): { properties: Record<string, JsonSchema>; required: string[] } {
    const [sent, read] = [convert(schema, 'input'), convert(schema, 'output')];
    const properties = Object.entries(sent.properties ?? {}).map(([name, property]) => {
      const known = property.type ?? property.enum ?? property.anyOf;
      const answered = read.properties?.[name] ?? {};
      // A list is sent with commas, and read as what it lists.
      return [name, known && answered.type !== 'array' ? property : { ...property, ...answered }] as const;
    });
    return { properties: Object.fromEntries(properties), required: sent.required ?? [] };
  }

  #nameOf(name: string, io: Io): string {
    return io === 'input' && this.#different.has(name) ? `${name}Input` : name;
  }

  #renamed(schema: JsonSchema): JsonSchema {
    return rewrite(schema, (name) => this.#nameOf(name, 'input'));
  }

  #render(): Record<Io, Record<string, JsonSchema>> {
    if (this.#rendered) return this.#rendered;
    const render = (io: Io) => {
      const { schemas } = z.toJSONSchema(this.#registries[io], { io, unrepresentable: 'any', uri: (id) => SCHEMAS_POINTER + id });
      return clean(schemas) as Record<string, JsonSchema>;
    };
    const rendered = { input: render('input'), output: render('output') };
    this.#different = differing(rendered);
    this.#rendered = rendered;
    return rendered;
  }
}

/** A schema by itself, with nothing referred to. */
function convert(schema: z.ZodType, io: Io): JsonSchema {
  return clean(z.toJSONSchema(schema, { io, unrepresentable: 'any' })) as JsonSchema;
}

/** Schemas that are not the same sent and answered, or that lead to one. What is only one of both has one form. */
function differing({ input, output }: Record<Io, Record<string, JsonSchema>>): Set<string> {
  const both = Object.keys(output).filter((name) => input[name]);
  const found = new Set(both.filter((name) => JSON.stringify(essence(input[name])) !== JSON.stringify(essence(output[name]))));
  const references = new Map(both.map((name) => [name, referencesOf(input[name])]));
  // Each round finds at least one more name, or is the last.
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const [name, others] of references) if (others.some((other) => found.has(other))) found.add(name);
  }
  return found;
}

/** What decides whether two schemas differ: an answer may always have members that this version does not know. */
function essence(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(essence);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => !(keyword === 'additionalProperties' && (value === false || Object.keys(value).length === 0)))
      .map(([keyword, value]) => [keyword, essence(value)]),
  );
}

function referencesOf(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(referencesOf);
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([keyword, value]) =>
    keyword === '$ref' && typeof value === 'string' && value.startsWith(SCHEMAS_POINTER)
      ? [value.slice(SCHEMAS_POINTER.length)]
      : referencesOf(value),
  );
}

function rewrite<Value>(schema: Value, nameOf: (name: string) => string): Value {
  if (Array.isArray(schema)) return schema.map((item) => rewrite(item, nameOf)) as Value;
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([keyword, value]) =>
    keyword === '$ref' && typeof value === 'string'
      ? [keyword, SCHEMAS_POINTER + nameOf(value.slice(SCHEMAS_POINTER.length))]
      : [keyword, rewrite(value, nameOf)],
  );
  return Object.fromEntries(entries) as Value;
}

/** Without zod's own names, with bounds that say nothing left out, and no pattern where a format says the same. */
function clean(schema: unknown, isMap = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => clean(item));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([keyword, value]) => {
    if (isMap) return true;
    if (NOISE.has(keyword)) return false;
    if (keyword === 'pattern' && 'format' in schema) return false;
    return !((keyword === 'minimum' || keyword === 'maximum') && Math.abs(value as number) === Number.MAX_SAFE_INTEGER);
  });
  const maps = new Set(['properties', '$defs']);
  return Object.fromEntries(entries.map(([keyword, value]) => [keyword, clean(value, !isMap && maps.has(keyword))]));
}
