/**
 * The flags of a command, made from the contract's schemas: `defaultPlanId` is `--default-plan-id`, and the contract's
 * description is its help. Lists are comma-separated or repeated; `null` clears a nullable field. Nested structures are
 * passed as a JSON document instead.
 */
import { z } from 'zod';

export interface Flag {
  name: string;
  /** The field that the flag sets. */
  field: string;
  kind: 'text' | 'number' | 'list' | 'numbers' | 'boolean';
  nullable: boolean;
  required: boolean;
  help: string;
}

/** The command line is wrong; nothing was sent. */
export class UsageError extends Error {}

interface JsonSchema {
  type?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: unknown;
  required?: string[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

export function flagsOf(schema: z.ZodType | undefined): Flag[] {
  if (!schema) return [];
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const variants = json.anyOf ?? json.oneOf ?? [json];
  const fields = new Set(variants.flatMap(({ properties = {} }) => Object.keys(properties)));
  return [...fields].flatMap((field) => {
    const required = variants.every((variant) => variant.required?.includes(field));
    const property = combine(variants.flatMap(({ properties }) => properties?.[field] ?? []));
    // Names that the caller chooses can be no flags.
    return property.additionalProperties === undefined || property.properties ? flagOf(field, property, required) : [];
  });
}

/** Combines a field's variants in a union body: if each has a fixed value, the help explains these values. */
function combine(properties: JsonSchema[]): JsonSchema {
  const [first = {}] = properties;
  if (properties.length < 2 || properties.some((property) => property.const === undefined)) return first;
  return {
    ...first,
    description: properties.map((property) => `${property.const}: ${property.description}`).join('; '),
  };
}

const KINDS: Readonly<Record<string, Flag['kind']>> = {
  array: 'list',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
};

function flagOf(field: string, property: JsonSchema, required: boolean): Flag {
  const types = property.anyOf ?? [property];
  const type = types.find((one) => one.type !== 'null') ?? property;
  const isOfNumbers = KINDS[type.items?.type ?? ''] === 'number';
  const kind = isOfNumbers ? 'numbers' : (KINDS[type.type ?? ''] ?? 'text');
  const choices = kind === 'boolean' ? ['true', 'false'] : (type.items ?? type).enum;
  const help = [property.description, choices && `(${choices.join(', ')})`, required && '(required)']
    .filter(Boolean)
    .join(' ');
  return { name: kebab(field), field, kind, nullable: types.some((one) => one.type === 'null'), required, help };
}

/** The options for `parseArgs`. */
export function parseOptions(flags: Flag[]): Record<string, { type: 'string'; multiple: boolean }> {
  return Object.fromEntries(flags.map(({ name, kind }) => [name, { type: 'string', multiple: isList(kind) }]));
}

/** The fields that the command line sets. Throws if one is missing or invalid. */
export function readFlags(flags: Flag[], values: Record<string, unknown>): Record<string, unknown> {
  const missing = flags.filter(({ name, required }) => required && values[name] === undefined);
  if (missing.length > 0) throw new UsageError(`${missing.map(({ name }) => `--${name}`).join(', ')} is required`);
  const given = flags.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(given.map((flag) => [flag.field, readFlag(flag, values[flag.name])]));
}

function readFlag({ name, kind, nullable }: Flag, value: unknown): unknown {
  if (nullable && value === 'null') return null;
  if (isList(kind)) {
    const parts = (value as string[])
      .flatMap((part) => part.split(','))
      .map((part) => part.trim())
      .filter(Boolean);
    if (nullable && parts.length === 1 && parts[0] === 'null') return null;
    return kind === 'list' ? parts : parts.map((part) => numberOf(name, part));
  }
  if (kind === 'text') return value;
  if (kind === 'boolean') {
    if (value !== 'true' && value !== 'false') throw new UsageError(`--${name} must be true or false`);
    return value === 'true';
  }
  return numberOf(name, value);
}

const isList = (kind: Flag['kind']) => kind === 'list' || kind === 'numbers';

function numberOf(name: string, value: unknown): number {
  const number = Number(value);
  if (value === '' || !Number.isFinite(number)) throw new UsageError(`--${name} must be a number`);
  return number;
}

function kebab(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
