/**
 * Secrets of webhooks at rest: encrypted under VENDOR_KEY_SECRET, bound to their organization and webhook.
 */
import type { WebhookKey } from '../domain/webhook-delivery.ts';
import type { Env } from '../env.ts';
import { decryptText, encryptText } from '../platform/cipher.ts';
import { ServiceUnavailable } from '../platform/unavailable.ts';
import type { WebhookRow } from './webhooks.ts';

const webhookSecretPurpose = ({ organizationId, webhookId }: WebhookKey) =>
  `webhook secret ${organizationId} ${webhookId}`;

export function sealWebhookSecret(env: Env, webhook: WebhookKey, secret: string): Promise<string> {
  return encryptText(webhookSecretKey(env), webhookSecretPurpose(webhook), secret);
}

/** The secrets that sign a request now, the newest first; empty if they were sealed under another secret. */
export async function openWebhookSecrets(env: Env, webhook: WebhookRow, nowMs: number): Promise<string[]> {
  const { sealedSecret, previousSealedSecret, previousUntilMs } = webhook;
  const isValid = previousSealedSecret !== null && nowMs < (previousUntilMs ?? 0);
  const sealed = [sealedSecret, ...(isValid ? [previousSealedSecret] : [])];
  const opened = await Promise.all(
    sealed.map((text) => decryptText(webhookSecretKey(env), webhookSecretPurpose(webhook), text)),
  );
  return opened.filter((secret) => secret !== null);
}

function webhookSecretKey({ VENDOR_KEY_SECRET }: Env): string {
  if (!VENDOR_KEY_SECRET)
    throw new ServiceUnavailable('VENDOR_KEY_SECRET is not configured, so secrets of webhooks cannot be kept');
  return VENDOR_KEY_SECRET;
}
