/**
 * The object of a webhook.
 */

import type { WebhookKey } from '../domain/webhook-delivery.ts';
import type { ObjectBindings } from './bindings.ts';
import type { WebhookEndpointRpc } from './rpc.ts';

export function webhookEndpoint(
  env: Pick<ObjectBindings, 'WEBHOOK_ENDPOINTS'>,
  { organizationId, webhookId }: WebhookKey,
): () => DurableObjectStub<WebhookEndpointRpc> {
  return () => env.WEBHOOK_ENDPOINTS.getByName(`${organizationId}:${webhookId}`);
}
