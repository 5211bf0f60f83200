/**
 * What others tell the objects of webhooks: that there are events, or that a customer was erased.
 */

import { findEnabledWebhooks, findWebhooks } from '../../config/webhooks.ts';
import { WEBHOOKS_MAX } from '../../contract/webhooks.ts';
import type { CustomerKey, OrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';
import { ask } from '../../objects/addresses.ts';
import { webhookEndpoint } from '../../objects/webhook-endpoints.ts';

/** Endpoints that are told at the same time. */
const CONCURRENT_MAX = 20;

/**
 * Wakes the endpoints of some organizations: call it whenever their events reached D1. It may be called twice. Throws where
 * one could not be told; whoever must not lose that calls it again.
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

/** Erases what the objects of an organization's webhooks have of a customer, of those that are switched off too. */
export async function eraseFromWebhooks(env: Env, { organizationId, customerId }: CustomerKey): Promise<void> {
  const webhooks = await findWebhooks(env, organizationId, null, WEBHOOKS_MAX);
  await Promise.all(
    webhooks.map((webhook) => ask(webhookEndpoint(env, webhook), (endpoint) => endpoint.erase(customerId))),
  );
}
