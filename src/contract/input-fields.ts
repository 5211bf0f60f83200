/**
 * The fields that an input has, from its schema. The command line makes flags from them, and the console's forms read
 * and draw them.
 */
import { z } from 'zod';

export interface InputField {
  /** `features.include` for a field inside another. */
  path: string;
  kind: 'text' | 'number' | 'boolean' | 'list' | 'numbers';
  /** The allowed values, or the allowed items of a list. */
  choices: readonly string[] | null;
  nullable: boolean;
  required: boolean;
  /** A list that may have no item. */
  mayBeEmpty: boolean;
  /** A number from 0 to 1. */
  isShare: boolean;
  /** `date-time` of an instant. */
  format: string | null;
  description: string;
}

interface JsonSchema {
  type?: string;
  format?: string;
  description?: string;
  enum?: string[];
  const?: unknown;
  items?: JsonSchema;
  minItems?: number;
  maximum?: number;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: unknown;
  required?: string[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

/**
 * The fields of an object's schema, or of each variant of a union. A field with fields of its own is replaced by these
 * with `inner`, and left out otherwise. Fields whose names the caller chooses are left out.
 */
export function inputFields(schema: z.ZodType, { inner = false } = {}): InputField[] {
  return fieldsIn(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema, inner, '');
}

function fieldsIn(json: JsonSchema, inner: boolean, prefix: string): InputField[] {
  const variants = json.anyOf ?? json.oneOf ?? [json];
  const names = new Set(variants.flatMap(({ properties = {} }) => Object.keys(properties)));
  return [...names].flatMap((name) => {
    const required = variants.every((variant) => variant.required?.includes(name));
    const property = combine(variants.flatMap(({ properties }) => properties?.[name] ?? []));
    if (property.additionalProperties !== undefined && !property.properties) return [];
    const path = prefix + name;
    if (property.properties) return inner ? fieldsIn(property, inner, `${path}.`) : [];
    return [buildField(path, property, required)];
  });
}

/** Combines a field's variants in a union: if each has a fixed value, the description explains these values. */
function combine(properties: JsonSchema[]): JsonSchema {
  const [first = {}] = properties;
  if (properties.length < 2 || properties.some((property) => property.const === undefined)) return first;
  return {
    ...first,
    enum: properties.map((property) => String(property.const)),
    description: properties.map((property) => `${property.const}: ${property.description}`).join('; '),
  };
}

const KINDS: Readonly<Record<string, InputField['kind']>> = {
  array: 'list',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
};

function buildField(path: string, property: JsonSchema, required: boolean): InputField {
  const types = property.anyOf ?? [property];
  const type = types.find((one) => one.type !== 'null') ?? property;
  const isOfNumbers = KINDS[type.items?.type ?? ''] === 'number';
  return {
    path,
    kind: isOfNumbers ? 'numbers' : (KINDS[type.type ?? ''] ?? 'text'),
    choices: (type.items ?? type).enum ?? null,
    nullable: types.some((one) => one.type === 'null'),
    required,
    mayBeEmpty: (type.minItems ?? 0) === 0,
    isShare: type.maximum === 1,
    format: type.format ?? null,
    description: property.description ?? '',
  };
}
