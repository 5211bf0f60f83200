/**
 * The parameters of a query by their names in the contract. Snake_case is accepted as in bodies; a name that the route
 * does not have is refused, because a misspelt filter would be answered with everything.
 */
import type { z } from 'zod';
import { badRequest, type Result } from '../../contract/errors.ts';
import { toSnakeCase } from '../../contract/identity.ts';

/** The most unknown names in one answer, and the most characters of each. */
const UNKNOWN_MAX = 20;
const NAME_LENGTH_MAX = 100;

type Query = Readonly<Record<string, string | string[]>>;

/** camelCase wins if both spellings are present. */
export function namedQuery({ shape }: z.ZodObject, sent: Query): Result<{ value: Query }> {
  const names = Object.keys(shape);
  const bySpelling = new Map([
    ...names.map((name) => [toSnakeCase(name), name] as const),
    ...names.map((name) => [name, name] as const),
  ]);
  const unknown = Object.keys(sent).filter((spelling) => !bySpelling.has(spelling));
  if (unknown.length > 0) {
    const message = `is unknown; the parameters are ${names.join(', ')}`;
    return badRequest(
      ...unknown.slice(0, UNKNOWN_MAX).map((name) => ({ path: name.slice(0, NAME_LENGTH_MAX), message })),
    );
  }
  const value = Object.fromEntries(
    names.flatMap((name) => {
      const given = sent[name] ?? sent[toSnakeCase(name)];
      return given === undefined ? [] : [[name, given]];
    }),
  );
  return { ok: true, value };
}
