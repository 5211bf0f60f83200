/**
 * Every operation of the service, in one table: the routes take their validation and permissions from it, tests and
 * documents read it, and what is not here does not exist.
 */
import { z } from 'zod';
import { BeginCallData, BeginCallRequest, EndCallData, EndCallRequest, ReadCallData } from './calls.ts';
import { CatalogDocument, CatalogInfo, PublishedCatalog } from './catalog.ts';
import {
  AuthorizeCompressionRequest,
  CompressionAuthorization,
  CompressionJob,
  CompressionProfile,
  CompressionSummary,
  CompressionSummaryQuery,
  CompressPromptData,
  CompressPromptRequest,
  StartCompressionJobRequest,
  StartedCompressionJob,
} from './compression.ts';
import { CustomMeterData, IncrementMeterRequest } from './custom-meter.ts';
import {
  ChangePlanBody,
  ChangePlanData,
  CustomerListItem,
  CustomerUsageData,
  ListCustomersQuery,
  ProvisionCustomerData,
  ProvisionCustomerRequest,
  ReplenishBody,
  UsagePlan,
} from './customers.ts';
import { Models } from './entitlements.ts';
import { successEnvelope } from './envelope.ts';
import { customerId, idempotencyKey, ListQuery, listOf, text } from './fields.ts';
import {
  CreatedKey,
  CreateKeyRequest,
  CreateOrganizationRequest,
  Health,
  Key,
  OperatorEvent,
  Organization,
  SetModelsRequest,
  UpdateKeyRequest,
  UpdateOrganizationRequest,
} from './operator.ts';
import {
  ErasedCustomer,
  GrantCreditRequest,
  GrantedCredit,
  MigratePlanRequest,
  OperatorCustomer,
  PlanMigration,
  StartedMigration,
} from './operator-customers.ts';
import { ResentOutbox, SetAsideChange } from './outbox.ts';
import { Plan, PlanDetail, PlanVersion, planId } from './plans.ts';
import { OrganizationPrice, pricedModelKey, SetPriceRequest } from './prices.ts';
import {
  AnomaliesData,
  AnomaliesQuery,
  ForecastData,
  ForecastQuery,
  UsageContextData,
  UsageContextQuery,
} from './readings.ts';
import {
  DeletedSample,
  ExportSamplesQuery,
  ListSamplesQuery,
  SAMPLE_BYTES_MAX,
  Sample,
  SampleListItem,
  StoredSample,
  StoreSampleRequest,
} from './samples.ts';
import {
  DecideSamplingRequest,
  SamplingDecision,
  SamplingPolicy,
  SamplingSettings,
  SetSamplingRequest,
} from './sampling.ts';
import type { LegacyGrant, Scope } from './scopes.ts';
import {
  type ClientScope,
  ClientSessionData,
  ClientSessionRequest,
  EmbedSessionData,
  EmbedSessionRequest,
} from './sessions.ts';
import { CallData, CallRequest } from './unified-call.ts';
import { SummaryQuery, UsageSummaryData } from './usage-summary.ts';
import { SetVendorRequest, Vendor, vendorProvider } from './vendors.ts';

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
function operation<const O extends Operation>(entry: O): O {
  return entry;
}

/** A catalog of 2,000 models with its transitions fits. */
const CATALOG_BYTES_MAX = 8 * 1024 * 1024;

const operator = { kind: 'operator' } as const;
const apiKey = (...scopes: Scope[]) => ({ kind: 'apiKey', scopes }) as const;
const compression = apiKey('compression:invoke');
/** Also for a customer's browser. */
const compressionInClient = { ...compression, clientScope: 'compression:run' } as const;

const organizationParam = z.object({ org: text(64).toLowerCase().describe('Organization id') });
const customerParam = z.object({ customerId });
const planParam = organizationParam.extend({ planId });
const keyParam = organizationParam.extend({ keyId: text(64).describe('Key id') });
const organizationCustomerParam = organizationParam.extend({ customerId });
const sampleParam = organizationParam.extend({ sampleId: idempotencyKey.describe('The sample') });

