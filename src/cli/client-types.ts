/**
 * Writes the client's types of requests and responses (`src/client/wire.ts`) as plain interfaces with the schemas'
 * descriptions, so that the published declarations need no zod.
 *
 * The types are made from the JSON Schema that zod prints. An unknown keyword fails the build, and a test compares the
 * result with the types that zod infers.
 */
import { z } from 'zod';
import { Transition } from '../contract/catalog.ts';
import { FullResolution, LightResolution, LookupQuery } from '../contract/model-lookup.ts';
import { type Operation, operations } from '../contract/operations.ts';

type Schema = z.core.JSONSchema.BaseSchema;
type Io = 'input' | 'output';

interface Member {
  schema: Schema;
  required: boolean;
}

/** A deprecated name of `idempotencyKey` in the body of `call_begin`; the client has one name. */
const DEPRECATED = new Set(['idempotency']);

/** Keywords that do not affect a type: limits and descriptions. */
const SILENT = new Set(
  '$schema description default format pattern minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems propertyNames contentEncoding'.split(
    ' ',
  ),
);

/** The text of the whole module, with the names of `src/client/wire.ts`. */
export function clientTypes(): string {
  const keyed = Object.values<Operation>(operations).filter(({ security }) => security.kind === 'apiKey');
  return [
    '/**\n * What travels between the client and the service.\n */',
    ...keyed.flatMap((operation) => [
      declare(`${operationTypeName(operation)}Input`, inputType(operation), ''),
      declare(`${operationTypeName(operation)}Data`, printed(jsonSchema(operation.data, 'output'), ''), ''),
    ]),
    table('Inputs', 'What each operation is asked with.', keyed, 'Input'),
    table('Answers', 'What each operation answers.', keyed, 'Data'),
    "export type Allowed = BeginCallData['allowed'];",
    "export type Hints = BeginCallData['entitlementHints'];",
    declare(
      'LookUpQuery',
      object(
        queryMembers(LookupQuery, () => false),
        '',
      ),
      'Every parameter may be left to its default.',
    ),
    declare('FullModelResolution', printed(jsonSchema(FullResolution, 'output'), ''), ''),
    declare('LightModelResolution', printed(jsonSchema(LightResolution, 'output'), ''), ''),
    declare('ModelTransition', printed(jsonSchema(Transition, 'output'), ''), ''),
    '',
  ].join('\n\n');
}

function operationTypeName({ operationId }: Operation): string {
  return operationId.charAt(0).toUpperCase() + operationId.slice(1);
}

function table(name: string, about: string, keyed: Operation[], suffix: string): string {
  const lines = keyed.map(
    (entry) => `${comment(entry.summary, '  ')}  ${entry.operationId}: ${operationTypeName(entry)}${suffix};`,
  );
  return `${comment(about, '')}export interface ${name} {\n${lines.join('\n')}\n}`;
}

function declare(name: string, type: string, about: string): string {
  return `${comment(about, '')}${type.startsWith('{') ? `export interface ${name} ${type}` : `export type ${name} = ${type};`}`;
}

/** Path, query and body in one object. */
function inputType({ params, query, body }: Operation): string {
  const schema = body && jsonSchema(body, 'input');
  const members = {
    ...(params && listMembers(jsonSchema(params, 'input'))),
    ...(query && queryMembers(query, (name, required) => required.has(name))),
    ...(schema?.type === 'object' && listMembers(schema)),
  };
  const kept = Object.fromEntries(Object.entries(members).filter(([name]) => !DEPRECATED.has(name)));
  if (!schema || schema.type === 'object') return object(kept, '');
  // A body that is a union is intersected with the members of path and query.
  return Object.keys(kept).length > 0 ? `${object(kept, '')} & (${printed(schema, '')})` : printed(schema, '');
}

/** A query is sent as text: types come from the schema's output, and its input says which members are optional. */
function queryMembers(
  query: z.ZodObject,
  isRequired: (name: string, required: Set<string>) => boolean,
): Record<string, Member> {
  const required = new Set(jsonSchema(query, 'input').required);
  const members = listMembers(jsonSchema(query, 'output'));
  return Object.fromEntries(
    Object.entries(members).map(([name, { schema }]) => [name, { schema, required: isRequired(name, required) }]),
  );
}

