/**
 * The object of a webhook.
 */
import type { Env } from '../env.ts';
import type { WebhookKey } from '../storage/webhooks.ts';
import type { WebhookEndpointRpc } from './rpc.ts';

export function webhookEndpoint(
  env: Pick<Env, 'WEBHOOK_ENDPOINTS'>,
  { organizationId, webhookId }: WebhookKey,
): () => DurableObjectStub<WebhookEndpointRpc> {
  return () => env.WEBHOOK_ENDPOINTS.getByName(`${organizationId}:${webhookId}`);
}
