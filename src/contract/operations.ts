/**
 * Every operation of the metering interface and the operator API, in one table. Routes take their validation and
 * permissions from it; tests and the API reference read it.
 *
 * A new operation goes into the file of its noun in `operations/`.
 */
import { successEnvelope } from './envelope.ts';
import type { AnswerOf, RefusalOf } from './operations/answer.ts';
import { archive } from './operations/archive.ts';
import { calls } from './operations/calls.ts';
import { compression, operatorCompression } from './operations/compression.ts';
import { operatorCorrections } from './operations/corrections.ts';
import { customers } from './operations/customers.ts';
import { events } from './operations/events.ts';
import type { Operation } from './operations/operation.ts';
import { operatorCustomers } from './operations/operator-customers.ts';
import { operators } from './operations/operators.ts';
import { organizations } from './operations/organizations.ts';
import { plans } from './operations/plans.ts';
import { readings } from './operations/readings.ts';
import { sampling } from './operations/sampling.ts';
import { service } from './operations/service.ts';
import { sessions } from './operations/sessions.ts';
import { webhooks } from './operations/webhooks.ts';

export { type AnswerOf, type DataOf, type ListedRefusal, type RefusalOf, refusalCodes } from './operations/answer.ts';
export type { InputOf, Operation, Security } from './operations/operation.ts';

export const operations = {
  ...calls,
  ...customers,
  ...readings,
  ...events,
  ...webhooks,
  ...sampling,
  ...compression,
  ...sessions,
  ...organizations,
  ...plans,
  ...operatorCustomers,
  ...operatorCorrections,
  ...operatorCompression,
  ...operators,
  ...service,
  ...archive,
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

/** The answer of the operation with this id. */
export type AnswerTo<Id extends OperationId> = AnswerOf<(typeof operations)[Id]>;

/** What the operation with this id may be refused with. */
export type RefusalTo<Id extends OperationId> = RefusalOf<(typeof operations)[Id]>;

/** The schema of an operation's successful answer, with its envelope. */
export function responseSchema(entry: Operation) {
  return successEnvelope([entry.code, ...(entry.otherCodes ?? [])], entry.data);
}