function listMembers({ properties = {}, required = [] }: Schema): Record<string, Member> {
  const names = new Set(required);
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, { schema: schema as Schema, required: names.has(name) }]),
  );
}

function jsonSchema(schema: z.ZodType, io: Io): Schema {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: printedSchema }) => {
      const { def } = zodSchema._zod;
      if (
        def.type === 'transform' ||
        (def.type === 'pipe' && def.out._zod.def.type === 'transform' && io === 'output')
      ) {
        Object.assign(printedSchema, transformed(def));
      }
    },
  });
}

/** JSON Schema cannot describe a transform. Transforms in the contract turn text into a flag, or keep the type. */
function transformed(def: z.core.$ZodTypes['_zod']['def']): Schema {
  if (def.type !== 'pipe') return {};
  const given = (def as z.core.$ZodPipeDef).in;
  const from = given._zod.def.type === 'default' ? (given._zod.def as z.core.$ZodDefaultDef).innerType : given;
  const isFlag = from._zod.def.type === 'enum' && [...(from._zod.values ?? [])].sort().join() === 'false,true';
  return isFlag ? { type: 'boolean' } : z.toJSONSchema(from, { unrepresentable: 'any' });
}

function printed(schema: Schema, indent: string): string {
  const {
    type,
    properties,
    required: _required,
    additionalProperties,
    items,
    prefixItems,
    enum: values,
    const: value,
    ...rest
  } = schema;
  const { anyOf, oneOf, allOf, ...unknown } = rest;
  const strange = Object.keys(unknown).find((keyword) => !SILENT.has(keyword));
  if (strange !== undefined || prefixItems !== undefined)
    throw new Error(`no type is known for the keyword ${strange} of ${JSON.stringify(schema)}`);
  const union = anyOf ?? oneOf;
  if (union) return union.map((part) => printed(part as Schema, indent)).join(' | ');
  if (allOf) {
    // `allOf` here only adds limits, which do not affect the type.
    const { allOf: _bounds, ...base } = schema;
    const parts = [base, ...(allOf as Schema[])].map((part) => grouped(part, indent));
    return parts.filter((part) => part !== 'unknown').join(' & ') || 'unknown';
  }
  if (value !== undefined) return JSON.stringify(value);
  if (values) return values.map((each) => JSON.stringify(each)).join(' | ');
  if (Array.isArray(type)) return type.map((each) => printed({ ...schema, type: each }, indent)).join(' | ');
  switch (type) {
    case 'object':
      if (properties) return object(listMembers(schema), indent, isOpen(additionalProperties));
      return `Record<string, ${isOpen(additionalProperties) ? printed(additionalProperties as Schema, indent) : 'unknown'}>`;
    case 'array':
      return items ? `${grouped(items as Schema, indent)}[]` : 'unknown[]';
    case 'integer':
      return 'number';
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return type;
    case undefined:
      return 'unknown';
    default:
      throw new Error(`no type is known for ${JSON.stringify(schema)}`);
  }
}

function isOpen(additionalProperties: Schema['additionalProperties']): boolean {
  return typeof additionalProperties === 'object';
}

/** Adds parentheses if the type is a union. */
function grouped(schema: Schema, indent: string): string {
  const isOne = !schema.anyOf && !schema.oneOf && !schema.allOf && !schema.enum && !Array.isArray(schema.type);
  return isOne ? printed(schema, indent) : `(${printed(schema, indent)})`;
}

function object(members: Record<string, Member>, indent: string, open = false): string {
  const inner = `${indent}  `;
  const lines = Object.entries(members).map(([name, { schema, required }]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    return `${comment(schema.description ?? '', inner)}${inner}${key}${required ? '' : '?'}: ${printed(schema, inner)}${required ? '' : ' | undefined'};\n`;
  });
  return `{\n${lines.join('')}${open ? `${inner}[member: string]: unknown;\n` : ''}${indent}}`;
}

function comment(text: string, indent: string): string {
  return text === '' ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;
}
