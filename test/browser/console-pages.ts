/**
 * The address of each console page, with the ids in it.
 */
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';

const ORG = `/console/organizations/${DEMO_ORGANIZATION_ID}`;

export interface ConsoleIds {
  callId: string;
  keyId: string;
  eventId: string;
  creditId: string;
  migrationId: string;
  repricingId: string;
  estimateId: string;
}

export const consolePages = (ids: ConsoleIds): Record<string, string> => ({
  overview: '/console',
  search: '/console/search?q=acme',
  organizations: '/console/organizations',
  'organization-new': '/console/organizations/new',
  operators: '/console/operators',
  usage: ORG,
  'usage-filtered': `${ORG}?customerId=acme&days=7`,
  margin: `${ORG}/margin`,
  'margin-customers': `${ORG}/margin?by=customer`,
  setup: `${ORG}/setup`,
  unpriced: `${ORG}/unpriced`,
  repricing: `${ORG}/reprice/${ids.repricingId}`,
  'ending-models': `${ORG}/ending-models`,
  'events-organization': `${ORG}/events`,
  anomalies: `${ORG}/anomalies`,
  alerts: `${ORG}/alerts`,
  alert: `${ORG}/alerts/${ids.eventId}`,
  webhooks: `${ORG}/webhooks`,
  'webhook-new': `${ORG}/new-webhook`,
  webhook: `${ORG}/webhooks/ops`,
  'webhook-off': `${ORG}/webhooks/billing`,
  'webhook-edit': `${ORG}/webhooks/ops/edit`,
  'webhook-rotate': `${ORG}/webhooks/ops/rotate`,
  'webhook-replay': `${ORG}/webhooks/ops/replay`,
  'webhook-delete': `${ORG}/webhooks/ops/delete`,
  customers: `${ORG}/customers`,
  customer: `${ORG}/customers/acme`,
  'customer-calls': `${ORG}/customers/acme?tab=calls`,
  'customer-wallet': `${ORG}/customers/acme?tab=wallet`,
  'customer-changes': `${ORG}/customers/acme?tab=changes`,
  'customer-settings': `${ORG}/customers/acme?tab=settings`,
  'customer-credit': `${ORG}/customers/acme/credit`,
  'customer-credit-revoke': `${ORG}/customers/acme/credits/${ids.creditId}/revoke`,
  'customer-cancel': `${ORG}/customers/acme/cancel`,
  'customer-reactivate': `${ORG}/customers/acme/reactivate`,
  'customer-reverse-increment': `${ORG}/customers/acme/reverse-increment`,
  'customer-plan': `${ORG}/customers/acme/plan?planId=team&strategy=IMMEDIATE_PRORATED`,
  'customer-erase': `${ORG}/customers/acme/erase`,
  calls: `${ORG}/calls`,
  call: `${ORG}/calls/${ids.callId}`,
  'call-reverse': `${ORG}/calls/${ids.callId}/reverse`,
  'call-amend': `${ORG}/calls/${ids.callId}/amend`,
  plans: `${ORG}/plans`,
  'plan-new': `${ORG}/new-plan`,
  plan: `${ORG}/plans/team`,
  'plan-edit': `${ORG}/plans/team/edit`,
  'plan-json': `${ORG}/plans/team/edit?as=json`,
  'plan-compare': `${ORG}/plans/team/compare`,
  'plan-migrate': `${ORG}/plans/team/migrate?when=NOW`,
  migration: `${ORG}/plans/team/migrations/${ids.migrationId}`,
  keys: `${ORG}/keys`,
  'key-new': `${ORG}/keys/new`,
  key: `${ORG}/keys/${ids.keyId}`,
  'key-revoke': `${ORG}/keys/${ids.keyId}/revoke`,
  models: `${ORG}/models`,
  vendors: `${ORG}/vendors`,
  sampling: `${ORG}/sampling`,
  samples: `${ORG}/samples`,
  sample: `${ORG}/samples/sample-1`,
  compression: `${ORG}/compression`,
  'compression-estimate': `${ORG}/compression/jobs/${ids.estimateId}`,
  settings: `${ORG}/settings`,
  catalog: '/console/catalog',
  model: '/console/catalog/models/anthropic/claude-opus-5-5',
  'catalog-publish': '/console/catalog/publish',
  events: '/console/events',
  health: '/console/health',
  'not-found': `${ORG}/customers/nobody`,
});
