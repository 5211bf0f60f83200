/**
 * Every command of the operator, in one table.
 *
 * A command is a noun, a verb and an operation of the contract. Its arguments are the parameters of the operation's path,
 * its flags the fields of the operation's query and body; where the body is a `document`, the last argument is a file.
 */
import { type Operation, type OperationId, operations } from '../contract/operations.ts';
import type { Data } from './operator-client.ts';
import {
  columnsOf,
  describe,
  inspectCustomer,
  KEY_COLUMNS,
  PLAN_COLUMNS,
  showCreatedKey,
  showCustomer,
  showEvents,
  showPlan,
} from './operator-views.ts';
import { type Columns, table } from './table.ts';

export interface Command {
  noun: string;
  /** Absent where the noun says it all. */
  verb?: string;
  id: OperationId;
  operation: Operation;
  /** The body is a JSON document. */
  document: boolean;
  /** The operation answers in pages. */
  list: boolean;
  note?: string;
  view: (data: never) => string;
}

interface More<Id extends OperationId> {
  document?: boolean;
  note?: string;
  view?: (data: Data<Id>) => string;
}

type Row<Id extends OperationId> = Data<Id> extends { items: (infer Item)[] } ? Item : never;

function command<Id extends OperationId>(words: string, id: Id, { document = false, note, view = describe }: More<Id> = {}): Command {
  const [noun = '', verb] = words.split(' ');
  const operation: Operation = operations[id];
  const list = operation.query !== undefined && 'cursor' in operation.query.shape;
  return { noun, ...(verb && { verb }), id, operation, document, list, ...(note && { note }), view };
}

function rows<Id extends OperationId>(columns: Columns<Row<Id>>): More<Id> {
  return { view: (data) => table((data as unknown as { items: Row<Id>[] }).items, columns) };
}

export const COMMANDS: readonly Command[] = [
  command('organizations create', 'createOrganization'),
  command('organizations list', 'listOrganizations', rows(columnsOf(['organizationId', 'name', 'defaultPlanId', 'createdAt']))),
  command('organizations show', 'readOrganization'),
  command('organizations update', 'updateOrganization'),

  command('plans put', 'putPlan', { document: true }),
  command('plans list', 'listPlans', rows(PLAN_COLUMNS)),
  command('plans show', 'readPlan', { view: showPlan }),

  command('models put', 'setModels', { note: 'The mappings are replaced as a whole: a tier that is left out is emptied.' }),

  command('prices put', 'setPrice'),

  command('keys create', 'createKey', { view: showCreatedKey }),
  command('keys list', 'listKeys', rows(KEY_COLUMNS)),
  command('keys update', 'updateKey'),
  command('keys revoke', 'revokeKey'),

  command('customers show', 'readCustomer', { view: inspectCustomer }),
  command('customers cancel', 'cancelCustomer', { view: showCustomer }),
  command('customers reactivate', 'reactivateCustomer', { view: showCustomer }),

  command('catalog show', 'readCatalog'),
  command('catalog publish', 'publishCatalog', { document: true }),

  command('events list', 'listEvents', { view: ({ items }) => showEvents(items) }),

  command('health', 'readHealth'),
];
