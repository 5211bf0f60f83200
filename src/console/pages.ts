/**
 * Every page of the console behind the sign-in.
 */
import type { Hono } from 'hono';
import type { ConsoleEnv } from './context.ts';
import { mountAlerts } from './pages/alerts.tsx';
import { mountAnomalies } from './pages/anomalies.tsx';
import { mountCalls } from './pages/calls.tsx';
import { mountCatalog } from './pages/catalog.tsx';
import { mountCatalogPublication } from './pages/catalog-publication.tsx';
import { mountCompression } from './pages/compression.tsx';
import { mountCompressionEstimate } from './pages/compression-estimate.tsx';
import { mountCorrections } from './pages/corrections.tsx';
import { mountCustomer } from './pages/customer.tsx';
import { mountCustomerActions } from './pages/customer-actions.tsx';
import { mountCustomers } from './pages/customers.tsx';
import { mountEvents } from './pages/events.tsx';
import { mountHealth } from './pages/health.tsx';
import { mountKeys } from './pages/keys.tsx';
import { mountModels } from './pages/models.tsx';
import { mountOperators } from './pages/operators.tsx';
import { mountOrganizations } from './pages/organizations.tsx';
import { mountOverview } from './pages/overview.tsx';
import { mountPlanChange } from './pages/plan-change.tsx';
import { mountPlanEditor } from './pages/plan-editor.tsx';
import { mountPlanMigration } from './pages/plan-migration.tsx';
import { mountPlans } from './pages/plans.tsx';
import { mountSamples } from './pages/samples.tsx';
import { mountSampling } from './pages/sampling.tsx';
import { mountSetup } from './pages/setup.tsx';
import { mountUsage } from './pages/usage.tsx';
import { mountVendors } from './pages/vendors.tsx';
import { mountWebhook } from './pages/webhook.tsx';
import { mountWebhookActions } from './pages/webhook-actions.tsx';
import { mountWebhooks } from './pages/webhooks.tsx';

export function mountPages(app: Hono<ConsoleEnv>): void {
  mountOverview(app);
  mountOrganizations(app);
  mountUsage(app);
  mountSetup(app);
  mountAnomalies(app);
  mountAlerts(app);
  mountWebhooks(app);
  mountWebhook(app);
  mountWebhookActions(app);
  mountCustomers(app);
  mountCustomer(app);
  mountCustomerActions(app);
  mountPlanChange(app);
  mountCalls(app);
  mountCorrections(app);
  mountPlans(app);
  mountPlanMigration(app);
  mountPlanEditor(app);
  mountKeys(app);
  mountModels(app);
  mountVendors(app);
  mountSampling(app);
  mountSamples(app);
  mountCompression(app);
  mountCompressionEstimate(app);
  mountCatalog(app);
  mountCatalogPublication(app);
  mountOperators(app);
  mountEvents(app);
  mountHealth(app);
}