export const operations = {
  beginCall: operation({
    operationId: 'beginCall',
    summary: 'Ask what a customer may use for a call, and begin it',
    method: 'POST',
    path: '/call_begin',
    security: apiKey('usage:write'),
    body: BeginCallRequest,
    code: 'CALL_BEGIN_SUCCESS',
    data: BeginCallData,
  }),
  endCall: operation({
    operationId: 'endCall',
    summary: 'Report the usage of a call; get its cost and the updated quotas',
    method: 'POST',
    path: '/call_end',
    security: apiKey('usage:write'),
    body: EndCallRequest,
    code: 'CALL_END_SUCCESS',
    data: EndCallData,
  }),
  makeCall: operation({
    operationId: 'makeCall',
    summary: 'Begin a call, make the request to the vendor, and end it with the usage that the vendor reported',
    method: 'POST',
    path: '/call',
    security: apiKey('usage:write'),
    body: CallRequest,
    code: 'CALL_SUCCESS',
    otherCodes: ['CALL_VENDOR_WARNING'],
    data: CallData,
  }),
  readCall: operation({
    operationId: 'readCall',
    summary: 'Read the pricing of a call',
    method: 'GET',
    path: '/calls/{callId}',
    security: apiKey('usage:read'),
    params: z.object({ callId: idempotencyKey.describe('The call') }),
    code: 'CALL_PRICING_RETRIEVED',
    data: ReadCallData,
  }),
  provisionCustomer: operation({
    operationId: 'provisionCustomer',
    summary: 'Create a customer, or get the one that exists',
    method: 'POST',
    path: '/customers',
    security: { kind: 'apiKey', scopes: ['customers:write'], legacyGrant: 'customers:provision' },
    body: ProvisionCustomerRequest,
    code: 'CUSTOMER_READY',
    data: ProvisionCustomerData,
  }),
  readUsage: operation({
    operationId: 'readUsage',
    summary: "Read a customer's entitlements and meters without a call",
    method: 'GET',
    path: '/customers/{customerId}/usage',
    security: apiKey('usage:read'),
    params: customerParam,
    code: 'CUSTOMER_READY',
    data: CustomerUsageData,
  }),
  changePlan: operation({
    operationId: 'changePlan',
    summary: "Change a customer's plan",
    method: 'POST',
    path: '/customers/{customerId}/change_plan',
    security: apiKey('customers:write'),
    params: customerParam,
    body: ChangePlanBody,
    code: 'PLAN_CHANGED',
    data: ChangePlanData,
  }),
  replenishCustomer: operation({
    operationId: 'replenishCustomer',
    summary: 'Start a new usage cycle now, with a pending plan change applied',
    method: 'POST',
    path: '/customers/{customerId}/replenish',
    security: apiKey('customers:write'),
    params: customerParam,
    body: ReplenishBody,
    code: 'CUSTOMER_REPLENISHED',
    data: ChangePlanData,
  }),
  incrementMeter: operation({
    operationId: 'incrementMeter',
    summary: 'Record usage of a custom meter; learn what paid for it',
    method: 'POST',
    path: '/custom_meter',
    security: { kind: 'apiKey', scopes: ['usage:write'], legacyGrant: 'meters:increment' },
    body: IncrementMeterRequest,
    code: 'CUSTOM_METER_SUCCESS',
    data: CustomMeterData,
  }),
  readUsageSummary: operation({
    operationId: 'readUsageSummary',
    summary: "Read an organization's calls, tokens and cost over a period, in every dimension",
    method: 'GET',
    path: '/usage/summary',
    security: apiKey('usage:read'),
    query: SummaryQuery,
    code: 'USAGE_SUMMARY_READ',
    data: UsageSummaryData,
  }),
  readUsageAnomalies: operation({
    operationId: 'readUsageAnomalies',
    summary: 'Read what stands out in the usage of an organization and its largest customers',
    method: 'GET',
    path: '/usage/anomalies',
    security: apiKey('usage:read'),
    query: AnomaliesQuery,
    code: 'USAGE_ANOMALIES_READ',
    data: AnomaliesData,
  }),
  readUsageContext: operation({
    operationId: 'readUsageContext',
    summary: "Read a compact brief of a customer's usage, funding, signals and forecast",
    method: 'GET',
    path: '/customers/{customerId}/usage-context',
    security: apiKey('customers:read', 'usage:read'),
    params: customerParam,
    query: UsageContextQuery,
    code: 'USAGE_CONTEXT_READ',
    data: UsageContextData,
  }),
  readForecast: operation({
    operationId: 'readForecast',
    summary: 'Forecast a metric of a customer until the next replenishment',
    method: 'GET',
    path: '/customers/{customerId}/forecast',
    security: apiKey('customers:read', 'usage:read'),
    params: customerParam,
    query: ForecastQuery,
    code: 'FORECAST_READ',
    data: ForecastData,
  }),
  listCustomers: operation({
    operationId: 'listCustomers',
    summary: 'List customers, as of the last projection',
    method: 'GET',
    path: '/customers',
    security: apiKey('customers:read'),
    query: ListCustomersQuery,
    code: 'CUSTOMERS_LISTED',
    data: listOf(CustomerListItem),
  }),
  listUsagePlans: operation({
    operationId: 'listUsagePlans',
    summary: 'List usage plans in their newest version',
    method: 'GET',
    path: '/usage-plans',
    security: apiKey('customers:read'),
    query: ListQuery,
    code: 'USAGE_PLANS_LISTED',
    data: listOf(UsagePlan),
  }),
  readSamplingSettings: operation({
    operationId: 'readSamplingSettings',
    summary: 'Read which calls are to be kept for review, to decide by oneself',
    method: 'GET',
    path: '/sampling/settings',
    security: compression,
    code: 'SAMPLING_SETTINGS_READ',
    data: SamplingSettings,
  }),
  decideSampling: operation({
    operationId: 'decideSampling',
    summary: 'Ask whether a call is to be kept for review',
    method: 'POST',
    path: '/sampling/decide',
    security: compression,
    body: DecideSamplingRequest,
    code: 'SAMPLING_DECIDED',
    data: SamplingDecision,
  }),
  storeSample: operation({
    operationId: 'storeSample',
    summary: 'Keep a call for review, after a positive decision',
    method: 'POST',
    path: '/samples',
    security: compression,
    body: StoreSampleRequest,
    bodyBytesMax: SAMPLE_BYTES_MAX,
    code: 'SAMPLE_STORED',
    data: StoredSample,
  }),
  compressPrompt: operation({
    operationId: 'compressPrompt',
    summary: "Record what compressing a call's prompt saved: counts, and no content",
    method: 'POST',
    path: '/compress_prompt',
    security: compressionInClient,
    body: CompressPromptRequest,
    code: 'PROMPT_COMPRESSION_RECORDED',
    data: CompressPromptData,
  }),
  authorizeCompression: operation({
    operationId: 'authorizeCompression',
    summary: 'Ask whether prompts may be compressed at the expense of a customer',
    method: 'POST',
    path: '/v1/compression/authorize',
    security: compressionInClient,
    body: AuthorizeCompressionRequest,
    code: 'COMPRESSION_AUTHORIZED',
    data: CompressionAuthorization,
  }),
  readCompressionProfile: operation({
    operationId: 'readCompressionProfile',
    summary: "Read the organization's compression profile",
    method: 'GET',
    path: '/v1/compression/profile',
    security: compressionInClient,
    code: 'COMPRESSION_PROFILE_READ',
    data: CompressionProfile,
  }),
  saveCompressionProfile: operation({
    operationId: 'saveCompressionProfile',
    summary: "Replace the organization's compression profile",
    method: 'PUT',
    path: '/v1/compression/profile',
    security: compression,
    body: CompressionProfile,
    code: 'COMPRESSION_PROFILE_SAVED',
    data: CompressionProfile,
  }),
  readCompressionSummary: operation({
    operationId: 'readCompressionSummary',
    summary: 'Read what compression saved over a period, by feature and technique',
    method: 'GET',
    path: '/v1/compression/summary',
    security: compression,
    query: CompressionSummaryQuery,
    code: 'COMPRESSION_SUMMARY_READ',
    data: CompressionSummary,
  }),
  startCompressionJob: operation({
    operationId: 'startCompressionJob',
    summary: 'Estimate, in the background, what a profile would have saved on stored samples',
    method: 'POST',
    path: '/v1/compression/jobs',
    security: compression,
    body: StartCompressionJobRequest,
    code: 'COMPRESSION_JOB_STARTED',
    data: StartedCompressionJob,
  }),
  readCompressionJob: operation({
    operationId: 'readCompressionJob',
    summary: 'Read how far an estimate is, and what it found',
    method: 'GET',
    path: '/v1/compression/jobs/{jobId}',
    security: compression,
    params: z.object({ jobId: text(64).describe('The job') }),
    code: 'COMPRESSION_JOB_READ',
    data: CompressionJob,
  }),
  createClientSession: operation({
    operationId: 'createClientSession',
    summary: "Issue a token of five minutes for a customer's browser",
    method: 'POST',
    path: '/v1/client/sessions',
    security: { kind: 'apiKey', scopes: ['gateway:invoke', 'compression:invoke'], anyScope: true },
    body: ClientSessionRequest,
    code: 'CLIENT_SESSION_CREATED',
    data: ClientSessionData,
  }),
  createGatewaySession: operation({
    operationId: 'createGatewaySession',
    summary: 'The same under its earlier name',
    method: 'POST',
    path: '/v1/gateway/sessions',
    security: { kind: 'apiKey', scopes: ['gateway:invoke', 'compression:invoke'], anyScope: true },
    body: ClientSessionRequest,
    code: 'CLIENT_SESSION_CREATED',
    data: ClientSessionData,
  }),
  createEmbedSession: operation({
    operationId: 'createEmbedSession',
    summary: "Issue a token and an address for a customer's usage widget",
    method: 'POST',
    path: '/v1/embed-sessions',
    security: apiKey('embeds:read'),
    body: EmbedSessionRequest,
    code: 'EMBED_SESSION_CREATED',
    data: EmbedSessionData,
  }),
  createOrganization: operation({
    operationId: 'createOrganization',
    summary: 'Create an organization',
    method: 'POST',
    path: '/operator/organizations',
    security: operator,
    body: CreateOrganizationRequest,
    code: 'ORGANIZATION_CREATED',
    data: Organization,
  }),
  listOrganizations: operation({
    operationId: 'listOrganizations',
    summary: 'List organizations',
    method: 'GET',
    path: '/operator/organizations',
    security: operator,
    query: ListQuery,
    code: 'ORGANIZATIONS_LISTED',
    data: listOf(Organization),
  }),
  readOrganization: operation({
    operationId: 'readOrganization',
    summary: 'Read an organization',
    method: 'GET',
    path: '/operator/organizations/{org}',
    security: operator,
    params: organizationParam,
    code: 'ORGANIZATION_READ',
    data: Organization,
  }),
  updateOrganization: operation({
    operationId: 'updateOrganization',
    summary: 'Change the name or the default plan of an organization',
    method: 'PATCH',
    path: '/operator/organizations/{org}',
    security: operator,
    params: organizationParam,
    body: UpdateOrganizationRequest,
    code: 'ORGANIZATION_UPDATED',
    data: Organization,
  }),
  putPlan: operation({
    operationId: 'putPlan',
    summary: 'Create a plan, or a new version of it; the same content keeps the version',
    method: 'PUT',
    path: '/operator/organizations/{org}/plans/{planId}',
    security: operator,
    params: planParam,
    body: Plan,
    code: 'PLAN_SAVED',
    data: PlanVersion,
  }),
  listPlans: operation({
    operationId: 'listPlans',
    summary: 'List the plans of an organization with their versions',
    method: 'GET',
    path: '/operator/organizations/{org}/plans',
    security: operator,
    params: organizationParam,
    query: ListQuery,
    code: 'PLANS_LISTED',
    data: listOf(PlanDetail),
  }),
  readPlan: operation({
    operationId: 'readPlan',
    summary: 'Read a plan with its versions',
    method: 'GET',
    path: '/operator/organizations/{org}/plans/{planId}',
    security: operator,
    params: planParam,
    code: 'PLAN_READ',
    data: PlanDetail,
  }),
  migratePlan: operation({
    operationId: 'migratePlan',
    summary: 'Move every subscription of a plan to its newest version, in the background',
    method: 'POST',
    path: '/operator/organizations/{org}/plans/{planId}/migrate',
    security: operator,
    params: planParam,
    body: MigratePlanRequest,
    code: 'MIGRATION_STARTED',
    data: StartedMigration,
  }),
  readMigration: operation({
    operationId: 'readMigration',
    summary: 'Read how far a migration is',
    method: 'GET',
    path: '/operator/organizations/{org}/migrations/{jobId}',
    security: operator,
    params: organizationParam.extend({ jobId: text(64).describe('The job') }),
    code: 'MIGRATION_READ',
    data: PlanMigration,
  }),
  setModels: operation({
    operationId: 'setModels',
    summary: "Set an organization's model mappings",
    method: 'PUT',
    path: '/operator/organizations/{org}/models',
    security: operator,
    params: organizationParam,
    body: SetModelsRequest,
    code: 'MODELS_SAVED',
    data: Models,
  }),
  setSampling: operation({
    operationId: 'setSampling',
    summary: 'Set which calls an organization keeps for review, and for how long',
    method: 'PUT',
    path: '/operator/organizations/{org}/sampling',
    security: operator,
    params: organizationParam,
    body: SetSamplingRequest,
    code: 'SAMPLING_SAVED',
    data: SamplingPolicy,
  }),
  listSamples: operation({
    operationId: 'listSamples',
    summary: 'List stored samples without their payloads, newest first',
    method: 'GET',
    path: '/operator/organizations/{org}/samples',
    security: operator,
    params: organizationParam,
    query: ListSamplesQuery,
    code: 'SAMPLES_LISTED',
    data: listOf(SampleListItem),
  }),
  exportSamples: operation({
    operationId: 'exportSamples',
    summary: 'Export stored samples with their payloads as JSON Lines, newest first',
    method: 'GET',
    path: '/operator/organizations/{org}/samples/export',
    security: operator,
    params: organizationParam,
    query: ExportSamplesQuery,
    code: 'SAMPLES_EXPORTED',
    data: Sample,
    lines: true,
  }),
  readSample: operation({
    operationId: 'readSample',
    summary: 'Read a stored sample',
    method: 'GET',
    path: '/operator/organizations/{org}/samples/{sampleId}',
    security: operator,
    params: sampleParam,
    code: 'SAMPLE_READ',
    data: Sample,
  }),
  deleteSample: operation({
    operationId: 'deleteSample',
    summary: 'Delete a stored sample',
    method: 'DELETE',
    path: '/operator/organizations/{org}/samples/{sampleId}',
    security: operator,
    params: sampleParam,
    code: 'SAMPLE_DELETED',
    data: DeletedSample,
  }),
  setPrice: operation({
    operationId: 'setPrice',
    summary: "Set an organization's own price of a model; it wins over the catalog",
    method: 'PUT',
    path: '/operator/organizations/{org}/prices/{modelKey}',
    security: operator,
    params: organizationParam.extend({ modelKey: pricedModelKey }),
    body: SetPriceRequest,
    code: 'PRICE_SAVED',
    data: OrganizationPrice,
  }),
  setVendor: operation({
    operationId: 'setVendor',
    summary: "Set an organization's key and address of a model vendor",
    method: 'PUT',
    path: '/operator/organizations/{org}/vendors/{provider}',
    security: operator,
    params: organizationParam.extend({ provider: vendorProvider }),
    body: SetVendorRequest,
    code: 'VENDOR_SAVED',
    data: Vendor,
  }),
  createKey: operation({
    operationId: 'createKey',
    summary: 'Create an API key; its value is shown this once',
    method: 'POST',
    path: '/operator/organizations/{org}/keys',
    security: operator,
    params: organizationParam,
    body: CreateKeyRequest,
    code: 'KEY_CREATED',
    data: CreatedKey,
  }),
  listKeys: operation({
    operationId: 'listKeys',
    summary: 'List the API keys of an organization, without their values',
    method: 'GET',
    path: '/operator/organizations/{org}/keys',
    security: operator,
    params: organizationParam,
    query: ListQuery,
    code: 'KEYS_LISTED',
    data: listOf(Key),
  }),
  updateKey: operation({
    operationId: 'updateKey',
    summary: 'Change the name or the scopes of an API key',
    method: 'PATCH',
    path: '/operator/organizations/{org}/keys/{keyId}',
    security: operator,
    params: keyParam,
    body: UpdateKeyRequest,
    code: 'KEY_UPDATED',
    data: Key,
  }),
  revokeKey: operation({
    operationId: 'revokeKey',
    summary: 'Revoke an API key; it has stopped working everywhere when this answers',
    method: 'DELETE',
    path: '/operator/organizations/{org}/keys/{keyId}',
    security: operator,
    params: keyParam,
    code: 'KEY_REVOKED',
    data: Key,
  }),
  readCustomer: operation({
    operationId: 'readCustomer',
    summary: 'Read a customer as the operator sees it',
    method: 'GET',
    path: '/operator/organizations/{org}/customers/{customerId}',
    security: operator,
    params: organizationCustomerParam,
    code: 'CUSTOMER_READ',
    data: OperatorCustomer,
  }),
  cancelCustomer: operation({
    operationId: 'cancelCustomer',
    summary: "Cancel a customer's subscription",
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/cancel',
    security: operator,
    params: organizationCustomerParam,
    code: 'CUSTOMER_CANCELED',
    data: CustomerUsageData,
  }),
  reactivateCustomer: operation({
    operationId: 'reactivateCustomer',
    summary: 'Reactivate a canceled subscription',
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/reactivate',
    security: operator,
    params: organizationCustomerParam,
    code: 'CUSTOMER_REACTIVATED',
    data: CustomerUsageData,
  }),
  grantCredit: operation({
    operationId: 'grantCredit',
    summary: 'Grant USD credit, or units of a custom meter',
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/credits',
    security: operator,
    params: organizationCustomerParam,
    body: GrantCreditRequest,
    code: 'CREDIT_GRANTED',
    data: GrantedCredit,
  }),
  eraseCustomer: operation({
    operationId: 'eraseCustomer',
    summary: 'Erase a customer everywhere',
    method: 'DELETE',
    path: '/operator/organizations/{org}/customers/{customerId}',
    security: operator,
    params: organizationCustomerParam,
    code: 'CUSTOMER_ERASED',
    data: ErasedCustomer,
  }),
  listOutbox: operation({
    operationId: 'listOutbox',
    summary: "List customers' changes that D1 refused and that are set aside",
    method: 'GET',
    path: '/operator/organizations/{org}/outbox',
    security: operator,
    params: organizationParam,
    query: ListQuery,
    code: 'OUTBOX_LISTED',
    data: listOf(SetAsideChange),
  }),
  resendOutbox: operation({
    operationId: 'resendOutbox',
    summary: 'Queue changes that are set aside for D1 again',
    method: 'POST',
    path: '/operator/organizations/{org}/outbox/resend',
    security: operator,
    params: organizationParam,
    code: 'OUTBOX_RESENT',
    data: ResentOutbox,
  }),
  readCatalog: operation({
    operationId: 'readCatalog',
    summary: 'Read which model catalog is in use',
    method: 'GET',
    path: '/operator/catalog',
    security: operator,
    code: 'CATALOG_READ',
    data: CatalogInfo,
  }),
  publishCatalog: operation({
    operationId: 'publishCatalog',
    summary: 'Validate a model catalog, record its prices, and make it the current one',
    method: 'POST',
    path: '/operator/catalog',
    security: operator,
    body: CatalogDocument,
    bodyBytesMax: CATALOG_BYTES_MAX,
    code: 'CATALOG_PUBLISHED',
    data: PublishedCatalog,
  }),
  listEvents: operation({
    operationId: 'listEvents',
    summary: 'List operator events, newest first',
    method: 'GET',
    path: '/operator/events',
    security: operator,
    query: ListQuery.extend({ organizationId: text(64).optional().describe('Only of this organization') }),
    code: 'EVENTS_LISTED',
    data: listOf(OperatorEvent),
  }),
  readHealth: operation({
    operationId: 'readHealth',
    summary: 'Bindings, catalog, backlog, versions',
    method: 'GET',
    path: '/operator/health',
    security: operator,
    code: 'HEALTH_READ',
    data: Health,
  }),
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

/** What an operation answers on success, in its envelope. */
export function responseSchema(entry: Operation) {
  return successEnvelope([entry.code, ...(entry.otherCodes ?? [])], entry.data);
}
