/**
 * The operator API over HTTP: one line per operation, the work is in `src/operator`.
 */
import type { Hono } from 'hono';
import { accept } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import type { AppEnv } from '../middleware/context.ts';
import { listArchive, verifyArchive } from '../operator/archive.ts';
import { readAttention } from '../operator/attention.ts';
import { switchModelBack } from '../operator/autopilot.ts';
import { listOrganizationCalls, readOrganizationCall } from '../operator/calls.ts';
import { publishCatalog, readCatalog } from '../operator/catalog.ts';
import { operatorAmendCall, operatorReverseCall, operatorReverseMeterEvent } from '../operator/corrections.ts';
import {
  cancelCustomer,
  eraseCustomer,
  grantCredit,
  listOrganizationCustomers,
  reactivateCustomer,
  readCustomer,
  revokeCredit,
} from '../operator/customers.ts';
import { listDatabases } from '../operator/databases.ts';
import { listEvents } from '../operator/events.ts';
import { exportHistory } from '../operator/export.ts';
import { readHealth } from '../operator/health.ts';
import { readHealthHistory } from '../operator/health-history.ts';
import { createKey, listKeys, readKey, revokeKey, rotateKey, updateKey } from '../operator/keys.ts';
import { deleteModels, readModels, setModels } from '../operator/model-mappings.ts';
import { deleteOperator, listOperators, putOperator, readOperator } from '../operator/operators.ts';
import { readOrganizationEvents } from '../operator/organization-events.ts';
import { readOrganizationSetup } from '../operator/organization-setup.ts';
import {
  createOrganization,
  listOrganizations,
  readOrganization,
  updateOrganization,
} from '../operator/organizations.ts';
import { listOutbox, resendOutbox } from '../operator/outbox.ts';
import {
  archivePlan,
  listPlans,
  migratePlan,
  putPlan,
  readMigration,
  readPlan,
  restorePlan,
} from '../operator/plans.ts';
import { deletePrices, listPrices, readPrices, setPrice } from '../operator/prices.ts';
import {
  listCustomerLedger,
  listCustomerMargins,
  readCustomerMargin,
  readOrganizationAnomalies,
  readOrganizationForecast,
  readOrganizationMargin,
  readOrganizationModelRadar,
  readOrganizationUsage,
  readOrganizationUsageContext,
} from '../operator/readings.ts';
import { readRepricing, startRepricing } from '../operator/repricing.ts';
import { deleteReview, listReviews, putReview, readReview } from '../operator/reviews.ts';
import { deleteSample, exportSamples, listSamples, readSample } from '../operator/samples.ts';
import { deleteSampling, readSampling, setSampling } from '../operator/sampling.ts';
import { search } from '../operator/search.ts';
import { listSharedStripeCustomers, releaseStripeCustomer } from '../operator/stripe-customers.ts';
import {
  operatorChangePlan,
  operatorCreateCustomer,
  operatorReplenish,
  previewPlanChange,
} from '../operator/subscriptions.ts';
import { deleteVendor, listVendors, readVendor, setVendor } from '../operator/vendors.ts';
import { CSV_TYPE } from '../platform/csv.ts';
import { mount } from './mount.ts';
import { mountUseCase } from './use-cases.ts';

/** One line of JSON per item. */
const LINES_TYPE = 'application/jsonl; charset=utf-8';

