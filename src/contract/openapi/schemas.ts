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
const OF_LOOKUP: Record<string, string> = {
  Lifecycle: 'LookupLifecycle',
  Candidate: 'LookupCandidate',
  KeyGuidance: 'LookupKeyGuidance',
};
const OF_CATALOG: Record<string, string> = {
  Lifecycle: 'CatalogLifecycle',
  Provider: 'ModelProvider',
  Transition: 'CatalogTransition',
};

const MODULES: readonly (readonly [Record<string, unknown>, Record<string, string>])[] = [
  ...[entitlements, calls, unifiedCall, customers, customMeter, readings, usageSummary].map(
    (module) => [module, {}] as const,
  ),
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
  readonly #namesOf = { input: new Map<z.core.$ZodType, string>(), output: new Map<z.core.$ZodType, string>() };
  readonly #schemas = { input: new Map<string, z.ZodType>(), output: new Map<string, z.ZodType>() };
  readonly #rendered = { input: new Map<string, JsonSchema>(), output: new Map<string, JsonSchema>() };
  readonly #different = new Map<string, boolean>();
  /** Many operations have the same path. */
  readonly #paths = new Map<z.ZodType, Record<string, JsonSchema>>();

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
    for (const io of ['input', 'output'] as const) {
      if ((io === 'input' ? ONLY_ANSWERED : ONLY_SENT).test(name)) continue;
      this.#namesOf[io].set(schema, name);
      this.#schemas[io].set(name, schema);
    }
  }

  /** A reference to a schema that has a name. To be called when all names are there that it may refer to. */
  reference(schema: z.ZodType, io: Io): JsonSchema {
    const name = this.#names.get(schema);
    if (name === undefined) throw new Error('only schemas with a name are referred to');
    return { $ref: SCHEMAS_POINTER + this.#nameOf(name, io) };
  }

  /** The schema that a reference with this name means. */
  component(name: string): JsonSchema | undefined {
    const base = name.replace(/Input$/, '');
    const sent = ONLY_SENT.test(name) || (name !== base && this.#schemas.output.has(base) && this.#isDifferent(base));
    const schema = sent ? this.#render(base, 'input') : this.#render(name, 'output');
    return sent && schema ? this.#renamed(schema) : schema;
  }

  /** Every schema that one of `roots` leads to, by name. */
  components(roots: readonly JsonSchema[]): Record<string, JsonSchema> {
    const found: Record<string, JsonSchema> = {};
    const waiting = roots.flatMap(referencesOf);
    // Each name is taken up once, so this ends with the last of them.
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (found[name]) continue;
      const schema = this.component(name);
      if (!schema) throw new Error(`no schema is called ${name}`);
      found[name] = schema;
      waiting.push(...referencesOf(schema));
    }
    return Object.fromEntries(Object.entries(found).sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /**
   * Renders what is sent, with all that it refers to, and every schema that is answered: together, because zod goes
   * through all that it knows for each that it is asked for.
   */
  renderAll(): void {
    const sent = [...this.#schemas.input].filter(([name]) => ONLY_SENT.test(name)).map(([, schema]) => schema);
    for (const [io, schemas] of [
      ['input', sent],
      ['output', [...this.#schemas.output.values()]],
    ] as const) {
      const { $defs } = this.#convertNamed(z.union(schemas), io);
      this.#keep(io, $defs as Record<string, JsonSchema>);
    }
  }

  /** The fields of a path: text, of which nothing is made. */
  pathParameters(schema: z.ZodType): Record<string, JsonSchema> {
    const known = this.#paths.get(schema) ?? convert(schema, 'input').properties ?? {};
    this.#paths.set(schema, known);
    return known;
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
    return io === 'input' && this.#isDifferent(name) ? `${name}Input` : name;
  }

  #renamed(schema: JsonSchema): JsonSchema {
    return rewrite(schema, (name) => this.#nameOf(name, 'input'));
  }

  /**
   * Whether the schema is not the same sent and answered, or leads to one that is not. What is only one of both has one
   * form.
   */
  #isDifferent(name: string): boolean {
    const known = this.#different.get(name);
    if (known !== undefined) return known;
    const reached = new Set<string>();
    const waiting = [name];
    // Each name is taken up once, so this ends with the last of them.
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (reached.has(next)) continue;
      reached.add(next);
      const [sent, answered] = [this.#render(next, 'input'), this.#render(next, 'output')];
      if (!sent || !answered) continue;
      if (this.#different.get(next) || JSON.stringify(essence(sent)) !== JSON.stringify(essence(answered))) {
        this.#different.set(name, true);
        return true;
      }
      waiting.push(...referencesOf(sent));
    }
    // Whatever it leads to leads to nothing else.
    for (const same of reached) this.#different.set(same, false);
    return false;
  }

  /** With all that it refers to. */
  #render(name: string, io: Io): JsonSchema | undefined {
    const known = this.#rendered[io].get(name);
    const schema = this.#schemas[io].get(name);
    if (known || !schema) return known;
    const { $defs = {}, ...root } = this.#convertNamed(schema, io);
    this.#keep(io, { [name]: root, ...($defs as Record<string, JsonSchema>) }, name);
    return this.#rendered[io].get(name);
  }

  /** Whatever has a name is in `$defs`, but for the schema itself. */
  #convertNamed(schema: z.ZodType, io: Io): JsonSchema {
    return z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      metadata: new NamedSchemas(this.#namesOf[io]),
    }) as JsonSchema;
  }

  #keep(io: Io, schemas: Record<string, JsonSchema>, root = ''): void {
    for (const [name, schema] of Object.entries(schemas)) {
      if (!this.#rendered[io].has(name)) this.#rendered[io].set(name, pointed(clean(schema) as JsonSchema, root));
    }
  }
}

/** What zod knows of schemas, with the names that make it refer to them. */
class NamedSchemas extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  readonly #names: ReadonlyMap<z.core.$ZodType, string>;

  constructor(names: ReadonlyMap<z.core.$ZodType, string>) {
    super();
    this.#names = names;
  }

  override get<Schema extends z.core.$ZodType>(schema: Schema) {
    const known = z.globalRegistry.get(schema);
    const id = this.#names.get(schema);
    return id === undefined ? known : { ...known, id };
  }
}

/** With references as the document has them: zod's lead into the schema that was rendered, `root`. */
function pointed(schema: JsonSchema, root: string): JsonSchema {
  return rewrite(schema, (name) => name || root, /^#(?:\/\$defs\/)?/);
}

/** A schema by itself, with nothing referred to. */
function convert(schema: z.ZodType, io: Io): JsonSchema {
  return clean(z.toJSONSchema(schema, { io, unrepresentable: 'any' })) as JsonSchema;
}

/** What decides whether two schemas differ: an answer may always have members that this version does not know. */
function essence(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(essence);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(
        ([keyword, value]) =>
          !(keyword === 'additionalProperties' && (value === false || Object.keys(value).length === 0)),
      )
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

/** With other names in the references, which so far begin with `pointer`. */
function rewrite<Value>(
  schema: Value,
  nameOf: (name: string) => string,
  pointer: string | RegExp = SCHEMAS_POINTER,
): Value {
  if (Array.isArray(schema)) return schema.map((item) => rewrite(item, nameOf, pointer)) as Value;
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([keyword, value]) =>
    keyword === '$ref' && typeof value === 'string'
      ? [keyword, SCHEMAS_POINTER + nameOf(value.replace(pointer, ''))]
      : [keyword, rewrite(value, nameOf, pointer)],
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
