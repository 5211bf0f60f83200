/**
 * All routes of the contract in one form: the metering interface, the operator API, the gateway and the public lookup.
 */
import type { z } from 'zod';
import type { ErrorCode } from '../../contract/errors.ts';
import { type GatewayOperation, gatewayOperations } from '../../contract/gateway/operations.ts';
import { type Operation, operations, refusalCodes, responseSchema, type Security } from '../../contract/operations.ts';
import type { ExampleId } from './examples.ts';
import { type LookupOperation, lookupOperations } from './lookup.ts';
import type { Route } from './shell.ts';

/** A route of any of the interfaces. */
export interface Entry extends Route {
  id: ExampleId;
  kind: 'envelope' | 'gateway' | 'lookup';
  summary: string;
  security: Security | null;
  params?: z.ZodObject | undefined;
  query?: z.ZodType | undefined;
  body?: z.ZodType | undefined;
  form: boolean;
  anyBody: boolean;
  lines: boolean;
  csv?: true | undefined;
  /** Created lazily, because an envelope is a schema of its own. */
  answer: () => z.ZodType;
  /** The name of the answer's schema, unless it is exported under another name. */
  answerName: string;
  codes: readonly string[];
  refusals: readonly ErrorCode[];
}

function allEntries(): Entry[] {
  return [
    ...Object.values<Operation>(operations).map(fromOperation),
    ...Object.values<GatewayOperation>(gatewayOperations).map(fromGateway),
    ...Object.values<LookupOperation>(lookupOperations).map(fromLookup),
  ];
}

const COMMON = { form: false, anyBody: false, lines: false, vendorType: false, codes: [], refusals: [] };

function fromOperation(operation: Operation): Entry {
  const { operationId, security, data, code, otherCodes = [], lines = false } = operation;
  const isOperator = security.kind === 'operator';
  return {
    ...COMMON,
    ...operation,
    id: operationId as ExampleId,
    kind: 'envelope',
    credential: isOperator ? 'OPERATOR_TOKEN' : 'DEMO_API_KEY',
    vendorType: !isOperator,
    lines,
    answer: lines ? () => data : once(() => responseSchema(operation)),
    answerName: `${capital(operationId)}Response`,
    codes: [code, ...otherCodes],
    refusals: refusalCodes(operation),
  };
}

function fromGateway(operation: GatewayOperation): Entry {
  const { operationId, answer, form = false } = operation;
  return {
    ...COMMON,
    ...operation,
    id: operationId as ExampleId,
    kind: 'gateway',
    credential: 'DEMO_API_KEY',
    form,
    answer: () => answer,
    answerName: `${capital(operationId)}Answer`,
  };
}

function fromLookup(operation: LookupOperation): Entry {
  const { operationId, answer } = operation;
  return {
    ...COMMON,
    ...operation,
    id: operationId as ExampleId,
    kind: 'lookup',
    method: 'GET',
    security: null,
    answer: () => answer,
    answerName: capital(operationId),
  };
}

/** Every route by the id of its operation. */
export const entries = once(() => new Map<string, Entry>(allEntries().map((entry) => [entry.id, entry])));

/** The route of an operation. */
export function findRoute(id: ExampleId): Route {
  const entry = entries().get(id);
  if (!entry) throw new Error(`no operation is called ${id}`);
  return entry;
}

/** Names for the request and answer schemas that are not exported. */
export function nameSchemas({ id, body, kind, answer, answerName }: Entry): [z.ZodType, string][] {
  const operation = kind === 'envelope' ? (operations as Record<string, Operation>)[id] : undefined;
  return [
    ...(body ? [[body, `${capital(id)}Request`] as [z.ZodType, string]] : []),
    ...(operation ? [[operation.data, `${capital(id)}Data`] as [z.ZodType, string]] : []),
    [answer(), answerName],
  ];
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
