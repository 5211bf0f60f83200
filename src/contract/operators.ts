/**
 * Named operators: the people who may use the operator API and the console through Cloudflare Access, and their roles.
 */
import { z } from 'zod';
import { instant } from './fields.ts';
import { OperatorRole } from './roles.ts';

const NAME_LENGTH_MAX = 254;

/** E-mail addresses are compared without their case. */
export const operatorName = z
  .string()
  .trim()
  .toLowerCase()
  .min(3)
  .max(NAME_LENGTH_MAX)
  .regex(/^[!-~]+$/, 'must be an e-mail address, or the client id of a service token')
  .describe('E-mail address of a person, or client id of a service token, as Cloudflare Access knows it');

export const PutOperatorRequest = z.strictObject({ role: OperatorRole });

export type PutOperatorRequest = z.infer<typeof PutOperatorRequest>;

export const NamedOperator = z.object({
  name: z.string().describe('E-mail address, or client id of a service token'),
  role: OperatorRole,
  createdAt: instant.describe('When the first role was given'),
  updatedAt: instant.describe('When the role was given'),
});

export type NamedOperator = z.infer<typeof NamedOperator>;

export const RemovedOperator = z.object({ name: z.string().describe('Operator whose role was deleted') });

export const OperatorIdentity = z.object({
  name: z.string().describe('As the event log names the requests: `operator` for the operator token'),
  role: OperatorRole,
});
