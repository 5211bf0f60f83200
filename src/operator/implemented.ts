/**
 * Every operation of the operator that a use case implements. HTTP mounts all of them. An operation of the contract
 * that is missing here, and is not among those with a route of their own, does not compile.
 */
import type { OperationId, operations } from '../contract/operations.ts';
import { listArchive, verifyArchive } from './archive.ts';
import { readAttention } from './attention.ts';
import { switchModelBack } from './autopilot.ts';
import { listOrganizationCalls, readOrganizationCall } from './calls.ts';
import { publishCatalog, readCatalog } from './catalog.ts';
import {
  operatorSaveCompressionProfile,
  operatorStartCompressionJob,
  readOrganizationCompressionJob,
  readOrganizationCompressionProfile,
  readOrganizationCompressionSummary,
} from './compression.ts';
import { operatorAmendCall, operatorReverseCall, operatorReverseMeterEvent } from './corrections.ts';
import {
  cancelCustomer,
  eraseCustomer,
  grantCredit,
  listOrganizationCustomers,
  reactivateCustomer,
  readCustomer,
  revokeCredit,
} from './customers.ts';
import { listDatabases } from './databases.ts';
import { listEvents } from './events.ts';
import { readHealth } from './health.ts';
import { readHealthHistory } from './health-history.ts';
import { createKey, listKeys, readKey, revokeKey, rotateKey, updateKey } from './keys.ts';
import { deleteModels, readModels, setModels } from './model-mappings.ts';
import type { UseCase } from './operation.ts';
import { deleteOperator, listOperators, putOperator, readOperator } from './operators.ts';
import { readOrganizationSetup } from './organization-setup.ts';
import { createOrganization, listOrganizations, readOrganization, updateOrganization } from './organizations.ts';
import { listOutbox, resendOutbox } from './outbox.ts';
import { archivePlan, listPlans, migratePlan, putPlan, readMigration, readPlan, restorePlan } from './plans.ts';
import { deletePrices, listPrices, readPrices, setPrice } from './prices.ts';
import {
  listCustomerLedger,
  listCustomerMargins,
  readCustomerMargin,
  readOrganizationAnomalies,
  readOrganizationEvents,
  readOrganizationForecast,
  readOrganizationMargin,
  readOrganizationModelRadar,
  readOrganizationUsage,
  readOrganizationUsageContext,
} from './readings.ts';
import { readRepricing, startRepricing } from './repricing.ts';
import { deleteReview, listReviews, putReview, readReview } from './reviews.ts';
import { deleteSample, listSamples, readSample } from './samples.ts';
import { deleteSampling, readSampling, setSampling } from './sampling.ts';
import { searchEverything } from './search.ts';
import { listSharedStripeCustomers, releaseStripeCustomer } from './stripe-customers.ts';
import { operatorChangePlan, operatorCreateCustomer, operatorReplenish, previewPlanChange } from './subscriptions.ts';
import { deleteVendor, listVendors, readVendor, setVendor } from './vendors.ts';
import {
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  putWebhook,
  readWebhook,
  replayWebhook,
  rotateWebhook,
  sendDelivery,
  testWebhook,
} from './webhooks.ts';

type Operations = typeof operations;

type OfOperator = {
  [Id in OperationId]: Operations[Id]['security']['kind'] extends 'operator' ? Id : never;
}[OperationId];

/**
 * The answers of these operations are not JSON envelopes, or only the request knows them: `http/routes/operator.ts`
 * mounts each.
 */
export type WithOwnRoute = 'exportSamples' | 'exportHistory' | 'readIdentity';

export const implemented: { [Id in Exclude<OfOperator, WithOwnRoute>]: UseCase<Operations[Id]> } = {
  listArchive,
  verifyArchive,
  readAttention,
  switchModelBack,
  listOrganizationCalls,
  readOrganizationCall,
  readCatalog,
  publishCatalog,
  operatorReverseCall,
  operatorAmendCall,
  operatorReverseMeterEvent,
  listOrganizationCustomers,
  readCustomer,
  cancelCustomer,
  reactivateCustomer,
  grantCredit,
  revokeCredit,
  eraseCustomer,
  listDatabases,
  listEvents,
  readHealthHistory,
  readHealth,
  searchEverything,
  createKey,
  rotateKey,
  readKey,
  listKeys,
  updateKey,
  revokeKey,
  setModels,
  deleteModels,
  readModels,
  listOperators,
  readOperator,
  putOperator,
  deleteOperator,
  readOrganizationSetup,
  createOrganization,
  listOrganizations,
  readOrganization,
  updateOrganization,
  listOutbox,
  resendOutbox,
  putPlan,
  listPlans,
  readPlan,
  archivePlan,
  restorePlan,
  migratePlan,
  readMigration,
  setPrice,
  listPrices,
  readPrices,
  deletePrices,
  readOrganizationUsage,
  readOrganizationAnomalies,
  readOrganizationUsageContext,
  readOrganizationForecast,
  listCustomerLedger,
  readOrganizationMargin,
  listCustomerMargins,
  readCustomerMargin,
  readOrganizationModelRadar,
  readOrganizationEvents,
  startRepricing,
  readRepricing,
  listReviews,
  readReview,
  putReview,
  deleteReview,
  listSamples,
  readSample,
  deleteSample,
  readOrganizationCompressionProfile,
  operatorSaveCompressionProfile,
  readOrganizationCompressionSummary,
  operatorStartCompressionJob,
  readOrganizationCompressionJob,
  readSampling,
  setSampling,
  deleteSampling,
  listSharedStripeCustomers,
  releaseStripeCustomer,
  operatorCreateCustomer,
  operatorChangePlan,
  previewPlanChange,
  operatorReplenish,
  setVendor,
  listVendors,
  readVendor,
  deleteVendor,
  putWebhook,
  listWebhooks,
  readWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
  replayWebhook,
  listDeliveries,
  sendDelivery,
};
