/**
 * Operator: the operators and their roles.
 */
import { z } from 'zod';
import { ListQuery, pageSchema } from '../fields.ts';
import { NamedOperator, OperatorIdentity, operatorName, PutOperatorRequest, RemovedOperator } from '../operators.ts';
import { admin, type Operation, operation, viewer } from './operation.ts';

const nameParam = z.object({ name: operatorName });

export const operators = {
  readIdentity: operation({
    operationId: 'readIdentity',
    summary: 'Read your own name and role',
    method: 'GET',
    path: '/operator/identity',
    security: viewer,
    code: 'IDENTITY_READ',
    data: OperatorIdentity,
  }),
  listOperators: operation({
    operationId: 'listOperators',
    summary: 'List the named operators with their roles',
    method: 'GET',
    path: '/operator/operators',
    security: viewer,
    query: ListQuery,
    code: 'OPERATORS_LISTED',
    data: pageSchema(NamedOperator),
  }),
  readOperator: operation({
    operationId: 'readOperator',
    summary: 'Read the role of a named operator',
    method: 'GET',
    path: '/operator/operators/{name}',
    security: viewer,
    params: nameParam,
    code: 'OPERATOR_READ',
    data: NamedOperator,
    refusals: ['NOT_FOUND'],
  }),
  putOperator: operation({
    operationId: 'putOperator',
    summary: 'Give a person or a service token a role; it applies from the next request on',
    method: 'PUT',
    path: '/operator/operators/{name}',
    security: admin,
    params: nameParam,
    body: PutOperatorRequest,
    code: 'OPERATOR_SAVED',
    data: NamedOperator,
    refusals: ['CONFLICT'],
  }),
  deleteOperator: operation({
    operationId: 'deleteOperator',
    summary: 'Delete the role of a named operator',
    method: 'DELETE',
    path: '/operator/operators/{name}',
    security: admin,
    params: nameParam,
    code: 'OPERATOR_REMOVED',
    data: RemovedOperator,
    refusals: ['NOT_FOUND'],
  }),
} as const satisfies Record<string, Operation>;
