/**
 * An operation of the operator as one value: its entry in the contract, and its implementation. The entry gives the
 * types of its input and its answer, its result code and its role. HTTP mounts each of these values, and the console
 * sends its forms through them, so both take the same input, need the same role, replay the same answers and log the
 * same events.
 */

import { loadOrganization } from '../config/credentials.ts';
import type { Statement } from '../config/database.ts';
import type { Complete } from '../contract/complete.ts';
import { type Answer, accept, type Refused } from '../contract/errors.ts';
import type { AnswerOf, DataOf, InputOf, Operation, RefusalOf } from '../contract/operations.ts';
import type { Organization } from '../contract/operator.ts';
import type { OperatorAction } from '../contract/operator-actions.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import type { Caller } from '../metering/caller.ts';
import type { PageRequest } from '../platform/page.ts';
import { commitChange } from './change.ts';
import { findOrganization, noOrganization } from './organization.ts';

/** The operator who asks, and the identity of the request. */
export interface Requester {
  env: Env;
  /** Keeps work alive after the answer. */
  defer: Caller['defer'];
  /** The operator, or a key of the organization itself. */
  by: 'operator' | 'tenant';
  /** For the event log: the operator's name, or the id of the key. */
  actor: string;
  /** The origin at which the service was asked. */
  origin: string;
  correlationId: string;
  /** The idempotency key of a POST. */
  idempotencyKey: string | null;
  /** The key is bound to the operation and to the operator. */
  keySpace: string;
}

type OfOrganization = { params: { shape: { org: unknown } } };

/**
 * The input of a use case: the requester, the validated input, and the organization that the path names, which exists.
 */
export type Request<O extends Operation> = Requester &
  InputOf<O> & { organization: O extends OfOrganization ? Organization : null };

/** The additional input of a list: the requested page; `null` if all items are to be in one answer, as in CSV. */
export type ListRequest<O extends Operation> = Request<O> & { page: PageRequest };
export type CsvRequest<O extends Operation> = Request<O> & { page: PageRequest | null };

/** The data of the answer, or the whole answer: a refusal, or that of a use case that others share. */
type Outcome<O extends Operation> = Complete<DataOf<O>> | AnswerOf<O>;

export interface UseCase<O extends Operation> {
  operation: O;
  /** The name of a change in the event log. */
  action?: OperatorAction;
  /** Whether `page` has to be in the input. */
  isList: boolean;
  run(requester: Requester, input: InputOf<O> & { page?: PageRequest | null }): Promise<AnswerOf<O>>;
  csv?(data: DataOf<O>): string;
}

/** Any use case, for code that mounts or sends all of them. */
export interface AnyUseCase {
  operation: Operation;
  isList: boolean;
  run(requester: Requester, input: AnyInput & { page?: PageRequest | null }): Promise<Answer<unknown>>;
  csv?(data: unknown): string;
}

/** The validated input of any operation. */
export interface AnyInput {
  params: unknown;
  query: unknown;
  body: unknown;
}

/** An operation that changes nothing. */
export function read<O extends Operation>(
  operation: O,
  run: (request: Request<O>) => Promise<Outcome<O>> | Outcome<O>,
): UseCase<O> {
  return { operation, isList: false, run: (requester, input) => runOperation(operation, requester, input, run) };
}

/** An operation that reads a page of a list. */
export function list<O extends Operation>(
  operation: O,
  run: (request: ListRequest<O>) => Promise<Outcome<O>>,
): UseCase<O> {
  return {
    operation,
    isList: true,
    run: (requester, input) =>
      runOperation(operation, requester, input, run as (request: Request<O>) => Promise<Outcome<O>>),
  };
}

/** An operation that reads a page of a list, or all of it as CSV. */
export function csvList<O extends Operation & { csv: true }>(
  operation: O,
  run: (request: CsvRequest<O>) => Promise<Outcome<O>>,
  csv: (data: DataOf<O>) => string,
): UseCase<O> {
  return { ...list(operation, run), csv };
}

async function runOperation<O extends Operation>(
  operation: O,
  requester: Requester,
  input: InputOf<O>,
  run: (request: Request<O>) => Promise<Outcome<O>> | Outcome<O>,
): Promise<AnswerOf<O>> {
  const request = await toRequest<O>(requester, input);
  if (!request) return unknownOrganization<O>();
  const outcome = await run(request);
  return isAnswer(outcome) ? outcome : accept(operation.code as O['code'], outcome as DataOf<O>, Date.now());
}

