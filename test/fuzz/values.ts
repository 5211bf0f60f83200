/**
 * Generates values from the JSON Schema of the contract's schemas: first a valid one, as far as JSON Schema expresses
 * the rules, then the same with one part broken.
 */
import { z } from 'zod';
import type { Random } from '../crash/random.ts';
import { hostileText, hostileValue } from './hostile.ts';

interface Shape {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Shape[];
  oneOf?: Shape[];
  allOf?: Shape[];
  properties?: Record<string, Shape>;
  required?: string[];
  additionalProperties?: Shape | boolean;
  items?: Shape | boolean;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}

/** Names of fields, with values that make requests meet existing objects. */
export type Pools = Record<string, readonly unknown[]>;

/** The values that are tried for a string until one satisfies its rules. */
const CANDIDATES = [
  'test',
  'text of some length',
  '1',
  '10',
  '0.01',
  '2026-11-20T00:00:00.000Z',
  '2026-11-20',
  '3f2b8f0e-8b7e-4c3b-9d52-0f6a3a1f7b11',
  'https://fuzz.invalid/v1',
  'openai/gpt-4o',
  'a'.repeat(64),
];
/** Optional fields that a value has. */
const OPTIONAL_SHARE = 0.45;
const ITEMS_MAX = 3;
const DEPTH_MAX = 8;

const shapes = new WeakMap<z.ZodType, Shape>();

/** The schema's conditions on a request, after any preprocessing of the body. */
export function readShape(schema: z.ZodType): Shape {
  const known = shapes.get(schema);
  if (known) return known;
  const piped = (schema as unknown as { _zod: { def: { type: string; in?: z.ZodType; out?: z.ZodType } } })._zod.def;
  // The schema after the preprocessing describes the body.
  const read =
    piped.type === 'pipe' && piped.out && piped.in?._zod.def.type === 'transform' ? (piped.out as z.ZodType) : schema;
  const shape = z.toJSONSchema(read, { io: 'input', unrepresentable: 'any', cycles: 'ref', reused: 'inline' }) as Shape;
  shapes.set(schema, shape);
  return shape;
}

export function validValue(shape: Shape, random: Random, pools: Pools, name = '', depth = 0): unknown {
  const pool = Object.hasOwn(pools, name) ? pools[name] : undefined;
  if (pool && random.chance(0.9)) return random.pick(pool);
  if (shape.const !== undefined) return shape.const;
  if (shape.enum) return random.pick(shape.enum);
  const choices = shape.anyOf ?? shape.oneOf;
  if (choices) return validValue(random.pick(choices), random, pools, name, depth + 1);
  if (shape.allOf?.[0]) return validValue(shape.allOf[0], random, pools, name, depth + 1);
  const type = Array.isArray(shape.type) ? random.pick(shape.type) : shape.type;
  switch (type) {
    case 'object':
      return validObject(shape, random, pools, depth);
    case 'array': {
      const items = typeof shape.items === 'object' ? shape.items : {};
      const count = depth > DEPTH_MAX ? 0 : Math.max(shape.minItems ?? 0, random.below(ITEMS_MAX));
      return Array.from({ length: count }, () => validValue(items, random, pools, '', depth + 1));
    }
    case 'string':
      return validText(shape, random);
    case 'integer':
    case 'number':
      return validNumber(shape, type === 'integer', random);
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    default:
      return random.pick(['anything', 1, { role: 'user', content: 'hello' }, ['hello'], null]);
  }
}

function validObject(shape: Shape, random: Random, pools: Pools, depth: number): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(shape.properties ?? {})) {
    const required = shape.required?.includes(name) ?? false;
    if (!required && (depth > DEPTH_MAX || !random.chance(OPTIONAL_SHARE))) continue;
    value[name] = validValue(member, random, pools, name, depth + 1);
  }
  if (!shape.properties && typeof shape.additionalProperties === 'object') {
    value.member = validValue(shape.additionalProperties, random, pools, '', depth + 1);
  }
  return value;
}

function validText(
  { pattern, format, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Shape,
  random: Random,
): string {
  const fits = (text: string) =>
    text.length >= minLength && text.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(text));
  if (format === 'date-time') return random.pick(['2026-11-20T00:00:00.000Z', '2030-01-01T00:00:00Z']);
  const fitting = CANDIDATES.filter(fits);
  return fitting.length > 0 ? random.pick(fitting) : 'x'.repeat(Math.max(1, minLength));
}

function validNumber({ minimum = 0, maximum = 1_000 }: Shape, whole: boolean, random: Random): number {
  const from = Math.max(minimum, -1_000_000);
  const to = Math.min(maximum, from + random.pick([3, 1_000, 1_000_000]));
  const number = from + random.next() * Math.max(0, to - from);
  return whole ? Math.round(number) : Math.round(number * 100) / 100;
}

/** The value with something in it absent, null, of another type, huge, hostile, or too much. */
export function brokenValue(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random.chance(0.15)) return hostileValue(random);
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value };
  const names = Object.keys(copy);
  const name = names.length === 0 ? 'added' : random.pick(names);
  const members = copy as Record<string, unknown>;
  switch (random.below(6)) {
    case 0:
      delete members[name];
      return copy;
    case 1:
      members[name] = null;
      return copy;
    case 2:
      members[name] = hostileValue(random);
      return copy;
    case 3:
      Object.defineProperty(copy, hostileText(random), {
        value: hostileValue(random),
        enumerable: true,
        configurable: true,
      });
      return copy;
    case 4:
      members[name] = typeof members[name] === 'string' ? `${members[name]}${hostileText(random)}` : [members[name]];
      return copy;
    default:
      members[name] = brokenValue(members[name], random);
      return copy;
  }
}
