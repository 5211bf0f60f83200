/**
 * Authenticated encryption of small texts under a secret (AES-256-GCM, the key derived by HKDF-SHA-256 per purpose).
 */
import { fromBase64Url, toBase64Url } from './base64.ts';

const IV_BYTES = 12;

export async function encryptText(secret: string, purpose: string, text: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv },
    await keyFor(secret, purpose),
    new TextEncoder().encode(text),
  );
  return `${toBase64Url(iv)}.${toBase64Url(new Uint8Array(sealed))}`;
}

/** `null` if the text was not sealed under this secret and purpose. */
export async function decryptText(secret: string, purpose: string, sealed: string): Promise<string | null> {
  const [iv, data] = sealed.split('.').map(fromBase64Url);
  if (!iv || !data) return null;
  try {
    const key = await keyFor(secret, purpose);
    return new TextDecoder().decode(await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, data));
  } catch {
    return null;
  }
}

async function keyFor(secret: string, purpose: string): Promise<CryptoKey> {
  const encoder = new TextEncoder();
  const material = await crypto.subtle.importKey('raw', encoder.encode(secret), 'HKDF', false, ['deriveKey']);
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(32), info: encoder.encode(purpose) };
  return crypto.subtle.deriveKey(derivation, material, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
}
