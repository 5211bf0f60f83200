/**
 * The operator API over HTTP: one line per operation, the work is in `src/operator`.
 */
import type { Hono } from 'hono';
import { type Answer, accept } from '../contract/errors.ts';
import { type Operation, operations } from '../contract/operations.ts';
import { customersCsv } from '../customer-list/list-customers.ts';
import { eventsCsv } from '../metering/events.ts';
import { ledgerCsv, listLedger } from '../metering/ledger.ts';
import { callsCsv } from '../metering/list-calls.ts';
import { readCall } from '../metering/read-call.ts';
import { type AppContext, type AppEnv, deferrer } from '../middleware/context.ts';
import { listArchive, verifyPage } from '../operator/archive.ts';
import { readAttention } from '../operator/attention.ts';
import { switchBack } from '../operator/autopilot.ts';
import { asOrganization } from '../operator/caller.ts';
import { readOrganizationCalls } from '../operator/calls.ts';
import { publishCatalog, readCatalog } from '../operator/catalog.ts';
import type { OperatorRequest } from '../operator/change.ts';
import { operatorAmendCall, operatorReverseCall, operatorReverseMeterEvent } from '../operator/corrections.ts';
import {
  eraseCustomer,
  grantCredit,
  inspectCustomer,
  listOrganizationCustomers,
  revokeCredit,
  setCanceled,
} from '../operator/customers.ts';
import { listDatabases } from '../operator/databases.ts';
import { listEvents } from '../operator/events.ts';
import { exportHistory } from '../operator/export.ts';
import { readHealth } from '../operator/health.ts';
import { readHealthHistory } from '../operator/health-history.ts';
import { keySpaceOf } from '../operator/identity.ts';
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
import { listPlans, migratePlan, putPlan, readMigration, readPlan, setArchived } from '../operator/plans.ts';
import { deletePrices, listPrices, readPrices, setPrice } from '../operator/prices.ts';
import { readOrganizationRadar } from '../operator/radar.ts';
import { readRepricing, startRepricing } from '../operator/repricing.ts';
import { deleteReview, listReviews, putReview, readReview } from '../operator/reviews.ts';
import { deleteSample, exportSamples, listSamples, readSample } from '../operator/samples.ts';
import { deleteSampling, readSampling, setSampling } from '../operator/sampling.ts';
import { listSharedStripeCustomers, releaseStripeCustomer } from '../operator/stripe-customers.ts';
import { operatorChangePlan, operatorCreateCustomer, operatorReplenish } from '../operator/subscriptions.ts';
import { listOrganizationVendors, readVendor, removeVendor, setVendor } from '../operator/vendors.ts';
import { CSV_TYPE } from '../platform/csv.ts';
import { radarCsv } from '../radar/csv.ts';
import { readAnomalies } from '../readings/anomalies/read-anomalies.ts';
import { readForecast } from '../readings/forecast/read-forecast.ts';
import { listMargins, marginsCsv } from '../readings/margin/list-margins.ts';
import { readCustomerMargin, readMargin } from '../readings/margin/read-margin.ts';
import { readUsageContext } from '../readings/usage/usage-context.ts';
import { readUsageSummary } from '../readings/usage/usage-summary.ts';
import { headerKeyOf, type Input, mount, mountCsvList, mountList } from './mount.ts';

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

  change(app, operations.putPlan, (request, { params, body }) => putPlan(request, params.org, params.planId, body));
  mountList(app, operations.listPlans, (c, page, { params }) => listPlans(c.env, params.org, page));
  change(app, operations.archivePlan, (request, { params }) => setArchived(request, params.org, params.planId, true));
  change(app, operations.restorePlan, (request, { params }) => setArchived(request, params.org, params.planId, false));
  change(app, operations.migratePlan, (request, { params, body }) =>
    migratePlan(request, params.org, params.planId, body),
  );
  mount(app, operations.readMigration, (c, { params }) => readMigration(c.env, params.org, params.jobId));
  mount(app, operations.readPlan, (c, { params }) => readPlan(c.env, params.org, params.planId));

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
  change(app, operations.setVendor, (request, { params, body }) =>
    setVendor(request, params.org, params.provider, body),
  );
  mountList(app, operations.listVendors, (c, page, { params }) => listOrganizationVendors(c.env, params.org, page));
  mount(app, operations.readVendor, (c, { params }) => readVendor(c.env, params.org, params.provider));
  change(app, operations.deleteVendor, (request, { params }) => removeVendor(request, params.org, params.provider));

  mount(app, operations.readOrganizationUsage, (c, { params, query }) =>
    asOrganization(c.env, params.org, deferrer(c), (caller) => readUsageSummary(caller, query)),
  );
  mount(app, operations.readOrganizationMargin, (c, { params, query }) =>
    asOrganization(c.env, params.org, deferrer(c), (caller) => readMargin(caller, query)),
  );
  mountCsvList(
    app,
    operations.listCustomerMargins,
    (c, page, { params, query }) =>
      asOrganization(c.env, params.org, deferrer(c), (caller) => listMargins(caller, query, page)),
    marginsCsv,
  );
  mount(app, operations.readCustomerMargin, (c, { params, query }) =>
    asOrganization(c.env, params.org, deferrer(c), (caller) => readCustomerMargin(caller, params.customerId, query)),
  );
  mountList(app, operations.readOrganizationAnomalies, (c, page, { params, query }) =>
    asOrganization(c.env, params.org, deferrer(c), (caller) => readAnomalies(caller, query, page)),
  );
  mount(app, operations.readOrganizationUsageContext, (c, { params, query }) =>
    asOrganization(c.env, params.org, deferrer(c), (caller) => readUsageContext(caller, params.customerId, query)),
  );
  mount(app, operations.readOrganizationForecast, (c, { params, query }) =>
    asOrganization(c.env, params.org, deferrer(c), (caller) => readForecast(caller, params.customerId, query)),
  );
  mountCsvList(
    app,
    operations.listCustomerLedger,
    (c, page, { params, query }) =>
      asOrganization(c.env, params.org, deferrer(c), (caller) => listLedger(caller, params.customerId, query, page)),
    ledgerCsv,
  );
  mountCsvList(
    app,
    operations.readOrganizationModelRadar,
    (c, page, { params, query }) => readOrganizationRadar(c.env, params.org, query, page, deferrer(c)),
    radarCsv,
  );

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

  change(app, operations.createKey, (request, { params, body }) => createKey(request, params.org, body));
  mountList(app, operations.listKeys, (c, page, { params }) => listKeys(c.env, params.org, page));
  mount(app, operations.readKey, (c, { params }) => readKey(c.env, params.org, params.keyId));
  change(app, operations.rotateKey, (request, { params, body }) => rotateKey(request, params.org, params.keyId, body));
  change(app, operations.updateKey, (request, { params, body }) => updateKey(request, params.org, params.keyId, body));
  change(app, operations.revokeKey, (request, { params }) => revokeKey(request, params.org, params.keyId));

  mountCsvList(
    app,
    operations.listOrganizationCustomers,
    (c, page, { params, query }) => listOrganizationCustomers(c.env, params.org, query, page, deferrer(c)),
    customersCsv,
  );
  mount(app, operations.readCustomer, (c, { params }) => inspectCustomer(c.env, params.org, params.customerId));
  change(app, operations.operatorCreateCustomer, (request, { params, body }, c) =>
    operatorCreateCustomer(request, params.org, body, deferrer(c)),
  );
  change(app, operations.operatorChangePlan, (request, { params, body }, c) =>
    operatorChangePlan(request, params.org, params.customerId, body, deferrer(c)),
  );
  change(app, operations.operatorReplenish, (request, { params }, c) =>
    operatorReplenish(request, params.org, params.customerId, deferrer(c)),
  );
  change(app, operations.cancelCustomer, (request, { params }) =>
    setCanceled(request, params.org, params.customerId, true),
  );
  change(app, operations.reactivateCustomer, (request, { params }) =>
    setCanceled(request, params.org, params.customerId, false),
  );
  change(app, operations.grantCredit, (request, { params, body }) =>
    grantCredit(request, params.org, params.customerId, body),
  );
  change(app, operations.revokeCredit, (request, { params, body }) =>
    revokeCredit(request, params.org, params.customerId, params.creditId, body),
  );
  change(app, operations.operatorReverseCall, (request, { params, body }) =>
    operatorReverseCall(request, params.org, params.callId, body),
  );
  change(app, operations.operatorAmendCall, (request, { params, body }, c) =>
    operatorAmendCall(request, params.org, params.callId, body, deferrer(c)),
  );
  change(app, operations.operatorReverseMeterEvent, (request, { params, body }) =>
    operatorReverseMeterEvent(request, params.org, params.eventId, body),
  );
  change(app, operations.eraseCustomer, (request, { params }) => eraseCustomer(request, params.org, params.customerId));

  mountCsvList(
    app,
    operations.listOrganizationCalls,
    (c, page, { params, query }) => readOrganizationCalls(c.env, params.org, query, page),
    callsCsv,
  );
  mount(app, operations.readOrganizationCall, (c, { params }) =>
    asOrganization(c.env, params.org, deferrer(c), (caller) => readCall(caller, params.callId)),
  );
  mountCsvList(
    app,
    operations.readOrganizationEvents,
    (c, page, { params, query }) => readOrganizationEvents(c.env, params.org, query, page),
    eventsCsv,
  );
  mountList(app, operations.listSharedStripeCustomers, (c, page) => listSharedStripeCustomers(c.env, page));
  change(app, operations.releaseStripeCustomer, (request, { params }) =>
    releaseStripeCustomer(request, params.org, params.stripeCustomerId),
  );
  mountList(app, operations.listOutbox, (c, page, { params }) => listOutbox(c.env, params.org, page));
  change(app, operations.resendOutbox, (request, { params }) => resendOutbox(request, params.org));

  mountList(app, operations.listArchive, (c, page) => listArchive(c.env, page));
  mountList(app, operations.verifyArchive, (c, page) => verifyPage(c.env, page));
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
  mountList(app, operations.listOperators, (c, page) => listOperators(c.env, page));
  mount(app, operations.readOperator, (c, { params }) => readOperator(c.env, params.name));
  change(app, operations.putOperator, (request, { params, body }) => putOperator(request, params.name, body));
  change(app, operations.deleteOperator, (request, { params }) => deleteOperator(request, params.name));

  mountList(app, operations.listEvents, (c, page, { query }) => listEvents(c.env, query, page));
  mount(app, operations.listDatabases, (c) => listDatabases(c.env));
  mount(app, operations.readAttention, (c, { query }) => readAttention(c.env, deferrer(c), query.organizationId));
  mount(app, operations.readHealth, (c) => readHealth(c.env, deferrer(c)));
  mount(app, operations.readHealthHistory, (c) => readHealthHistory(c.env, Date.now()));
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
