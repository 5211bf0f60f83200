/**
 * The classes of objects to which the Worker is bound (wrangler.toml); finding an object needs nothing else.
 */
import type {
  CallDirectoryRpc,
  CompressionJobRpc,
  CustomerBatchesRpc,
  CustomerRpc,
  GatewayBatchRpc,
  OrganizationWatchRpc,
  PlanMigrationRpc,
  ProjectorRpc,
  RepricingRpc,
  WebhookEndpointRpc,
} from './rpc.ts';

export interface ObjectBindings {
  CUSTOMERS: DurableObjectNamespace<CustomerRpc>;
  PROJECTORS: DurableObjectNamespace<ProjectorRpc>;
  CALL_DIRECTORY: DurableObjectNamespace<CallDirectoryRpc>;
  PLAN_MIGRATIONS: DurableObjectNamespace<PlanMigrationRpc>;
  REPRICINGS: DurableObjectNamespace<RepricingRpc>;
  GATEWAY_BATCHES: DurableObjectNamespace<GatewayBatchRpc>;
  CUSTOMER_BATCHES: DurableObjectNamespace<CustomerBatchesRpc>;
  COMPRESSION_JOBS: DurableObjectNamespace<CompressionJobRpc>;
  WEBHOOK_ENDPOINTS: DurableObjectNamespace<WebhookEndpointRpc>;
  ORGANIZATION_WATCHES: DurableObjectNamespace<OrganizationWatchRpc>;
}
