/**
 * The answer of an operation, as its entry describes it: data, result codes and refusals. Some refusals follow from the
 * form of the operation; the entry lists the others.
 */
import type { z } from 'zod';
import { type Answer, ERROR_STATUS, type ErrorCode } from '../errors.ts';
import type { Operation } from './operation.ts';

/** The data of its successful answer. */
export type DataOf<O extends Operation> = z.output<O['data']>;

/** The result codes of its successful answers. */
type CodeOf<O extends Operation> =
  | O['code']
  | (O extends { otherCodes: readonly (infer Other extends string)[] } ? Other : never);

/** What its use case may refuse with. The checks before a use case have refusals of their own. */
export type RefusalOf<O extends Operation> = Operation extends O ? ErrorCode : RefusalOfForm<O> | ListedRefusal<O>;

/** The refusals that the entry lists. */
export type ListedRefusal<O extends Operation> = O extends { refusals: readonly (infer Code extends ErrorCode)[] }
  ? Code
  : never;

/** The refusals that follow from an operation's form: the types read what each function finds. */
const FORMS = {
  BAD_REQUEST: (
    operation: Operation,
  ): operation is Operation & ({ params: z.ZodType } | { query: z.ZodType } | { body: z.ZodType }) =>
    Boolean(operation.params || operation.query || operation.body),
  NOT_FOUND: (operation: Operation): operation is Operation & { params: { shape: { org: unknown } } } =>
    operation.params !== undefined && 'org' in operation.params.shape,
  IDEMPOTENCY_KEY_CONFLICT: (
    operation: Operation,
  ): operation is Operation & { method: 'POST'; security: { kind: 'operator' } } =>
    operation.method === 'POST' && operation.security.kind === 'operator',
} satisfies Partial<Record<ErrorCode, (operation: Operation) => boolean>>;
type FormCode = keyof typeof FORMS;
type Finds<Form extends Operation> = (operation: Operation) => operation is Form;
type WithForm<Code extends FormCode> = (typeof FORMS)[Code] extends Finds<infer Form> ? Form : never;

type RefusalOfForm<O extends Operation> =
  | 'SERVICE_UNAVAILABLE'
  | { [Code in FormCode]: O extends WithForm<Code> ? Code : never }[FormCode];

export type AnswerOf<O extends Operation> = Answer<DataOf<O>, CodeOf<O>, RefusalOf<O>>;

/** Every code that refuses a request of an operation: of its form, of the checks before its use case, of its entry. */
export function refusalCodes(operation: Operation): ErrorCode[] {
  const { security, method, body, refusals = [] } = operation;
  const isOperator = security.kind === 'operator';
  const takesSessions = security.kind === 'apiKey' && security.clientScope !== undefined;
  const codes = new Set<ErrorCode>([
    ...refusals,
    ...(Object.keys(FORMS) as FormCode[]).filter((code) => FORMS[code](operation)),
    ...(isOperator
      ? (['OPERATOR_ROLE_REQUIRED', 'CROSS_SITE_REQUEST'] as const)
      : (['API_KEY_SCOPE_REQUIRED', 'NOT_ACCEPTABLE'] as const)),
    // A POST may have an idempotency key, which has a form too.
    ...(method === 'POST' ? (['BAD_REQUEST'] as const) : []),
    ...(body ? (['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
    ...(body && takesSessions ? (['FIELD_NOT_ALLOWED', 'CUSTOMER_FORBIDDEN'] as const) : []),
    ...(['UNAUTHORIZED', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'] as const),
  ]);
  return (Object.keys(ERROR_STATUS) as ErrorCode[]).filter((code) => codes.has(code));
}
