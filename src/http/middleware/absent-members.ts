/**
 * Removes members without a value from a body, in the way that serializers write them: `null`, and for `feature` an
 * empty text, which begin echoes if none was sent. Such members count as absent at every depth that the schema knows,
 * unless the field itself takes the value: there it has a meaning.
 */
import { z } from 'zod';
import { isRecord } from '../../contract/identity.ts';

/**
 * The body without members that are absent. It is not validated, and members that the schema does not know stay
 * unchanged.
 */
export function withoutAbsent(schema: z.ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodPipe)
    return withoutAbsent((isPreprocess(schema) ? schema.out : schema.in) as z.ZodType, value);
  const { innerType } = schema.def as { innerType?: z.ZodType };
  if (innerType) return withoutAbsent(innerType, value);
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => withoutAbsent(schema.element as z.ZodType, item));
  if (!isRecord(value)) return value;
  if (schema instanceof z.ZodObject) return ofObject(schema, value);
  if (schema instanceof z.ZodDiscriminatedUnion) return ofUnion(schema, value);
  if (schema instanceof z.ZodRecord) return mapped(value, (item) => withoutAbsent(schema.valueType as z.ZodType, item));
  return value;
}

function ofObject(schema: z.ZodObject, value: Record<string, unknown>): unknown {
  const isClosed = schema.def.catchall !== undefined;
  const present = Object.entries(value).filter(([name, member]) => {
    const isAbsent = member === null || (name === 'feature' && member === '');
    if (!isAbsent) return true;
    // Other spellings of a field are not in the shape. A closed object itself decides about unknown members.
    const field = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
    return field ? (field as z.ZodType).safeParse(member).success : isClosed;
  });
  return mapped(Object.fromEntries(present), (member, name) =>
    Object.hasOwn(schema.shape, name) ? withoutAbsent(schema.shape[name] as z.ZodType, member) : member,
  );
}

/** Uses the option that the discriminator names. */
function ofUnion(schema: z.ZodDiscriminatedUnion, value: Record<string, unknown>): unknown {
  const name = schema.def.discriminator;
  const options = schema.options as readonly z.ZodObject[];
  const option = options.find(({ shape }) => (shape[name] as z.ZodType).safeParse(value[name]).success);
  return option ? withoutAbsent(option, value) : value;
}

function mapped(value: Record<string, unknown>, change: (member: unknown, name: string) => unknown) {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member, name)]));
}

/** The fields of a preprocessed schema are behind its function. */
const isPreprocess = (schema: z.ZodPipe) => schema.in instanceof z.ZodTransform;
