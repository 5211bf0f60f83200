/**
 * Messages to the objects of webhooks: that there are events, or that a customer was erased.
 */

import { findEnabledWebhooks, findWebhooks } from '../../config/webhooks.ts';
import { WEBHOOKS_MAX } from '../../contract/webhooks.ts';
import type { CustomerKey, OrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';
import { ask } from '../../objects/addresses.ts';
import { webhookEndpoint } from '../../objects/webhook-endpoints.ts';

/** The number of endpoints that are told at the same time. */
const CONCURRENT_MAX = 20;

/**
 * Wakes the endpoints of some organizations: call it when their events have reached D1. A second call does no harm.
 * Throws if an endpoint could not be told; a caller that must not lose the wake calls it again.
 */
export async function wakeWebhooks(env: Env, organizationIds: readonly OrganizationId[]): Promise<void> {
  if (organizationIds.length === 0) return;
  const webhooks = await findEnabledWebhooks(env, organizationIds);
  for (let from = 0; from < webhooks.length; from += CONCURRENT_MAX)
    await Promise.all(
      webhooks
        .slice(from, from + CONCURRENT_MAX)
        .map((webhook) => ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.wake(webhook))),
    );
}

/** Erases a customer's data in the objects of an organization's webhooks, including disabled ones. */
export async function eraseFromWebhooks(env: Env, { organizationId, customerId }: CustomerKey): Promise<void> {
  const webhooks = await findWebhooks(env, organizationId, null, WEBHOOKS_MAX);
  await Promise.all(
    webhooks.map((webhook) => ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.erase(customerId))),
  );
}
