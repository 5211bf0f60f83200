/**
 * What the contract says of an operation, and the pieces that the tables of operations share.
 */
import { z } from 'zod';
import { text } from '../fields.ts';
import type { LegacyGrant, Scope } from '../scopes.ts';
import type { ClientScope } from '../sessions.ts';

export type Security =
  | {
      kind: 'apiKey';
      scopes: readonly Scope[];
      /** One of the scopes is enough. */
      anyScope?: true;
      legacyGrant?: LegacyGrant;
      /** What a browser's session token needs; absent where none may come. */
      clientScope?: ClientScope;
    }
  | { kind: 'operator' };

export interface Operation {
  operationId: string;
  summary: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{name}` for parameters. */
  path: string;
  security: Security;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Where the body may be larger than usual. */
  bodyBytesMax?: number;
  /** The result code of a success. */
  code: string;
  /** Further result codes of a success. */
  otherCodes?: readonly string[];
  data: z.ZodType;
  /** A success is a line of JSON for each `data`, without an envelope. */
  lines?: true;
}

/** Keeps the literal types of an entry, so that routes infer what they validate. */
export function operation<const O extends Operation>(entry: O): O {
  return entry;
}

export const operator = { kind: 'operator' } as const;
export const apiKey = (...scopes: Scope[]) => ({ kind: 'apiKey', scopes }) as const;

export const organizationParam = z.object({ org: text(64).toLowerCase().describe('Organization id') });
