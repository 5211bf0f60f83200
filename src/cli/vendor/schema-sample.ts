/**
 * A value that a JSON schema accepts, always the same for the same schema. Understands the keywords that the vendors'
 * structured answers allow, and Google's own spelling of types (`OBJECT`).
 */
import { type Fields, fieldsOrEmpty, isFields, listOrEmpty } from '../../vendors/usage/figures.ts';

/** The most values of a sample; further ones are null. */
const VALUES_MAX = 1_000;
const ITEMS_MAX = 100;

const TEXT = 'made up';
const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  time: '12:00:00Z',
  'date-time': '2026-01-31T12:00:00Z',
  duration: 'P1D',
  email: 'made-up@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

export function makeSample(schema: unknown): unknown {
  const root = fieldsOrEmpty(schema);
  return sample(root, { root, open: new Set(['#']), left: { values: VALUES_MAX } });
}

interface Place {
  root: Fields;
  /** The references that lead here: following one again would never end. */
  open: ReadonlySet<string>;
  left: { values: number };
}

function sample(schema: Fields, place: Place): unknown {
  place.left.values -= 1;
  const { $ref } = schema;
  if (place.left.values < 0 || isOpen(schema, place)) return null;
  if (typeof $ref === 'string')
    return sample(fieldsOrEmpty(referred(place.root, $ref)), { ...place, open: new Set([...place.open, $ref]) });
  const inner = (value: unknown) => sample(fieldsOrEmpty(value), place);
  if ('const' in schema) return schema.const;
  const [first] = [...listOrEmpty(schema.enum), ...listOrEmpty(schema.examples)];
  if (first !== undefined) return first;
  if (schema.default !== undefined) return schema.default;
  const choices = [...listOrEmpty(schema.anyOf), ...listOrEmpty(schema.oneOf)];
  if (choices.length > 0) return inner(choices.find((choice) => !isOpen(choice, place)));
  const all = listOrEmpty(schema.allOf).map(inner);
  if (all.length > 0) return all.every(isFields) ? Object.assign({}, ...all) : all[0];
  switch (sampledType(schema)) {
    case 'object': {
      const members = Object.entries(fieldsOrEmpty(schema.properties));
      const required = new Set(listOrEmpty(schema.required));
      const made = members.filter(([name, of]) => required.has(name) || !isOpen(of, place));
      return Object.fromEntries(made.map(([name, of]) => [name, inner(of)]));
    }
    case 'array': {
      const least = Number(schema.minItems ?? (isOpen(schema.items, place) ? 0 : 1));
      return Array.from({ length: Math.min(ITEMS_MAX, least) }, () => inner(schema.items));
    }
    case 'string':
      return FORMATS[String(schema.format)] ?? textWithin(schema);
    case 'integer':
    case 'number':
      return numberWithin(schema);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function isOpen(schema: unknown, { open }: Place): boolean {
  return open.has(String(fieldsOrEmpty(schema).$ref));
}

/** `#/$defs/Name`, or `#` for the schema itself. */
function referred(root: Fields, reference: string): unknown {
  const names = reference.replace(/^#\/?/, '').split('/').filter(Boolean);
  return names.reduce<unknown>((found, name) => fieldsOrEmpty(found)[name], root);
}

function sampledType(schema: Fields): string {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).map((type) => String(type).toLowerCase());
  const type = types.find((name) => name !== 'null') ?? 'null';
  if (type !== 'undefined') return type;
  return schema.properties !== undefined ? 'object' : schema.items !== undefined ? 'array' : 'string';
}

function textWithin({ minLength, maxLength }: Fields): string {
  const text = TEXT.padEnd(Math.min(1_000, Number(minLength ?? 0)), '.');
  return text.slice(0, Number(maxLength ?? text.length));
}

function numberWithin({ minimum, maximum, exclusiveMinimum, multipleOf }: Fields): number {
  const step = Number(multipleOf ?? 1);
  const above = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + step : undefined;
  const least = Number(above ?? minimum ?? Math.min(step, Number(maximum ?? step)));
  return Math.ceil(least / step) * step;
}
