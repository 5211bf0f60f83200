/**
 * Signatures in the form of Standard Webhooks: HMAC-SHA-256 of the message's id, its time and its body.
 */
import { fromBase64, toBase64 } from '../../platform/base64.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export function newSecret(): string {
  return PREFIX + toBase64(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
}

/** The value of `webhook-signature`: one signature for each secret. */
export async function signatures(
  secrets: readonly string[],
  eventId: string,
  timestampSeconds: number,
  body: string,
): Promise<string> {
  const content = new TextEncoder().encode(`${eventId}.${timestampSeconds}.${body}`);
  const signed = await Promise.all(secrets.map((secret) => sign(secret, content)));
  return signed.map((signature) => `v1,${signature}`).join(' ');
}

async function sign(secret: string, content: BufferSource): Promise<string> {
  const bytes = fromBase64(secret.slice(PREFIX.length));
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', key, content)));
}
