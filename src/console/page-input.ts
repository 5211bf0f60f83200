/**
 * The input that pages give an operation. A name that the operation does not have does not compile, because a filter
 * that is dropped makes a list longer than meant. Values are not checked here: the operation's schemas do that.
 */
import type { z } from 'zod';
import type { Operation } from '../contract/operations.ts';
import type { AnyInput, UseCase } from '../operator/operation.ts';
import type { PageRequest } from '../platform/page.ts';
import type { ConsoleContext } from './context.ts';

/** The input that the schema of a part takes; without a schema it has no names. */
type PartOf<O, Part extends keyof AnyInput> = O extends { [P in Part]: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : Record<never, never>;

/** The names of an object; of a union, the names of all its members. */
type NamesIn<Given> = Given extends unknown ? keyof Given : never;

export type NameIn<O extends Operation, Part extends keyof AnyInput> = NamesIn<PartOf<O, Part>> & string;

/** Parameters are text in an address, so any text may be given. */
type Parameters<Part> = { readonly [Name in keyof Part]?: Part[Name] | string | undefined };

interface Parts<O extends Operation> {
  params?: Parameters<PartOf<O, 'params'>>;
  query?: Parameters<PartOf<O, 'query'>>;
  body?: unknown;
  /** The page of a list. */
  page?: PageRequest;
}

/**
 * What is given of some parts, without other names. TypeScript alone finds those only in an object that is written in
 * place, and not in one that is spread. A body whose type is `unknown`, such as a document that an operator typed, is
 * left to the schema.
 */
export type PageInput<O extends Operation, Part extends keyof Parts<O>, Given> = Given &
  Pick<Parts<O>, Part> & {
    [Name in keyof Given]?: Name extends Part & keyof AnyInput
      ? unknown extends Given[Name] | PartOf<O, Name>
        ? unknown
        : { [Other in Exclude<NamesIn<NonNullable<Given[Name]>>, NameIn<O, Name>>]?: never }
      : Name extends Part
        ? unknown
        : never;
  };

/** The parameters of an operation that the page's own address has. Empty ones, which a form sends too, are left out. */
export function queryIn<O extends Operation & { query: z.ZodObject }>(
  c: ConsoleContext,
  { operation }: UseCase<O>,
): Partial<Record<NameIn<O, 'query'>, string>> {
  const asked = c.req.query();
  const names = Object.keys(operation.query.shape) as NameIn<O, 'query'>[];
  const given = names.flatMap((name) => (asked[name] ? [[name, asked[name]]] : []));
  return Object.fromEntries(given);
}
