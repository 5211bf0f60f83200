/**
 * The operator API over HTTP: one line per operation, the work is in `src/operator`.
 */
import type { Hono } from 'hono';
import { type Answer, accept } from '../contract/errors.ts';
import { type Operation, operations } from '../contract/operations.ts';
import { type AppContext, type AppEnv, deferrer } from '../middleware/context.ts';
import { keySpaceOf } from '../middleware/operators.ts';
import { listArchive, verifyArchive } from '../operator/archive.ts';
import { readAttention } from '../operator/attention.ts';
import { switchBack } from '../operator/autopilot.ts';
import { listOrganizationCalls, readOrganizationCall } from '../operator/calls.ts';
import { publishCatalog, readCatalog } from '../operator/catalog.ts';
import type { OperatorRequest } from '../operator/change.ts';
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
import { operatorChangePlan, operatorCreateCustomer, operatorReplenish } from '../operator/subscriptions.ts';
import { deleteVendor, listVendors, readVendor, setVendor } from '../operator/vendors.ts';
import { CSV_TYPE } from '../platform/csv.ts';
import { headerKeyOf, type Input, mount, mountList } from './mount.ts';
import { mountUseCase } from './use-cases.ts';

/** One line of JSON per item. */
const LINES_TYPE = 'application/jsonl; charset=utf-8';

export function mountOperator(app: Hono<AppEnv>): void {
  change(app, operations.createOrganization, (request, { body }) => createOrganization(request, body));
  mountList(app, operations.listOrganizations, (c, page) => listOrganizations(c.env, page));
  mount(app, operations.readOrganization, (c, { params }) => readOrganization(c.env, params.org));
  mount(app, operations.readOrganizationSetup, (c, { params }) => readOrganizationSetup(c.env, params.org));
  change(app, operations.updateOrganization, (request, { params, body }) =>
    updateOrganization(request, params.org, body),
  );
  change(app, operations.setModels, (request, { params, body }, c) =>
    setModels(request, params.org, body, deferrer(c)),
  );
  mount(app, operations.readModels, (c, { params }) => readModels(c.env, params.org, deferrer(c)));
  change(app, operations.deleteModels, (request, { params }, c) => deleteModels(request, params.org, deferrer(c)));
  change(app, operations.switchModelBack, (request, { params, body }, c) =>
    switchBack(request, params.org, body, deferrer(c)),
  );

  mountUseCase(app, putPlan);
  mountUseCase(app, listPlans);
  mountUseCase(app, archivePlan);
  mountUseCase(app, restorePlan);
  mountUseCase(app, migratePlan);
  mountUseCase(app, readMigration);
  mountUseCase(app, readPlan);

  change(app, operations.setPrice, (request, { params, body }, c) =>
    setPrice(request, params.org, params.modelKey, body, deferrer(c)),
  );
  mountList(app, operations.listPrices, (c, page, { params }) => listPrices(c.env, params.org, page));
  mountList(app, operations.readPrices, (c, page, { params }) =>
    readPrices(c.env, params.org, params.modelKey, page, deferrer(c)),
  );
  change(app, operations.deletePrices, (request, { params, query }, c) =>
    deletePrices(request, params.org, params.modelKey, query.effectiveFrom, deferrer(c)),
  );
  change(app, operations.startRepricing, (request, { params, body }) => startRepricing(request, params.org, body));
  mount(app, operations.readRepricing, (c, { params }) => readRepricing(c.env, params.org, params.jobId));
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

  change(app, operations.setSampling, (request, { params, body }) => setSampling(request, params.org, body));
  mount(app, operations.readSampling, (c, { params }) => readSampling(c.env, params.org));
  change(app, operations.deleteSampling, (request, { params }) => deleteSampling(request, params.org));
  mountList(app, operations.listSamples, (c, page, { params, query }) => listSamples(c.env, params.org, query, page));
  mount(app, operations.exportSamples, async (c, { params, query }) => {
    const answer = await exportSamples(c.env, params.org, query);
    return answer.ok ? c.body(answer.data, 200, { 'Content-Type': LINES_TYPE }) : answer;
  });
  mount(app, operations.readSample, (c, { params }) => readSample(c.env, params.org, params.sampleId));
  change(app, operations.deleteSample, (request, { params }) => deleteSample(request, params.org, params.sampleId));

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

  mount(app, operations.readCatalog, (c) => readCatalog(c.env, deferrer(c)));
  change(app, operations.publishCatalog, (request, { body }, c) => publishCatalog(request, body, deferrer(c)));

  mountList(app, operations.listReviews, (c, page) => listReviews(c.env, page));
  mount(app, operations.readReview, (c, { params }) => readReview(c.env, params.modelKey, deferrer(c)));
  change(app, operations.putReview, (request, { params, body }, c) =>
    putReview(request, params.modelKey, body, deferrer(c)),
  );
  change(app, operations.deleteReview, (request, { params }, c) => deleteReview(request, params.modelKey, deferrer(c)));

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

/** A change by the operator, with what its event and its idempotency record need. */
export function change<O extends Operation>(
  app: Hono<AppEnv>,
  operation: O,
  answer: (request: OperatorRequest, input: Input<O>, c: AppContext) => Promise<Answer<unknown>>,
): void {
  mount(app, operation, async (c, input) => {
    const request: OperatorRequest = {
      env: c.env,
      actor: c.get('operator').name,
      correlationId: c.get('correlationId'),
      idempotencyKey: operation.method === 'POST' ? headerKeyOf(c) : null,
      operationId: keySpaceOf(operation.operationId, c.get('operator')),
      input,
    };
    return answer(request, input, c);
  });
}