/** A change is decided at a certain time, and may be decided again if another one was committed first. */
export type ChangeRequest<O extends Operation> = Request<O> & {
  nowMs: number;
  /** The idempotency key for effects in objects: the request's own, or one for all decisions of this request. */
  onceKey: string;
};

/** The effect of a change, and its entry in the event log. */
export interface Decision<Data> {
  before: unknown;
  after: unknown;
  /** Committed together with the event. */
  statements?: readonly Statement[];
  /** Isolates may hold the value that this change replaces. */
  replaces?: boolean;
  /** The organization that the change creates. */
  organizationId?: OrganizationId;
  data: Data;
}

/** No change is left to make, so nothing is stored or logged. `replayed`: an earlier request has made the change. */
export interface Unchanged<Data> {
  unchanged: Data;
  replayed?: boolean;
}

export type Decided<O extends Operation> =
  | Decision<Complete<DataOf<O>>>
  | Unchanged<Complete<DataOf<O>>>
  | Refused<RefusalOf<O>>;

interface ChangeDefinition<O extends Operation> {
  action: OperatorAction;
  /** The id of the changed object, for the event log. */
  subject: (request: Request<O>, data: DataOf<O>) => string;
  decide: (request: ChangeRequest<O>) => Promise<Decided<O>> | Decided<O>;
  /** Runs after the change is committed, and again if its answer is replayed. */
  afterwards?: (request: Requester & InputOf<O>) => Promise<unknown>;
}

/** An operation that changes something: its effect, its event and its idempotency record are committed together. */
export function change<O extends Operation>(
  operation: O,
  { action, subject, decide, afterwards }: ChangeDefinition<O>,
): UseCase<O> {
  const code: O['code'] = operation.code;
  const run = async (requester: Requester, input: InputOf<O>): Promise<AnswerOf<O>> => {
    const changeRequest = { ...requester, operationId: requester.keySpace, input };
    const onceKey = requester.idempotencyKey ?? crypto.randomUUID();
    const answer = await commitChange<DataOf<O>, O['code'], RefusalOf<O>>(changeRequest, async (nowMs) => {
      const request = await toRequest<O>(requester, input);
      if (!request) return unknownOrganization<O>();
      const decided = await decide({ ...request, nowMs, onceKey });
      if ('refusal' in decided) return decided;
      if ('unchanged' in decided) {
        const { unchanged, replayed = false } = decided;
        return { ...accept(code, unchanged as DataOf<O>, nowMs), replayed };
      }
      const { statements = [], replaces = false, organizationId, ...states } = decided;
      const data = decided.data as DataOf<O>;
      return {
        ...{ action, ...states, statements, replaces, code, data },
        organizationId: organizationId ?? (request.organization as Organization | null)?.organizationId ?? null,
        subject: subject(request, data),
      };
    });
    if (answer.ok && afterwards) await afterwards({ ...requester, ...input });
    // Only a POST has an idempotency key, and lists the refusal of a key that was used before.
    return answer as AnswerOf<O>;
  };
  return { operation, action, isList: false, run };
}

/** `null` if the organization that the path names does not exist. */
async function toRequest<O extends Operation>(requester: Requester, input: InputOf<O>): Promise<Request<O> | null> {
  const { org } = (input.params ?? {}) as { org?: OrganizationId };
  const organization = org === undefined ? null : await findOrganization(requester.env, org);
  if (org !== undefined && !organization) return null;
  return { ...requester, ...input, organization } as Request<O>;
}

/** Only the path of an operation that lists this refusal names an organization. */
const unknownOrganization = <O extends Operation>() => noOrganization() as Refused as Refused<RefusalOf<O>>;

function isAnswer<O extends Operation>(outcome: Outcome<O>): outcome is AnswerOf<O> {
  return (
    typeof outcome === 'object' && outcome !== null && 'ok' in outcome && ('refusal' in outcome || 'result' in outcome)
  );
}

/** Runs a use case of the metering interface for the organization of the path, with the rights of its own key. */
export async function asTenant<Result>(
  { env, defer, organization: { organizationId } }: Pick<Requester, 'env' | 'defer'> & { organization: Organization },
  run: (caller: Caller) => Promise<Result>,
): Promise<Result | ReturnType<typeof noOrganization>> {
  const organization = await loadOrganization(env, organizationId);
  return organization ? run({ env, organization, defer }) : noOrganization();
}
