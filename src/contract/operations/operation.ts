/**
 * The type of an operation, and helpers for the tables of operations.
 */
import { z } from 'zod';
import type { OrganizationId } from '../../domain/ids.ts';
import type { ErrorCode } from '../errors.ts';
import { branded, text } from '../fields.ts';
import type { OperatorRole } from '../roles.ts';
import type { LegacyGrant, Scope } from '../scopes.ts';
import type { ClientScope } from '../sessions.ts';

export type Security =
  | {
      kind: 'apiKey';
      scopes: readonly Scope[];
      /** One of the scopes is enough. */
      anyScope?: true;
      legacyGrant?: LegacyGrant;
      /** The scope that a session token needs; absent if session tokens are not accepted. */
      clientScope?: ClientScope;
    }
  | {
      kind: 'operator';
      /** The lowest sufficient role of a named operator. */
      role: OperatorRole;
    };

export interface Operation {
  operationId: string;
  summary: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Parameters as `{name}`. */
  path: string;
  security: Security;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Overrides the usual limit on the body. */
  bodyBytesMax?: number;
  /** The result code of a success. */
  code: string;
  /** Further result codes of a success. */
  otherCodes?: readonly string[];
  data: z.ZodType;
  /** Why it is refused, beside what follows from its form (`answer.ts`). */
  refusals?: readonly ErrorCode[];
  /** A success has one line of JSON for each item, without an envelope. */
  lines?: true;
  /** It begins a call, and is refused while too many begins wait. */
  beginsCall?: true;
  /** It is free, so a session may call it only a limited number of times in a minute. */
  isFree?: true;
  /**
   * A key may call it only a limited number of times in an hour: it changes the organization's setup, or starts work
   * for it.
   */
  isChange?: true;
  /** A success is CSV, with all items of the list, if `Accept` prefers `text/csv`. */
  csv?: true;
}

type Parsed<O, Part extends string> = O extends { [P in Part]: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : undefined;

/** The validated input of an operation. */
export interface InputOf<O> {
  params: Parsed<O, 'params'>;
  query: Parsed<O, 'query'>;
  body: Parsed<O, 'body'>;
}

/** Keeps the literal types of an entry, from which routes and use cases infer their input and their answers. */
export function operation<const O extends Operation>(entry: O): O {
  return entry;
}

export const viewer = { kind: 'operator', role: 'viewer' } as const;
export const editor = { kind: 'operator', role: 'editor' } as const;
export const admin = { kind: 'operator', role: 'admin' } as const;
export const apiKey = (...scopes: Scope[]) => ({ kind: 'apiKey', scopes }) as const;

export const organizationParam = z.object({
  org: branded<OrganizationId>(text(64).toLowerCase()).describe('Organization id'),
});
