/**
 * All operator commands, in one table.
 *
 * A command is a noun, a verb and an operation of the contract. Its arguments are the parameters of the operation's
 * path, and fields that it names; its flags are the other fields of the operation's query and body. If the body is a
 * `document`, the last argument is a file.
 */
import { type Operation, type OperationId, operations } from '../contract/operations.ts';
import { showVerified, type Verified, verifyAll } from './operator-archive.ts';
import { showAttention } from './operator-attention.ts';
import type { Data } from './operator-client.ts';
import { goodwillForCall, goodwillForEvent } from './operator-goodwill.ts';
import { showCustomerMargin, showCustomerMargins, showMargin } from './operator-margin.ts';
import type { NamedKind } from './operator-names.ts';
import { endsWithin, showRadar, withHorizon } from './operator-radar.ts';
import { showAnomalies, showCall, showForecast, showUsage } from './operator-readings.ts';
import { showFound } from './operator-search.ts';
import { showSetup } from './operator-setup.ts';
import type { Target } from './operator-target.ts';
import {
  CALL_COLUMNS,
  CUSTOMER_COLUMNS,
  DELIVERY_COLUMNS,
  describe,
  ENTRY_COLUMNS,
  EVENT_COLUMNS,
  fieldColumns,
  inspectCustomer,
  KEY_COLUMNS,
  PLAN_COLUMNS,
  PRICE_COLUMNS,
  showCreatedKey,
  showCustomer,
  showErased,
  showEvents,
  showGrant,
  showMigration,
  showPlan,
  showPlanPreview,
  showRevocation,
  showSecret,
  showStartedMigration,
  showSubscription,
  WEBHOOK_COLUMNS,
} from './operator-views.ts';
import { waitForMigration } from './operator-wait.ts';
import { type Columns, counts, table } from './table.ts';

export interface Command {
  noun: string;
  /** Absent if the noun alone names the command. */
  verb?: string;
  id: OperationId;
  operation: Operation;
  /** Whether the body is a JSON document. */
  document: boolean;
  /** Fields of the body, or of the query if there is no body, that are arguments. */
  positional?: string[];
  /** Whether the operation returns pages. */
  list: boolean;
  note?: string;
  /** What ids of the answer name: the text has the names too. */
  names?: readonly NamedKind[];
  /** The argument to type again (or confirm by `--yes`), because the command cannot be undone. */
  confirm?: string;
  /** For `--wait`: follows the job that the command started. */
  wait?: {
    until: (target: Target, params: Record<string, string>, data: never, tell: Tell) => Promise<unknown>;
    view: (data: never) => string;
  };
  /** A flag with a number that makes the command fail on its result: exit code 1. */
  fails?: Fails<never>;
  /** The other act that may end a dispute, instead of the correction: `--act goodwill`, or the answer on a terminal. */
  goodwill?: (
    target: Target,
    params: Record<string, string>,
    body: Record<string, unknown>,
    tell: Tell,
  ) => Promise<Data<'grantCredit'>>;
  /** Sends more than one request, and decides from the answers whether the command failed. */
  run?: { all: (target: Target, tell: Tell) => Promise<unknown>; hasFailed: (data: never) => boolean };
  view: (data: never) => string;
}

/** Reports the progress of a command on standard error. */
type Tell = (line: string) => void;

interface Fails<Of> {
  flag: string;
  help: string;
  when: (data: Of, limit: number) => boolean;
  /** The query with the parameters that the decision needs. */
  query: (query: Record<string, string>, limit: number) => Record<string, string>;
}

interface More<Id extends OperationId>
  extends Pick<Command, 'note' | 'names' | 'confirm' | 'wait' | 'positional' | 'goodwill'> {
  document?: boolean;
  fails?: Fails<Data<Id>>;
  view?: (data: Data<Id>) => string;
}

type Row<Id extends OperationId> = Data<Id> extends { items: (infer Item)[] } ? Item : never;

function command<Id extends OperationId>(
  words: string,
  id: Id,
  { document = false, view = describe, ...more }: More<Id> = {},
): Command {
  const [noun = '', verb] = words.split(' ');
  const operation: Operation = operations[id];
  const list = operation.query !== undefined && 'cursor' in operation.query.shape;
  return { noun, ...(verb && { verb }), id, operation, document, list, ...more, view };
}

