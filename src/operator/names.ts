/**
 * The names of an organization's objects, by their ids.
 */

import { findKeyNames } from '../config/keys.ts';
import { findPlanVersions } from '../config/plans.ts';
import { findWebhooks } from '../config/webhooks.ts';
import { WEBHOOKS_MAX } from '../contract/webhooks.ts';
import type { CustomerId, KeyId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { findCustomerNames } from '../history/customers.ts';

/** A webhook is named by the origin of its address: the path is often a secret. */
export const NAMED = ['customer', 'key', 'plan', 'webhook'] as const;
type Named = (typeof NAMED)[number];

/** Objects that do not exist have no name. */
export async function findNames(
  env: Env,
  organizationId: OrganizationId,
  ids: { customer?: CustomerId[]; key?: KeyId[]; plan?: string[]; webhook?: string[] },
): Promise<Record<Named, ReadonlyMap<string, string>>> {
  const { customer = [], key = [], plan = [], webhook = [] } = ids;
  const [customers, keys, plans, webhooks] = await Promise.all([
    findCustomerNames(env, organizationId, customer),
    findKeyNames(env, organizationId, key),
    findPlanVersions(env, organizationId, plan, 1),
    webhook.length === 0 ? [] : findWebhooks(env, organizationId, null, WEBHOOKS_MAX),
  ]);
  return {
    customer: customers,
    key: keys,
    plan: new Map(plans.map(({ planId, content }) => [planId, content.name])),
    webhook: new Map(webhooks.map(({ webhookId, url }) => [webhookId, new URL(url).origin])),
  };
}