export function mountOperator(app: Hono<AppEnv>): void {
  mountUseCase(app, createOrganization);
  mountUseCase(app, listOrganizations);
  mountUseCase(app, readOrganization);
  mountUseCase(app, readOrganizationSetup);
  mountUseCase(app, updateOrganization);
  mountUseCase(app, setModels);
  mountUseCase(app, readModels);
  mountUseCase(app, deleteModels);
  mountUseCase(app, switchModelBack);

  mountUseCase(app, putPlan);
  mountUseCase(app, listPlans);
  mountUseCase(app, archivePlan);
  mountUseCase(app, restorePlan);
  mountUseCase(app, migratePlan);
  mountUseCase(app, readMigration);
  mountUseCase(app, readPlan);

  mountUseCase(app, setPrice);
  mountUseCase(app, listPrices);
  mountUseCase(app, readPrices);
  mountUseCase(app, deletePrices);
  mountUseCase(app, startRepricing);
  mountUseCase(app, readRepricing);
  mountUseCase(app, setVendor);
  mountUseCase(app, listVendors);
  mountUseCase(app, readVendor);
  mountUseCase(app, deleteVendor);

  mountUseCase(app, readOrganizationUsage);
  mountUseCase(app, readOrganizationMargin);
  mountUseCase(app, listCustomerMargins);
  mountUseCase(app, readCustomerMargin);
  mountUseCase(app, readOrganizationAnomalies);
  mountUseCase(app, readOrganizationUsageContext);
  mountUseCase(app, readOrganizationForecast);
  mountUseCase(app, listCustomerLedger);
  mountUseCase(app, readOrganizationModelRadar);

  mountUseCase(app, setSampling);
  mountUseCase(app, readSampling);
  mountUseCase(app, deleteSampling);
  mountUseCase(app, listSamples);
  mount(app, operations.exportSamples, async (c, { params, query }) => {
    const answer = await exportSamples(c.env, params.org, query);
    return answer.ok ? c.body(answer.data, 200, { 'Content-Type': LINES_TYPE }) : answer;
  });
  mountUseCase(app, readSample);
  mountUseCase(app, deleteSample);

  mountUseCase(app, createKey);
  mountUseCase(app, listKeys);
  mountUseCase(app, readKey);
  mountUseCase(app, rotateKey);
  mountUseCase(app, updateKey);
  mountUseCase(app, revokeKey);

  mountUseCase(app, listOrganizationCustomers);
  mountUseCase(app, readCustomer);
  mountUseCase(app, operatorCreateCustomer);
  mountUseCase(app, operatorChangePlan);
  mountUseCase(app, previewPlanChange);
  mountUseCase(app, operatorReplenish);
  mountUseCase(app, cancelCustomer);
  mountUseCase(app, reactivateCustomer);
  mountUseCase(app, grantCredit);
  mountUseCase(app, revokeCredit);
  mountUseCase(app, operatorReverseCall);
  mountUseCase(app, operatorAmendCall);
  mountUseCase(app, operatorReverseMeterEvent);
  mountUseCase(app, eraseCustomer);

  mountUseCase(app, listOrganizationCalls);
  mountUseCase(app, readOrganizationCall);
  mountUseCase(app, readOrganizationEvents);
  mountUseCase(app, listSharedStripeCustomers);
  mountUseCase(app, releaseStripeCustomer);
  mountUseCase(app, listOutbox);
  mountUseCase(app, resendOutbox);

  mountUseCase(app, listArchive);
  mountUseCase(app, verifyArchive);
  mount(app, operations.exportHistory, async (c, { params, query }) => {
    const answer = await exportHistory(c.env, params.org, query);
    const type = query.format === 'focus' ? CSV_TYPE : LINES_TYPE;
    return answer.ok ? c.body(answer.data, 200, { 'Content-Type': type }) : answer;
  });

  mountUseCase(app, readCatalog);
  mountUseCase(app, publishCatalog);

  mountUseCase(app, listReviews);
  mountUseCase(app, readReview);
  mountUseCase(app, putReview);
  mountUseCase(app, deleteReview);

  mount(app, operations.readIdentity, async (c) => {
    const { name, role } = c.get('operator');
    if (role === null) throw new Error('the route is open to roles alone');
    return accept('IDENTITY_READ', { name, role }, Date.now());
  });
  mountUseCase(app, listOperators);
  mountUseCase(app, readOperator);
  mountUseCase(app, putOperator);
  mountUseCase(app, deleteOperator);

  mountUseCase(app, listEvents);
  mountUseCase(app, listDatabases);
  mountUseCase(app, readAttention);
  mountUseCase(app, search);
  mountUseCase(app, readHealth);
  mountUseCase(app, readHealthHistory);
}