function rows<Id extends OperationId>(columns: Columns<Row<Id>>): More<Id> {
  return {
    view: (data) => {
      const { items, nextCursor = null } = data as unknown as { items: Row<Id>[]; nextCursor?: string | null };
      return table(items, columns, { hasMore: nextCursor !== null });
    },
  };
}

export const COMMANDS: readonly Command[] = [
  command('organizations create', 'createOrganization'),
  command(
    'organizations list',
    'listOrganizations',
    rows(fieldColumns(['organizationId', 'name', 'defaultPlanId', 'createdAt'])),
  ),
  command('organizations show', 'readOrganization', { names: ['plans'] }),
  command('organizations setup', 'readOrganizationSetup', { view: showSetup, names: ['newestCall'] }),
  command('organizations update', 'updateOrganization', { names: ['plans'] }),

  command('plans put', 'putPlan', { document: true }),
  command('plans list', 'listPlans', rows(PLAN_COLUMNS)),
  command('plans show', 'readPlan', { view: showPlan }),
  command('plans archive', 'archivePlan', { view: showPlan }),
  command('plans restore', 'restorePlan', { view: showPlan }),
  command('plans migrate', 'migratePlan', {
    view: showStartedMigration,
    wait: { until: waitForMigration, view: showMigration },
    names: ['plans'],
  }),

  command('migrations show', 'readMigration', { view: showMigration, names: ['plans'] }),

  command('models put', 'setModels', {
    note: 'Replaces all mappings: what is omitted becomes empty. `models put-mappings` sets aliases and autopilots too.',
  }),
  command('models put-mappings', 'setModels', { document: true }),
  command('models show', 'readModels'),
  command('models delete', 'deleteModels', { confirm: 'org' }),
  command('models switch-back', 'switchModelBack', {
    positional: ['mapping', 'model'],
  }),

  command('prices put', 'setPrice', { note: 'Rates of text; `prices put-components` sets all others too.' }),
  command('prices put-components', 'setPrice', { document: true }),
  command('prices list', 'listPrices', rows(PRICE_COLUMNS)),
  command('prices show', 'readPrices', rows(PRICE_COLUMNS)),
  command('prices delete', 'deletePrices', { confirm: 'modelKey' }),

  command('reprice start', 'startRepricing', {
    note: 'Calls that ended at most three seconds ago may not be found yet.',
  }),
  command('reprice show', 'readRepricing'),

  command('usage summary', 'readOrganizationUsage', {
    note: 'The last 30 days, unless --from and --to say otherwise. --json also has every day.',
    view: showUsage,
  }),
  command('margin', 'readOrganizationMargin', {
    note: 'Cost, charges and what plans earned in the last 30 days, unless --from and --to say otherwise.',
    view: showMargin,
    names: ['plans'],
  }),
  command('margin customers', 'listCustomerMargins', {
    note: 'The last 30 days, unless --from and --to say otherwise. The lowest margin is first.',
    view: showCustomerMargins,
  }),
  command('usage anomalies', 'readOrganizationAnomalies', { view: showAnomalies }),
  command('usage context', 'readOrganizationUsageContext'),
  command('usage forecast', 'readOrganizationForecast', { view: showForecast }),

  command('radar', 'readOrganizationModelRadar', {
    note: 'Models of the last 30 days that end, have a successor or no price. The model that ends first comes first.',
    fails: {
      flag: 'fail-within',
      help: 'Exit code 1 if a model ends within so many days, or has ended',
      when: endsWithin,
      query: withHorizon,
    },
    view: showRadar,
  }),

  command('sampling put', 'setSampling', {
    document: true,
    note: 'Replaces the whole policy; only `rate` is required.',
  }),

  command('sampling show', 'readSampling'),
  command('sampling delete', 'deleteSampling', { confirm: 'org' }),

  command(
    'samples list',
    'listSamples',
    rows({
      ...fieldColumns(['sampleId', 'receivedAt', 'customerId', 'feature', 'model']),
      'Payload bytes': counts(({ payloadBytes }) => payloadBytes),
    }),
  ),
  command('samples show', 'readSample'),
  command('samples export', 'exportSamples', { note: 'JSON Lines on standard output, with or without --json.' }),
  command('samples delete', 'deleteSample', { confirm: 'sampleId' }),

  command('compression put', 'operatorSaveCompressionProfile', {
    document: true,
    note: 'Replaces the whole profile: what is omitted gets its default.',
  }),
  command('compression show', 'readOrganizationCompressionProfile'),
  command('compression summary', 'readOrganizationCompressionSummary', {
    note: 'The last 30 days, unless --from and --to say otherwise.',
  }),
  command('compression estimate', 'operatorStartCompressionJob', {
    note: 'Estimates the saved profile, in the background: `compression show-estimate` shows the result.',
  }),
  command('compression show-estimate', 'readOrganizationCompressionJob'),

  command('vendors put', 'setVendor', {
    document: true,
    note: 'Takes a document, because other users of the machine can see a key on the command line.',
  }),

  command(
    'vendors list',
    'listVendors',
    rows(fieldColumns(['provider', 'kind', 'baseUrl', 'keyHint', 'useReportedCost'])),
  ),
  command('vendors show', 'readVendor'),
  command('vendors delete', 'deleteVendor', { confirm: 'provider' }),

  command('keys create', 'createKey', { view: showCreatedKey }),
  command('keys list', 'listKeys', rows(KEY_COLUMNS)),
  command('keys show', 'readKey'),
  command('keys rotate', 'rotateKey', { view: showCreatedKey, names: ['keys'] }),
  command('keys update', 'updateKey'),
  command('keys revoke', 'revokeKey'),

  command('webhooks put', 'putWebhook', {
    note: 'Replaces the whole registration. The answer for a new one has its secret, shown this once.',
    view: showSecret,
  }),
  command('webhooks list', 'listWebhooks', rows(WEBHOOK_COLUMNS)),
  command('webhooks show', 'readWebhook'),
  command('webhooks delete', 'deleteWebhook', { confirm: 'webhookId' }),
  command('webhooks rotate', 'rotateWebhook', { view: showSecret }),
  command('webhooks test', 'testWebhook'),
  command('webhooks replay', 'replayWebhook', {
    note: 'Receivers know a repeated event by its id. It runs in the background: `webhooks deliveries` shows it.',
  }),
  command('webhooks deliveries', 'listDeliveries', rows(DELIVERY_COLUMNS)),
  command('webhooks send-again', 'sendDelivery', { note: 'Events that wait before it are tried at once too.' }),

  command('customers list', 'listOrganizationCustomers', { ...rows(CUSTOMER_COLUMNS), names: ['plans'] }),
  command('customers create', 'operatorCreateCustomer', {
    positional: ['customerId'],
    note: 'The customer gets the default plan. An existing customer is shown as it is.',
    view: showCustomer,
  }),
  command('customers change-plan', 'operatorChangePlan', {
    positional: ['planId'],
    view: showSubscription,
    names: ['plans'],
  }),
  command('customers preview-plan', 'previewPlanChange', {
    note: 'Changes nothing: `customers change-plan` makes the change.',
    view: showPlanPreview,
    names: ['plans'],
  }),
  command('customers replenish', 'operatorReplenish', { view: showSubscription, names: ['plans'] }),
  command('customers show', 'readCustomer', { view: inspectCustomer, names: ['plans'] }),
  command('customers margin', 'readCustomerMargin', {
    note: 'The last 30 days, unless --from and --to say otherwise.',
    view: showCustomerMargin,
  }),
  command('customers ledger', 'listCustomerLedger', {
    ...rows(ENTRY_COLUMNS),
    note: 'Every change of a balance, the newest first, with the call or the increment that it paid.',
  }),
  command('customers cancel', 'cancelCustomer', { view: showCustomer, names: ['plans'] }),
  command('customers reactivate', 'reactivateCustomer', { view: showCustomer, names: ['plans'] }),
  command('customers erase', 'eraseCustomer', {
    confirm: 'customerId',
    note: 'Deletes all data of the customer, including purchased credit.',
    view: showErased,
  }),

  command('credits grant', 'grantCredit', { view: showGrant, names: ['credits'] }),
  command('credits revoke', 'revokeCredit', {
    note: 'Takes back what is left of the credit. A repeated revocation changes nothing.',
    view: showRevocation,
  }),

  command('calls list', 'listOrganizationCalls', rows(CALL_COLUMNS)),
  command('calls show', 'readOrganizationCall', { view: showCall }),
  command('calls reverse', 'operatorReverseCall', {
    note: 'For a record that was wrong: gives back what the call took. A repeated reversal changes nothing.',
    goodwill: goodwillForCall,
  }),
  command('calls amend', 'operatorAmendCall', {
    document: true,
    note: 'Takes a document with the reason and all that the end of the call should have reported.',
  }),
  command('meter-events reverse', 'operatorReverseMeterEvent', {
    note: 'For a record that was wrong: gives back what paid for the units. A repeated reversal changes nothing.',
    goodwill: goodwillForEvent,
  }),

  command('organizations events', 'readOrganizationEvents', { ...rows(EVENT_COLUMNS), names: ['plans'] }),
  command('stripe-customers shared', 'listSharedStripeCustomers', {
    note: 'Ids that customers of several organizations have.',
    names: ['organizations'],
  }),
  command('stripe-customers release', 'releaseStripeCustomer', {
    note: 'The charges of these customers are no longer sent to Stripe from now on.',
  }),
  command('outbox list', 'listOutbox', rows(fieldColumns(['customerId', 'kind', 'id', 'setAsideAt', 'reason']))),
  command('outbox resend', 'resendOutbox', { note: 'Deliveries that D1 rejects again are set aside again.' }),

  command('catalog show', 'readCatalog'),
  command('catalog publish', 'publishCatalog', { document: true }),

  command(
    'reviews list',
    'listReviews',
    rows(fieldColumns(['modelKey', 'replacementModelKey', 'reviewedAt', 'reason'])),
  ),
  command('reviews show', 'readReview'),
  command('reviews put', 'putReview', {
    note: 'The public lookup recommends it, with its reason, if the provider names none.',
  }),
  command('reviews delete', 'deleteReview'),

  command('operators put', 'putOperator', {
    note: 'For people and service tokens that Cloudflare Access lets in: an e-mail address, or a client id.',
  }),
  command('operators list', 'listOperators', rows(fieldColumns(['name', 'role', 'createdAt', 'updatedAt']))),
  command('operators show', 'readOperator'),
  command('operators delete', 'deleteOperator'),
  command('operators me', 'readIdentity'),

  command('events list', 'listEvents', { view: ({ items }) => showEvents(items), names: ['organizations', 'keys'] }),

  command(
    'databases list',
    'listDatabases',
    rows({
      Name: ({ name }) => name,
      Organizations: counts(({ organizations }) => organizations),
      Bytes: counts(({ bytes }) => bytes),
      'Growth bytes per day': counts(({ growthBytesPerDay }) => growthBytesPerDay),
      ...fieldColumns(['fullAt', 'isNearlyFull']),
    }),
  ),

  command('archive list', 'listArchive', {
    ...rows({
      ...fieldColumns(['organizationId', 'day', 'rows', 'archivedAt']),
      Rows: counts(({ rows: written }) => written),
    }),
    names: ['organizations'],
  }),
  {
    ...command('archive verify', 'verifyArchive', {
      note: 'Reads every object. Ctrl+C stops it. Exit code 1 if an object is not as it was written.',
    }),
    list: false,
    run: { all: verifyAll, hasFailed: ({ problems }: Verified) => problems.length > 0 },
    view: showVerified,
  },

  command('export', 'exportHistory', { note: 'Writes to standard output, with or without --json.' }),

  command('attention', 'readAttention', {
    note: 'The first organizations, or one of them. --json also has the path that lists each count.',
    view: showAttention,
  }),
  command('search', 'searchEverything', {
    note: 'In one organization, or in the first ones. Put what has spaces in quotes.',
    positional: ['q'],
    view: showFound,
  }),
  command('health', 'readHealth'),
  command('health history', 'readHealthHistory'),
];
