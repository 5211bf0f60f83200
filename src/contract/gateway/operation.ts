/**
 * The type of an operation of the gateway, and parts that several of them share.
 */
import { z } from 'zod';
import type { Security } from '../operations/operation.ts';

export interface GatewayOperation {
  operationId: string;
  summary: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Parameters as `{name}`; a model's id may contain slashes. */
  path: string;
  security: Security & { kind: 'apiKey' };
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The body is a form: with a schema its fields are read; without one it is a file that passes unchanged. */
  form?: true;
  /** The schema describes a JSON object; any other body passes as bytes. */
  anyBody?: true;
  /** The largest body, if it differs from the others'. */
  bodyBytesMax?: number;
  /** It begins a call, and is refused while too many begins wait. */
  beginsCall?: true;
  /** The body of a success; answers of vendors pass unchanged. */
  answer: z.ZodType;
}

export const invoke = { kind: 'apiKey', scopes: ['gateway:invoke'] } as const;
export const vendorAnswer = z
  .looseObject({})
  .describe("The vendor's answer, byte for byte; server-sent events if a stream was requested");
